"""Runs of jobs: what is launched, what came of it, when the next one is due."""
