"""TODO: handlers."""
