"""TODO: messaging."""
