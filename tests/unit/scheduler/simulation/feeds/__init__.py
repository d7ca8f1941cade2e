"""Feeds that are polled, in simulated crawls."""
