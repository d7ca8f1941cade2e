"""How long is a host left alone that asks for it?

429, 503 and Retry-After speak of the host, not of the URL. A host that names a time gets that time
(up to a day); one that does not gets a minute, doubling up to an hour with each further sign; ten
quiet minutes and it is forgiven. A plain 503 may be one broken page: only a third in a row, with no
good answer between them, speaks of the host. Values in, values out; no clock, no memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from .ladder import Chance

FIRST_SECONDS: Final = 60.0
MAX_SECONDS: Final = 3_600.0
"""Longest wait that we come to by ourselves."""
MAX_NAMED_SECONDS: Final = 86_400.0
"""Longest wait that a host may name."""
QUIET_MS: Final = 600_000
"""Without another sign for so long after a wait, the next one begins anew."""
TRUSTED_SIGNS: Final = 3
"""How often a named time is believed alone; a host that then still says stop has named too short a one."""
OVERLOADS_OF_A_HOST: Final = 3
JITTER: Final = 0.1
"""Part of a wait that chance may add, so that many hosts do not come back at once."""


@dataclass(frozen=True, slots=True)
class BackOff:
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


NONE: Final = BackOff()


def pushed(
    before: BackOff, *, now_ms: int, retry_after_seconds: float, reason: str, chance: Chance
) -> BackOff:
    """Leave a host alone, for as long as it says (-1: it does not) or as its signs ask for."""
    is_forgiven = before.count > 0 and now_ms - before.until_ms > QUIET_MS
    count = 1 if is_forgiven else before.count + 1
    if retry_after_seconds >= 0:
        wait = min(retry_after_seconds, MAX_NAMED_SECONDS)
        if count > TRUSTED_SIGNS:
            wait = max(wait, _doubled(count - TRUSTED_SIGNS))
    else:
        wait = _doubled(count)
    wait += chance.uniform(0, wait * JITTER)
    return replace(
        before,
        count=count,
        until_ms=max(before.until_ms, now_ms + round(wait * 1000)),
        reason=reason,
        seconds=wait,
        since_ms=before.since_ms or now_ms,
    )


def strained(before: BackOff, now_ms: int) -> BackOff:
    """Note a sign of trouble that asks for no wait yet."""
    return replace(before, overloads=before.overloads + 1, since_ms=before.since_ms or now_ms)


def eased(before: BackOff) -> BackOff:
    """Note a good answer: the host can be reached. How long the next wait is does not change by it."""
    if not before.since_ms and not before.overloads:
        return before
    return replace(before, since_ms=0, overloads=0)


def is_overloaded(before: BackOff) -> bool:
    """Say whether one more plain 503 speaks of the host."""
    return before.overloads + 1 >= OVERLOADS_OF_A_HOST


def _doubled(count: int) -> float:
    return min(FIRST_SECONDS * 2.0 ** min(count - 1, 16), MAX_SECONDS)
