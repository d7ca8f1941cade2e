"""Politeness: robots.txt, backoff, circuit breakers, retry policies, rate windows. Pure."""

from .personal_headers import (
    DecryptHeader,
    HeaderRefused,
    ProtectHeaders,
    parse_encrypted,
    personal_headers,
    refuse_clear_values,
    refuse_encrypted,
)
from .request_headers import header_fault
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
    apply_redirect_target,
    apply_response,
    classify_outcome,
)
from .robots.robots_txt import MAX_CRAWL_DELAY_SECONDS, MAX_ROBOTS_BYTES, RobotsTxt, product_token
from .sensitive_headers import is_sensitive_header

__all__ = [
    "DB_WRITE_RETRY",
    "FETCH_RETRY",
    "INFRASTRUCTURE_RETRY",
    "MAX_CRAWL_DELAY_SECONDS",
    "MAX_ROBOTS_BYTES",
    "REDIS_RETRY",
    "ROBOTS_RETRY",
    "DecryptHeader",
    "HeaderRefused",
    "OriginRobots",
    "ProtectHeaders",
    "RetryPolicy",
    "RobotsFetchResult",
    "RobotsResponse",
    "RobotsStatus",
    "RobotsTxt",
    "apply_redirect_target",
    "apply_response",
    "classify_outcome",
    "header_fault",
    "is_sensitive_header",
    "parse_encrypted",
    "personal_headers",
    "product_token",
    "refuse_clear_values",
    "refuse_encrypted",
]
