"""TODO: publishing."""
