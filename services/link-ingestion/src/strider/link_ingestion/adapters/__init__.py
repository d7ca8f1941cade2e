"""Metrics and run logs of link ingestion."""
