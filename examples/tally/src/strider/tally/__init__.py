"""Reads echoes by shard, keeps a count per host in a compacted topic: the smallest stateful service."""
