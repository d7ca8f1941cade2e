"""TODO: adapters."""
