"""TODO: consumer."""
