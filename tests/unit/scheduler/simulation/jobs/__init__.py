"""Runs of jobs, in simulated crawls."""
