"""TODO: shard."""
