"""Retries and backoffs: what is tried again, how long, and what passes untouched."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from math import inf

import pytest

from strider.messaging.errors import Unavailable
from strider.politeness.retry_policy import RetryPolicy
from strider.runtime.retry import Backoff, retry


def _policy(
    retries: float, *, factor: float = 1, cap_seconds: float = 100.0, deadline_seconds: float = 100.0
) -> RetryPolicy:
    return RetryPolicy(
        retries=retries,
        first_seconds=1,
        factor=factor,
        cap_seconds=cap_seconds,
        jitter_seconds=0.5,
        deadline_seconds=deadline_seconds,
    )


class NoChance:
    """Randomness without jitter."""

    def uniform(self, low: float, high: float) -> float:
        return low


class JumpingClock:
    """Sleeping moves it on at once."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        self._seconds += seconds


class StandingClock(JumpingClock):
    """Who sleeps by it never wakes."""

    def __init__(self) -> None:
        super().__init__()
        self.is_slept_by = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.is_slept_by.set()
        await asyncio.Event().wait()


class Failing:
    """Fails so many times, and records when it was called."""

    def __init__(self, clock: JumpingClock, *failures: BaseException) -> None:
        self._clock = clock
        self._failures = list(failures)
        self.asked_at: list[float] = []

    async def __call__(self) -> str:
        self.asked_at.append(self._clock.monotonic())
        if self._failures:
            raise self._failures.pop(0)
        return "done"


def _down() -> Unavailable:
    return Unavailable("redis", "connection refused")


@pytest.mark.req("S3.19.6")
async def test_tries_again_after_each_wait() -> None:
    """A short outage is over before a caller notices."""
    clock = JumpingClock()
    attempt = Failing(clock, _down(), _down())

    assert await retry(_policy(3, factor=2), attempt, clock=clock, chance=NoChance()) == "done"
    assert attempt.asked_at == [0.0, 1.0, 3.0]


async def test_the_last_failure_is_unavailable_with_the_count() -> None:
    """The reader of a log sees what failed, and that it was not given up at once."""
    clock = JumpingClock()
    attempt = Failing(clock, *(_down() for _ in range(9)))

    with pytest.raises(Unavailable, match=r"redis is unavailable: tried 3 times: connection refused"):
        await retry(_policy(2, factor=2), attempt, clock=clock, chance=NoChance())
    assert attempt.asked_at == [0.0, 1.0, 3.0]


async def test_no_try_begins_after_the_deadline() -> None:
    """A wait that would end too late is not begun."""
    clock = JumpingClock()
    attempt = Failing(clock, *(_down() for _ in range(9)))

    with pytest.raises(Unavailable):
        await retry(_policy(4, deadline_seconds=2.5), attempt, clock=clock, chance=NoChance())
    assert attempt.asked_at == [0.0, 1.0, 2.0]


async def test_a_bug_is_raised_at_once_as_it_is() -> None:
    """Trying again would not help, and would hide it."""
    clock = JumpingClock()
    attempt = Failing(clock, KeyError("x"), _down())

    with pytest.raises(KeyError):
        await retry(_policy(1), attempt, clock=clock, chance=NoChance())
    assert len(attempt.asked_at) == 1


async def test_the_caller_decides_what_is_retryable() -> None:
    """Libraries without an adapter have errors of their own."""
    clock = JumpingClock()
    attempt = Failing(clock, ConnectionResetError("reset"), ConnectionResetError("reset"))

    with pytest.raises(Unavailable, match="registry is unavailable: tried 2 times: reset") as raised:
        await retry(
            _policy(1),
            attempt,
            clock=clock,
            chance=NoChance(),
            dependency="registry",
            retryable=lambda failure: isinstance(failure, OSError),
        )
    assert isinstance(raised.value.__cause__, ConnectionResetError)


async def test_a_hanging_attempt_ends_with_the_deadline() -> None:
    """A server that accepts and never responds must not hold its caller for ever."""
    was_cancelled = asyncio.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            was_cancelled.set()

    with pytest.raises(Unavailable, match="postgres is unavailable: tried once"):
        await retry(
            _policy(1, deadline_seconds=0.02),
            hang,
            clock=JumpingClock(),
            chance=NoChance(),
            dependency="postgres",
        )
    assert was_cancelled.is_set()


async def test_cancelling_between_tries_is_no_failure() -> None:
    """Shutting down must not become one more try, nor an Unavailable."""
    clock = StandingClock()
    attempt = Failing(clock, _down())
    task = asyncio.create_task(retry(_policy(2), attempt, clock=clock, chance=NoChance()))
    await clock.is_slept_by.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(attempt.asked_at) == 1


async def test_cancelling_within_a_try_is_no_failure() -> None:
    """The same, with the open connection."""
    begun = asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(retry(_policy(2), hang, clock=JumpingClock(), chance=NoChance()))
    await begun.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_timeout_of_the_attempt_is_the_callers_to_judge() -> None:
    """Only our own limit is the deadline."""
    clock = JumpingClock()
    attempt = Failing(clock, TimeoutError("its own"))

    with pytest.raises(TimeoutError, match="its own"):
        await retry(_policy(1), attempt, clock=clock, chance=NoChance())


def _backoff(clock: JumpingClock) -> Backoff:
    return Backoff(_policy(inf, factor=2, cap_seconds=5), clock=clock, chance=NoChance())


async def test_a_backoff_grows_to_its_cap_and_starts_again_after_a_success() -> None:
    clock = JumpingClock()
    backoff = _backoff(clock)

    assert [backoff.next_seconds() for _ in range(5)] == [1, 2, 4, 5, 5]
    backoff.reset()
    await backoff.wait()

    assert (clock.monotonic(), backoff.failures) == (1.0, 1)


async def test_a_backoff_outlasts_a_day_of_failures() -> None:
    """The exponent overflows after about a thousand failures in a row; the wait stays at its cap."""
    backoff = _backoff(JumpingClock())

    assert {backoff.next_seconds() for _ in range(5_000)} == {1, 2, 4, 5}


async def test_work_is_repeated_until_its_dependency_is_back() -> None:
    """Each failure is reported before its wait, and the next outage starts with the shortest wait."""
    clock = JumpingClock()
    backoff, reports = _backoff(clock), list[tuple[float, str]]()

    def report(failure: Unavailable) -> None:
        reports.append((clock.monotonic(), failure.dependency))

    for _ in range(2):
        work = Failing(clock, _down(), _down())
        assert await backoff.until_available(work, on_failure=report) == "done"

    assert reports == [(0.0, "redis"), (1.0, "redis"), (3.0, "redis"), (4.0, "redis")]


async def test_a_backoff_does_not_repeat_a_bug() -> None:
    clock = JumpingClock()
    work = Failing(clock, _down(), KeyError("x"))

    with pytest.raises(KeyError):
        await _backoff(clock).until_available(work, on_failure=lambda _: None)
    assert work.asked_at == [0.0, 1.0]


def test_a_backoff_refuses_a_policy_that_ends() -> None:
    with pytest.raises(ValueError, match="endless retry policy, not 3 retries"):
        Backoff(_policy(3), clock=JumpingClock(), chance=NoChance())
