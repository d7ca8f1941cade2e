"""Observability: logs, log events, job logs, metrics, traces."""
