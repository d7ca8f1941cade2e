"""TODO: robots."""
