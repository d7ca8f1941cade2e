"""Scripts that run in Redis."""
