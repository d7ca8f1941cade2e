"""How often is something tried again, and how long is waited before?

A ladder is a value: the attempt's number and chance go in, seconds come out. It sleeps nowhere and
does not know what is tried; `strider.runtime.retry` climbs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final, Protocol


class RandomSource(Protocol):
    """Where jitter comes from."""

    def uniform(self, low: float, high: float) -> float:
        """Give any number between the two."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits between attempts: each `factor` times the one before, up to a cap, plus jitter."""

    retries: float
    """How many times it is tried again after the first attempt fails: one named wait before each."""
    first_seconds: float
    factor: float
    cap_seconds: float
    jitter_seconds: float
    """Most that chance adds. Never more than the wait itself, so that a ladder fits its deadline."""
    deadline_seconds: float
    """From the first attempt to the last answer."""

    def __post_init__(self) -> None:
        """Refuse what would never wait, or wait backwards."""
        if self.retries < 0 or self.first_seconds <= 0 or self.factor < 1 or self.jitter_seconds < 0:
            raise ValueError(f"no ladder: {self}")
        if self.cap_seconds < self.first_seconds or self.deadline_seconds <= 0:
            raise ValueError(f"no ladder: {self}")

    def wait_seconds(self, attempt: int, random: RandomSource) -> float | None:
        """Give the wait after the attempt of this number (1 is the first) failed; None: it was the last."""
        if attempt > self.retries:
            return None
        wait = self._base_seconds(attempt)
        return wait + random.uniform(0.0, min(self.jitter_seconds, wait))

    def _base_seconds(self, attempt: int) -> float:
        try:
            # float: a whole number would grow without bound on the endless ladder, instead of overflowing.
            return min(self.cap_seconds, self.first_seconds * float(self.factor) ** (attempt - 1))
        except OverflowError:  # the endless ladder, after a thousand rungs
            return self.cap_seconds


JITTER_SECONDS: Final = 0.5
"""Enough to part callers that failed together."""

FETCH_RETRY: Final = RetryPolicy(
    retries=3, first_seconds=1, factor=2, cap_seconds=4, jitter_seconds=JITTER_SECONDS, deadline_seconds=30
)
"""1, 2, 4 s. The scheduler decides by it, never below the group's delay; the deadline is one fetch's."""

ROBOTS_RETRY: Final = RetryPolicy(
    retries=2, first_seconds=2, factor=2, cap_seconds=4, jitter_seconds=JITTER_SECONDS, deadline_seconds=10
)
"""2, 4 s."""

DB_WRITE_RETRY: Final = RetryPolicy(
    retries=3, first_seconds=0.1, factor=2, cap_seconds=0.4, jitter_seconds=JITTER_SECONDS, deadline_seconds=5
)
"""100, 200, 400 ms; then the consumer pauses and INFRASTRUCTURE takes over."""

REDIS_RETRY: Final = RetryPolicy(
    retries=3, first_seconds=0.1, factor=1, cap_seconds=0.1, jitter_seconds=JITTER_SECONDS, deadline_seconds=1
)
"""Three times 100 ms."""

INFRASTRUCTURE_RETRY: Final = RetryPolicy(
    retries=inf,
    first_seconds=0.5,
    factor=2,
    cap_seconds=30,
    jitter_seconds=JITTER_SECONDS,
    deadline_seconds=inf,
)
"""For ever: what waits for a broker or a database must go on by itself when it comes back."""
