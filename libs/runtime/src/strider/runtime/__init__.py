"""How a process starts, consumes, speaks, fails and stops."""
