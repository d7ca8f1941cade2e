"""Adapters: frontier log, topic feeds, consumer offsets and metrics."""
