"""Retry policies: number of retries, and the wait before each.

A policy is a value: it takes the number of the attempt and a source of randomness, and returns seconds. It
does not sleep and does not know what is retried; `strider.runtime.retry` executes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final, Protocol


class RandomSource(Protocol):
    """Source of randomness for jitter."""

    def uniform(self, low: float, high: float) -> float:
        """Return a random number between the two."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential waits between attempts: each `factor` times the previous one, up to a cap, plus jitter."""

    retries: float
    """Number of retries after the first attempt fails, with one wait before each."""
    first_seconds: float
    factor: float
    cap_seconds: float
    jitter_seconds: float
    """Maximum random addition; never more than the wait itself, so that all retries fit the deadline."""
    deadline_seconds: float
    """From the first attempt to the last response."""

    def __post_init__(self) -> None:
        """Refuse values that would never wait, or wait a negative time."""
        if self.retries < 0 or self.first_seconds <= 0 or self.factor < 1 or self.jitter_seconds < 0:
            raise ValueError(f"invalid retry policy: {self}")
        if self.cap_seconds < self.first_seconds or self.deadline_seconds <= 0:
            raise ValueError(f"invalid retry policy: {self}")

    def wait_seconds(self, attempt: int, random: RandomSource) -> float | None:
        """Return the wait after a failed attempt (1 is the first), or None where no retry is left."""
        if attempt > self.retries:
            return None
        wait = self.base_seconds(attempt)
        return wait + random.uniform(0.0, min(self.jitter_seconds, wait))

    def base_seconds(self, attempt: int) -> float:
        """Return the wait after a failed attempt, without jitter, whatever the number of retries."""
        try:
            # float: an integer would grow without bound in an endless policy, instead of overflowing.
            return min(self.cap_seconds, self.first_seconds * float(self.factor) ** (attempt - 1))
        except OverflowError:  # an endless policy, after about a thousand attempts
            return self.cap_seconds


JITTER_SECONDS: Final = 0.5
"""Enough to spread callers that failed together."""

FETCH_RETRY: Final = RetryPolicy(
    retries=3, first_seconds=1, factor=2, cap_seconds=4, jitter_seconds=JITTER_SECONDS, deadline_seconds=30
)
"""1, 2, 4 s. The scheduler applies it, never below the group's delay; the deadline is that of one fetch."""

ROBOTS_RETRY: Final = RetryPolicy(
    retries=2, first_seconds=2, factor=2, cap_seconds=4, jitter_seconds=JITTER_SECONDS, deadline_seconds=10
)
"""2, 4 s; the deadline is that of each request."""

DB_WRITE_RETRY: Final = RetryPolicy(
    retries=3, first_seconds=0.1, factor=2, cap_seconds=0.4, jitter_seconds=JITTER_SECONDS, deadline_seconds=5
)
"""100, 200, 400 ms; then the consumer pauses and INFRASTRUCTURE_RETRY applies."""

REDIS_RETRY: Final = RetryPolicy(
    retries=3,
    first_seconds=0.1,
    factor=1,
    cap_seconds=0.1,
    jitter_seconds=JITTER_SECONDS,
    deadline_seconds=1,
)
"""100 ms before each, all within the second that one command may take; then as after DB_WRITE_RETRY."""

INFRASTRUCTURE_RETRY: Final = RetryPolicy(
    retries=inf,
    first_seconds=0.5,
    factor=2,
    cap_seconds=30,
    jitter_seconds=JITTER_SECONDS,
    deadline_seconds=inf,
)
"""Endless: consumers that wait for a broker or a database continue by themselves when it returns."""
