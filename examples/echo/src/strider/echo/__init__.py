"""Reads echo-requests, writes echoes: the smallest service, as an example."""
