"""TODO: frontier_log."""
