"""Counts echoes per host in a compacted topic: the smallest stateful service."""
