"""TODO: settings."""
