"""State around requests: leases, cookies, memory budget, connectivity, metrics, heartbeat."""
