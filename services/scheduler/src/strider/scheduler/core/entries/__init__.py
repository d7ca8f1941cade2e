"""TODO: entries."""
