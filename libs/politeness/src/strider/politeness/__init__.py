"""When a host may be asked, and what it may be told: robots rules, delays, breakers, retry ladders. Pure."""

from .backoff import HostBackoff
from .circuit_breaker import BreakerSignal, CircuitBreaker
from .retry_policy import (
    DB_WRITE_RETRY,
    FETCH_RETRY,
    INFRASTRUCTURE_RETRY,
    REDIS_RETRY,
    ROBOTS_RETRY,
    RetryPolicy,
)
from .robots.freshness import (
    OriginRobots,
    RobotsFetchResult,
    RobotsResponse,
    RobotsStatus,
    apply_response,
    classify_outcome,
)
from .robots.robots_txt import MAX_CRAWL_DELAY_SECONDS, MAX_ROBOTS_BYTES, RobotsTxt, product_token
from .sensitive_headers import is_sensitive_header

__all__ = [
    "DB_WRITE",
    "FETCH",
    "INFRASTRUCTURE_RETRY",
    "MAX_CRAWL_DELAY_SECONDS",
    "MAX_ROBOTS_BYTES",
    "REDIS_OP",
    "ROBOTS_RETRY",
    "BackOff",
    "Breaker",
    "OriginRobots",
    "RetryLadder",
    "Robots",
    "RobotsFetchResult",
    "RobotsResponse",
    "RobotsStatus",
    "Signal",
    "answer_of",
    "apply_response",
    "is_personal",
    "product_token",
]
