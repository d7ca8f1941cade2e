"""TODO: release."""
