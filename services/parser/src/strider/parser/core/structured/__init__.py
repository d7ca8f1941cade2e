"""TODO: structured."""
