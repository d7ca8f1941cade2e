"""Runs end once, in simulated crawls."""
