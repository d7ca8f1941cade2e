"""Parsers for single sites."""
