"""When a host may be asked: robots rules, delays, retry ladders. Pure."""

from .ladder import DB_WRITE, FETCH, INFRASTRUCTURE, REDIS_OP, ROBOTS, RetryLadder

__all__ = ["DB_WRITE", "FETCH", "INFRASTRUCTURE", "REDIS_OP", "ROBOTS", "RetryLadder"]
