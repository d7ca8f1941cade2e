"""When a host may be asked, and what it may be told: robots rules, delays, breakers, retry ladders. Pure."""

from .backoff import BackOff
from .breaker import Breaker, Signal
from .credentials import is_personal
from .ladder import DB_WRITE, FETCH, INFRASTRUCTURE, REDIS_OP, ROBOTS, RetryLadder
from .robots import MAX_CRAWL_DELAY_SECONDS, MAX_ROBOTS_BYTES, Robots, product_token
from .robots_state import Answer, Asked, OriginRobots, Standing, answer_of, answered

__all__ = [
    "DB_WRITE",
    "FETCH",
    "INFRASTRUCTURE",
    "MAX_CRAWL_DELAY_SECONDS",
    "MAX_ROBOTS_BYTES",
    "REDIS_OP",
    "ROBOTS",
    "Answer",
    "Asked",
    "BackOff",
    "Breaker",
    "OriginRobots",
    "RetryLadder",
    "Robots",
    "Signal",
    "Standing",
    "answer_of",
    "answered",
    "is_personal",
    "product_token",
]
