"""Runs: control by commands, proof of completion, detection of lost pages."""
