"""The record of jobs in PostgreSQL."""

from .store import PostgresJobStore

__all__ = ["PostgresJobStore"]
