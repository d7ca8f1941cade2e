"""Working set of the frontier: queues, host clocks, leases, seen URLs; in Redis or memory."""
