"""Kafka behind ports: consumers, producers, shard writers, topics; and the same bus within one process."""
