"""Adapters of jobs: what a launch publishes, states of sources, metrics."""
