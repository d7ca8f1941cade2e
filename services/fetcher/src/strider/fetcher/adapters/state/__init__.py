"""TODO: state."""
