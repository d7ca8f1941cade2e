"""TODO: memory."""
