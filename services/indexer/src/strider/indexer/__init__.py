"""Reads pages and decisions, writes PostgreSQL: what is stored."""
