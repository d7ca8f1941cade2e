"""TODO: hosts."""
