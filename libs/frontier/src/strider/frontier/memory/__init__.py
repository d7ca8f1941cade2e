"""The frontier in one process's memory, for embedded mode and simulation."""
