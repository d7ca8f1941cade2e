"""Kafka behind ports: consumers, producers, shard writers, topics; and an in-process bus."""
