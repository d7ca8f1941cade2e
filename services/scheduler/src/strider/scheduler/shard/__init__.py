"""Owned shards: takeover, rebuild, state in memory, mapping to the working set."""
