"""Runs of the whole pipeline: how they end."""
