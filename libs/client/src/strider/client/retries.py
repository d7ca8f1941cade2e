"""Retries: the requests that may be sent again, and the waits before. Pure.

A request may be sent again where a second one changes nothing that the first has not: GET, PUT, PATCH and
DELETE, and a POST with an Idempotency-Key. One with If-Match is repeated only where the connection could not
be opened: had the first one arrived, the second would be refused as stale.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from strider.politeness.retry_policy import RetryPolicy

CLIENT_RETRY: Final = RetryPolicy(
    retries=4, first_seconds=0.5, factor=2, cap_seconds=8, jitter_seconds=0.5, deadline_seconds=60
)
"""0.5, 1, 2, 4 s, and a random half second."""

STREAM_RETRY: Final = RetryPolicy(
    retries=12, first_seconds=0.5, factor=2, cap_seconds=8, jitter_seconds=0.5, deadline_seconds=60
)
"""Of a stream that is followed: for more than a minute, in which an API starts again."""

NO_RETRY: Final = RetryPolicy(
    retries=0, first_seconds=1, factor=1, cap_seconds=1, jitter_seconds=0, deadline_seconds=60
)

RETRIED_STATUSES: Final = frozenset({502, 503, 504})
"""No server behind a proxy, or a dependency that does not respond now."""
REPEATABLE_METHODS: Final = frozenset({"GET", "HEAD", "PUT", "PATCH", "DELETE"})
"""A PATCH is a merge patch here: sent again, it changes nothing more."""
IDEMPOTENCY_KEY: Final = "Idempotency-Key"
IF_MATCH: Final = "If-Match"
RETRY_AFTER: Final = "Retry-After"
CONFLICT: Final = 409
MAX_RETRY_AFTER_SECONDS: Final = 30.0
"""A server that asks for more is not waited for."""


def is_repeatable(method: str, headers: Mapping[str, str], *, was_sent: bool) -> bool:
    """Whether a request that failed may be sent again; `was_sent`: it may have arrived."""
    if not was_sent:
        return True
    if IF_MATCH in headers:
        return False
    return method in REPEATABLE_METHODS or IDEMPOTENCY_KEY in headers


def is_temporary(status: int, headers: Mapping[str, str], *, has_key: bool) -> bool:
    """Whether a response stands for a later one; a request with a key that is in progress is 409."""
    is_in_progress = status == CONFLICT and has_key and RETRY_AFTER in headers
    return status in RETRIED_STATUSES or is_in_progress


def retry_after_seconds(value: str | None) -> float:
    """Return the seconds of a Retry-After header; 0 where there is none, or a date."""
    return float(value) if value is not None and value.isascii() and value.isdigit() else 0.0
