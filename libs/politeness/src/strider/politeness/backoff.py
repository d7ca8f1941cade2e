"""How long is a host left alone that asks for it?

429, 503 and Retry-After speak of the host, not of the URL. A host that names a time gets that time
(up to a day); one that does not gets a minute, doubling up to an hour with each further sign; ten
quiet minutes and it is forgiven. A plain 503 may be one broken page: only a third in a row, with no
good answer between them, speaks of the host. Values in, values out; no clock, no memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from .retry_policy import RandomSource

FIRST_SECONDS: Final = 60.0
MAX_SECONDS: Final = 3_600.0
"""Longest wait that we come to by ourselves."""
MAX_RETRY_AFTER_SECONDS: Final = 86_400.0
"""Longest wait that a host may name."""
RESET_AFTER_QUIET_MS: Final = 600_000
"""Without another sign for so long after a wait, the next one begins anew."""
TRUSTED_RETRY_AFTERS: Final = 3
"""How often a named time is believed alone; a host that then still says stop has named too short a one."""
OVERLOADS_BEFORE_BACKOFF: Final = 3
JITTER: Final = 0.1
"""Part of a wait that chance may add, so that many hosts do not come back at once."""


@dataclass(frozen=True, slots=True)
class HostBackoff:
    """How a host stands with us."""

    count: int = 0
    """Waits in a row."""
    until_ms: int = 0
    """No request before; 0 for none."""
    reason: str = ""
    seconds: float = 0.0
    """The latest wait."""
    since_ms: int = 0
    """First sign since the last good answer; 0 where there was none."""
    overloads: int = 0
    """Plain 503s in a row."""


NO_BACKOFF: Final = HostBackoff()


def extend_backoff(
    before: HostBackoff, *, now_ms: int, retry_after_seconds: float, reason: str, random: RandomSource
) -> HostBackoff:
    """Leave a host alone, for as long as it says (-1: it does not) or as its signs ask for."""
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
    """Note a sign of trouble that asks for no wait yet."""
    return replace(before, overloads=before.overloads + 1, since_ms=before.since_ms or now_ms)


def record_success(before: HostBackoff) -> HostBackoff:
    """Note a good answer: the host can be reached. How long the next wait is does not change by it."""
    if not before.since_ms and not before.overloads:
        return before
    return replace(before, since_ms=0, overloads=0)


def is_overload_limit_reached(before: HostBackoff) -> bool:
    """Say whether one more plain 503 speaks of the host."""
    return before.overloads + 1 >= OVERLOADS_BEFORE_BACKOFF


def _doubled_seconds(count: int) -> float:
    return min(FIRST_SECONDS * 2.0 ** min(count - 1, 16), MAX_SECONDS)
