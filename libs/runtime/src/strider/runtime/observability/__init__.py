"""TODO: observability."""
