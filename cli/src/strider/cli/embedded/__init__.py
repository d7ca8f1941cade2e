"""All services of the ring in one process: the same topologies, on the bus and the frontier in memory."""
