"""TODO: products."""
