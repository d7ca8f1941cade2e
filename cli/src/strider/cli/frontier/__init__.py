"""Clients for a live frontier: job commands, run logs and task counts."""
