"""Servers of the stack: programs, start, readiness probes, ports."""
