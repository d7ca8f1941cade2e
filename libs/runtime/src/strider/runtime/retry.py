"""Execute retry policies: a bounded retry of one call, and the endless backoff of a loop.

`retry` is for calls to stores: it gives up when attempts or deadline are used up. `Backoff` is for loops that
continue by themselves when a broker or a database is back. Cancellation is never mistaken for a failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import isinf
from typing import TypeVar

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock, Randomness
from strider.politeness.retry_policy import INFRASTRUCTURE_RETRY, RetryPolicy

T = TypeVar("T")


class Backoff:
    """Growing waits between failures in a row; a success ends the row."""

    def __init__(
        self, policy: RetryPolicy = INFRASTRUCTURE_RETRY, *, clock: Clock, chance: Randomness
    ) -> None:
        """Refuse a policy that ends: `retry` is for these."""
        if not isinf(policy.retries):
            raise ValueError(f"a backoff needs an endless retry policy, not {policy.retries} retries")
        self._policy = policy
        self._clock = clock
        self._chance = chance
        self.failures = 0
        """Failures since the last success."""

    def next_seconds(self) -> float:
        """Count one more failure; return the wait after it."""
        self.failures += 1
        seconds = self._policy.wait_seconds(self.failures, self._chance)
        assert seconds is not None, "an endless policy always allows one more attempt"
        return seconds

    async def wait(self) -> None:
        """Count one more failure, and sleep."""
        await self._clock.sleep(self.next_seconds())

    def reset(self) -> None:
        """Record a success: the next wait is the shortest again."""
        self.failures = 0

    async def until_available(
        self, work: Callable[[], Awaitable[T]], *, on_failure: Callable[[Unavailable], None]
    ) -> T:
        """Repeat some work until its dependencies are available; report each failure before its wait."""
        while True:
            try:
                result = await work()
            except Unavailable as failure:
                on_failure(failure)
                await self.wait()
            else:
                self.reset()
                return result


def is_unavailable(failure: Exception) -> bool:
    """Whether a failure may pass with time."""
    return isinstance(failure, Unavailable)


async def retry(
    policy: RetryPolicy,
    attempt: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    chance: Randomness,
    dependency: str = "dependency",
    retryable: Callable[[Exception], bool] = is_unavailable,
) -> T:
    """Return the first result; raise Unavailable when the policy or its deadline is exhausted.

    A failure that is not retryable (by default: anything but Unavailable) is raised at once, as it is. No
    attempt outlives the deadline. `dependency` names the dependency where the last failure was not an
    Unavailable of its own.
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
                late = f"no result within {policy.deadline_seconds:g} s" if is_late else ""
                raise _as_unavailable(failure, part=dependency, tries=number, detail=late) from failure
        await clock.sleep(wait)


def _time_left(end: float, clock: Clock) -> float | None:
    return None if isinf(end) else max(0.0, end - clock.monotonic())


def _as_unavailable(failure: Exception, *, part: str, tries: int, detail: str) -> Unavailable:
    if not detail:
        detail = failure.detail if isinstance(failure, Unavailable) else str(failure)
        detail = detail or type(failure).__name__
    times = "once" if tries == 1 else f"{tries} times"
    return Unavailable(
        failure.dependency if isinstance(failure, Unavailable) else part, f"tried {times}: {detail}"
    )
