"""Budgets of runs: limits, usage, reservations, and their division among shards."""
