"""Proxies: which one is next, how to connect through it, how it is kept in PostgreSQL."""
