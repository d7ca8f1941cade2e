"""TODO: document."""
