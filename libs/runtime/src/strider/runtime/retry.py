"""Retry by a policy until an attempt works, or attempts or deadline are used up.

Used for calls to stores; messages are retried by `consumer.error_policy`. The caller says which errors are
retried (by default: Unavailable). Cancellation is never mistaken for a failure, and no attempt outlives the
deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import isinf
from typing import Protocol, TypeVar

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock, Randomness

T = TypeVar("T")


class RetrySchedule(Protocol):
    """Waits between attempts; `strider.politeness` has the policies."""

    @property
    def deadline_seconds(self) -> float:
        """Seconds from the first attempt to the last result."""

    def wait_seconds(self, attempt: int, chance: Randomness) -> float | None:
        """Return the seconds to wait after this attempt (1 is the first) failed; None after the last."""


def is_unavailable(failure: Exception) -> bool:
    """Whether a failure may pass with time."""
    return isinstance(failure, Unavailable)


async def retry(
    policy: RetrySchedule,
    attempt: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    chance: Randomness,
    dependency: str = "dependency",
    retryable: Callable[[Exception], bool] = is_unavailable,
) -> T:
    """Return the first result; raise Unavailable when the policy or its deadline is exhausted.

    A failure that is not retryable is raised at once, as it is. `dependency` names the dependency where the
    last failure was not an Unavailable of its own.
    """
    end = clock.monotonic() + policy.deadline_seconds
    number = 0
    while True:
        number += 1
        try:
            async with asyncio.timeout(_time_left(end, clock)) as limit:
                return await attempt()
        except Exception as failure:  # what is not retryable is raised again unchanged
            # Only our own limit is the deadline: a TimeoutError of the attempt is judged by the caller.
            is_late = limit.expired() and isinstance(failure, TimeoutError)
            if not is_late and not retryable(failure):
                raise
            wait = None if is_late else policy.wait_seconds(number, chance)
            if wait is None or clock.monotonic() + wait >= end:
                raise _as_unavailable(failure, part=dependency, tries=number) from failure
        await clock.sleep(wait)


def _time_left(end: float, clock: Clock) -> float | None:
    return None if isinf(end) else max(0.0, end - clock.monotonic())


def _as_unavailable(failure: Exception, *, part: str, tries: int) -> Unavailable:
    detail = failure.detail if isinstance(failure, Unavailable) else str(failure) or type(failure).__name__
    times = "once" if tries == 1 else f"{tries} times"
    return Unavailable(
        failure.dependency if isinstance(failure, Unavailable) else part, f"tried {times}: {detail}"
    )
