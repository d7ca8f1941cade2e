"""Lease marks: in batches where possible, and never twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from strider.contracts.generated.events import FetchRequested
from strider.fetcher.adapters.state.lease_marker import MAX_GATHER_SECONDS, LeaseMarker, StartedLease
from strider.frontier.models import StartMark, StartResult
from strider.messaging.errors import Unavailable
from tests.unit.fetcher.builders import ManualClock, a_request


class Store:
    """A store of marks: by lease, for the nonce that came first."""

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
    return a_request(lease_id=name, **more)


async def test_marks_of_one_iteration_are_one_call() -> None:
    """A round trip for each request would cost more than the request."""
    store = Store()
    leases = LeaseMarker(store, clock=ManualClock(), process_name="w")

    found = await asyncio.gather(*(leases.mark_started(lease(str(n))) for n in range(5)))

    assert found == [StartedLease(100.0, 5_000_000)] * 5
    assert store.calls == [(("0", "1", "2", "3", "4"), "w:1", 30_000)]


async def _after(turns: int, leases: LeaseMarker) -> StartedLease | None:
    for _ in range(turns):
        await asyncio.sleep(0)
    return await leases.mark_started(lease(str(turns)))


async def test_marks_of_successive_iterations_are_gathered() -> None:
    """Messages that were polled together are started one per iteration of the event loop."""
    store = Store()
    leases = LeaseMarker(store, clock=ManualClock(), process_name="w")

    await asyncio.gather(*(_after(turns, leases) for turns in (0, 1, 2, 3, 20)))

    assert [call[0] for call in store.calls] == [("0", "1", "2", "3"), ("20",)]


async def test_gathering_marks_has_a_time_limit() -> None:
    """The time of a request runs from the moment its mark is requested."""
    store, clock = Store(), ManualClock()
    leases = LeaseMarker(store, clock=clock, process_name="w")

    async def dawdle() -> None:
        for _ in range(12):
            await clock.sleep(MAX_GATHER_SECONDS / 4)

    await asyncio.gather(*(_after(turns, leases) for turns in range(12)), dawdle())

    assert 2 < len(store.calls) < 12
    assert max(len(call[0]) for call in store.calls) <= 5


async def test_each_deadline_has_its_own_call_and_nonce() -> None:
    store = Store()
    leases = LeaseMarker(store, clock=ManualClock(), process_name="w")

    await asyncio.gather(*(leases.mark_started(lease(str(n), deadline_ms=1000 + n % 2)) for n in range(4)))

    assert store.calls == [(("0", "2"), "w:1", 1000), (("1", "3"), "w:2", 1001)]


async def test_a_lease_of_another_fetcher_is_gone() -> None:
    store = Store()
    mine, theirs = (LeaseMarker(store, clock=ManualClock(), process_name=name) for name in ("a", "b"))

    assert await theirs.mark_started(lease("x")) == StartedLease(100.0, 5_000_000)
    assert await mine.mark_started(lease("x")) is None


async def test_a_lease_is_not_marked_twice() -> None:
    """A message that is redelivered to the process that handled it is as late as anywhere else."""
    leases = LeaseMarker(Store(), clock=ManualClock(), process_name="w")

    assert await leases.mark_started(lease("x")) is not None
    assert await leases.mark_started(lease("x")) is None


async def test_a_mark_whose_reply_was_lost_is_repeated_and_keeps_its_time() -> None:
    """A mark that the store has made is ours, from the time it may have been made."""
    clock, store = ManualClock(), Store(lost_answers=1)
    leases = LeaseMarker(store, clock=clock, process_name="w")
    with pytest.raises(Unavailable):
        await leases.mark_started(lease("x"))
    clock.seconds += 7

    found = await asyncio.gather(leases.mark_started(lease("x")), leases.mark_started(lease("y")))

    assert list(found) == [StartedLease(100.0, 5_000_000), StartedLease(107.0, 5_000_000)]
    assert [nonce for _, nonce, _ in store.calls] == ["w:1", "w:1", "w:2"]


async def test_an_outage_fails_every_waiter() -> None:
    leases = LeaseMarker(Store(failures=1), clock=ManualClock(), process_name="w")

    found = await asyncio.gather(
        *(leases.mark_started(lease(str(n))) for n in range(3)), return_exceptions=True
    )

    assert [type(each) for each in found] == [Unavailable] * 3


async def test_a_cancelled_waiter_does_not_stop_the_others() -> None:
    leases = LeaseMarker(Store(), clock=ManualClock(), process_name="w")
    leaving = asyncio.create_task(leases.mark_started(lease("x")))
    staying = asyncio.create_task(leases.mark_started(lease("y")))
    await asyncio.sleep(0)
    leaving.cancel()

    assert await staying == StartedLease(100.0, 5_000_000)


def test_monotonic_times_convert_to_the_stores_clock() -> None:
    assert StartedLease(100.0, 5_000_000).at_us(101.5) == 6_500_000


async def test_a_lease_is_known_to_be_over_by_the_clock_of_the_store() -> None:
    """A request that has waited for its whole lease costs no call."""
    clock = ManualClock()
    leases = LeaseMarker(Store(), clock=clock, process_name="w")
    waited = lease("late", lease_expires_at_ms=7_000)
    assert not leases.is_over(waited), "nothing is known of the store's clock"
    await leases.mark_started(lease("first"))

    assert not leases.is_over(waited), "it is 5.0 s there"
    clock.seconds += 2.5
    assert leases.is_over(waited)
    clock.seconds += 60
    assert not leases.is_over(waited), "the store's clock may have been set back since"
