"""TODO: lists."""
