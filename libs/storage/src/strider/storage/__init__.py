"""Clients of PostgreSQL, Redis and object stores, Redis keys and database migrations."""
