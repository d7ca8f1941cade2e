"""TODO: loops."""
