"""TODO: workers."""
