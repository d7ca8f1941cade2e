"""Backoff of a host after 429, 503 and Retry-After.

These responses concern the host, not the URL. A host that sends Retry-After gets that time (up to a day);
another one gets a minute, doubling up to an hour with each further response of this kind; after ten minutes
without one the count starts again. A plain 503 may be a single broken page: only the third in a row, without
a success between them, concerns the host. Pure: no clock, no state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from .retry_policy import RandomSource

FIRST_SECONDS: Final = 60.0
MAX_SECONDS: Final = 3_600.0
"""Maximum backoff without Retry-After."""
MAX_RETRY_AFTER_SECONDS: Final = 86_400.0
"""Maximum Retry-After that is obeyed."""
RESET_AFTER_QUIET_MS: Final = 600_000
"""After this time without another signal since the last backoff, the count starts again."""
TRUSTED_RETRY_AFTERS: Final = 3
"""Number of Retry-After values in a row that are used alone; later ones are combined with the doubled wait.
"""
OVERLOADS_BEFORE_BACKOFF: Final = 3
JITTER: Final = 0.1
"""Part of a wait that may be added at random, so that many hosts do not return at once."""


@dataclass(frozen=True, slots=True)
class HostBackoff:
    """Backoff state of a host."""

    count: int = 0
    """Number of backoffs in a row."""
    until_ms: int = 0
    """No request before this time; 0 for none."""
    reason: str = ""
    seconds: float = 0.0
    """Length of the latest backoff."""
    since_ms: int = 0
    """First signal since the last success; 0 where there was none."""
    overloads: int = 0
    """Number of plain 503s in a row."""


NO_BACKOFF: Final = HostBackoff()


def extend_backoff(
    before: HostBackoff, *, now_ms: int, retry_after_seconds: float, reason: str, random: RandomSource
) -> HostBackoff:
    """Extend the backoff, by Retry-After (-1 where there was none) or by the number of signals."""
    is_forgiven = before.count > 0 and now_ms - before.until_ms > RESET_AFTER_QUIET_MS
    count = 1 if is_forgiven else before.count + 1
    if retry_after_seconds >= 0:
        wait = min(retry_after_seconds, MAX_RETRY_AFTER_SECONDS)
        if count > TRUSTED_RETRY_AFTERS:
            wait = max(wait, _doubled_seconds(count - TRUSTED_RETRY_AFTERS))
    else:
        wait = _doubled_seconds(count)
    wait += random.uniform(0, wait * JITTER)
    return replace(
        before,
        count=count,
        until_ms=max(before.until_ms, now_ms + round(wait * 1000)),
        reason=reason,
        seconds=wait,
        since_ms=before.since_ms or now_ms,
    )


def record_overload(before: HostBackoff, now_ms: int) -> HostBackoff:
    """Record a 503 that does not cause a backoff yet."""
    return replace(before, overloads=before.overloads + 1, since_ms=before.since_ms or now_ms)


def record_success(before: HostBackoff) -> HostBackoff:
    """Record a success: the host is reachable. The length of the next backoff stays unchanged."""
    if not before.since_ms and not before.overloads:
        return before
    return replace(before, since_ms=0, overloads=0)


def is_overload_limit_reached(before: HostBackoff) -> bool:
    """Whether one more plain 503 causes a backoff of the host."""
    return before.overloads + 1 >= OVERLOADS_BEFORE_BACKOFF


def _doubled_seconds(count: int) -> float:
    return min(FIRST_SECONDS * 2.0 ** min(count - 1, 16), MAX_SECONDS)
