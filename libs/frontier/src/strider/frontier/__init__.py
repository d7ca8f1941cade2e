"""The frontier's working set: queues, clocks, leases, what was seen; in Redis, or in memory."""
