"""TODO: redis."""
