"""TODO: content."""
