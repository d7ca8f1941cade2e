"""Marks: together where they can be, and never twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from strider.contracts.generated.events import FetchRequested
from strider.fetcher.adapters import Leases, StartedLease
from strider.fetcher.adapters.state.lease_marker import MAX_GATHER_SECONDS
from strider.frontier.models import StartMark, StartResult
from strider.messaging.errors import Unavailable
from tests.unit.fetcher.builders import request


class ManualClock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        await asyncio.sleep(0)


class Store:
    """Marks as a store keeps them: by lease, for whoever came with which nonce."""

    def __init__(self, *, failures: int = 0, lost_answers: int = 0) -> None:
        self.calls: list[tuple[tuple[str, ...], str, int]] = []
        self.held: dict[str, str] = {}
        self.failures = failures
        self.lost_answers = lost_answers

    async def mark_started(
        self, leases: Sequence[tuple[int, str]], *, nonce: str, deadline_ms: int
    ) -> Sequence[StartMark]:
        self.calls.append((tuple(lease for _, lease in leases), nonce, deadline_ms))
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise Unavailable("redis", "down")
        found = [self.held.setdefault(lease, nonce) == nonce for _, lease in leases]
        if self.lost_answers:
            self.lost_answers -= 1
            raise Unavailable("redis", "no answer")
        return [
            StartMark(StartResult.STARTED if is_ours else StartResult.GONE, 5_000_000) for is_ours in found
        ]


def lease(name: str, **more: Any) -> FetchRequested:
    return request(lease_id=name, **more)


async def test_what_comes_in_one_turn_goes_in_one_call() -> None:
    """A round trip for each request would cost more than the request."""
    store = Store()
    leases = Leases(store, clock=ManualClock(), process_name="w")

    found = await asyncio.gather(*(leases.mark_started(lease(str(n))) for n in range(5)))

    assert found == [StartedLease(100.0, 5_000_000)] * 5
    assert store.calls == [(("0", "1", "2", "3", "4"), "w:1", 30_000)]


async def _after(turns: int, leases: Leases) -> StartedLease | None:
    for _ in range(turns):
        await asyncio.sleep(0)
    return await leases.mark_started(lease(str(turns)))


async def test_what_begins_turn_by_turn_goes_together_until_a_turn_brings_nothing() -> None:
    """Messages that were read together are taken up one a turn."""
    store = Store()
    leases = Leases(store, clock=ManualClock(), process_name="w")

    await asyncio.gather(*(_after(turns, leases) for turns in (0, 1, 2, 3, 20)))

    assert [call[0] for call in store.calls] == [("0", "1", "2", "3"), ("20",)]


async def test_marks_that_come_and_come_are_not_held_up() -> None:
    """The time of a request runs from its wish for a mark."""
    store, clock = Store(), ManualClock()
    leases = Leases(store, clock=clock, process_name="w")

    async def dawdle() -> None:
        for _ in range(12):
            await clock.sleep(MAX_GATHER_SECONDS / 4)

    await asyncio.gather(*(_after(turns, leases) for turns in range(12)), dawdle())

    assert 2 < len(store.calls) < 12
    assert max(len(call[0]) for call in store.calls) <= 5


async def test_each_deadline_has_a_call_of_its_own_and_each_call_a_nonce() -> None:
    store = Store()
    leases = Leases(store, clock=ManualClock(), process_name="w")

    await asyncio.gather(*(leases.mark_started(lease(str(n), deadline_ms=1000 + n % 2)) for n in range(4)))

    assert store.calls == [(("0", "2"), "w:1", 1000), (("1", "3"), "w:2", 1001)]


async def test_a_lease_of_somebody_else_is_gone() -> None:
    store = Store()
    mine, theirs = (Leases(store, clock=ManualClock(), process_name=name) for name in ("a", "b"))

    assert await theirs.mark_started(lease("x")) == StartedLease(100.0, 5_000_000)
    assert await mine.mark_started(lease("x")) is None


async def test_a_lease_that_was_ours_is_not_ours_again() -> None:
    """A message that comes again to the process that has handled it is as late as anywhere else."""
    leases = Leases(Store(), clock=ManualClock(), process_name="w")

    assert await leases.mark_started(lease("x")) is not None
    assert await leases.mark_started(lease("x")) is None


async def test_a_lost_answer_is_asked_for_again_and_its_time_has_run() -> None:
    """What the store has noted as started is ours, from when it may have noted it."""
    clock, store = ManualClock(), Store(lost_answers=1)
    leases = Leases(store, clock=clock, process_name="w")
    with pytest.raises(Unavailable):
        await leases.mark_started(lease("x"))
    clock.seconds += 7

    found = await asyncio.gather(leases.mark_started(lease("x")), leases.mark_started(lease("y")))

    assert list(found) == [StartedLease(100.0, 5_000_000), StartedLease(107.0, 5_000_000)]
    assert [nonce for _, nonce, _ in store.calls] == ["w:1", "w:1", "w:2"]


async def test_an_outage_reaches_everyone_who_waits() -> None:
    leases = Leases(Store(failures=1), clock=ManualClock(), process_name="w")

    found = await asyncio.gather(
        *(leases.mark_started(lease(str(n))) for n in range(3)), return_exceptions=True
    )

    assert [type(each) for each in found] == [Unavailable] * 3


async def test_who_leaves_early_does_not_stop_the_others() -> None:
    leases = Leases(Store(), clock=ManualClock(), process_name="w")
    leaving = asyncio.create_task(leases.mark_started(lease("x")))
    staying = asyncio.create_task(leases.mark_started(lease("y")))
    await asyncio.sleep(0)
    leaving.cancel()

    assert await staying == StartedLease(100.0, 5_000_000)


def test_a_moment_of_ours_is_told_in_the_stores_time() -> None:
    assert StartedLease(100.0, 5_000_000).at_us(101.5) == 6_500_000
