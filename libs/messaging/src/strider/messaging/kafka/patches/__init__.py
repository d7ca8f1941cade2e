"""TODO: patches."""
