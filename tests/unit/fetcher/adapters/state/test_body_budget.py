"""The body budget: limited, in shares by sender, without deadlocks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from strider.fetcher.adapters.state.body_budget import BodyBudget, BodyHold
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import EventLoopClock, simulate
from strider.runtime.shares import SharePath
from tests.unit.fetcher.builders import ManualClock

READERS = 10
RAW: SharePath = ("raw", 33)
OTHER_RAW: SharePath = ("raw", 40)
OWNER: SharePath = ("owners", 1)


def _budget(total_bytes: int, **more: Any) -> BodyBudget:
    """Return a budget of which each of ten readers has a twentieth."""
    return BodyBudget(total_bytes, **{"clock": ManualClock(), "readers": READERS, **more})


def _add_all(budget: BodyBudget, path: SharePath, *, each: int = 100) -> list[BodyHold]:
    """Hold bytes of one sender until its next body has to wait."""
    holds: list[BodyHold] = []
    while not any(budget.must_wait(hold) for hold in holds):
        holds.append(budget.open_hold(path))
        budget.grow(holds[-1], each)
    return holds


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_reader_beyond_the_budget_waits_for_others() -> None:
    budget = _budget(100)
    first, second = budget.open_hold(), budget.open_hold()
    assert first.add(50) is None

    waiting = second.add(50)
    assert waiting is not None
    task = asyncio.ensure_future(waiting)
    await _settle()
    assert not task.done()
    first.release()

    await asyncio.wait_for(task, 1)
    assert budget.held_bytes == 50


def test_a_body_that_fits_into_its_readers_part_never_waits() -> None:
    budget = _budget(1_000)
    for path in (RAW, OTHER_RAW, OWNER):
        _add_all(budget, path)

    assert all(budget.open_hold(path).add(50) is None for path in (RAW, OTHER_RAW, OWNER))


def test_a_sender_that_uses_up_its_share_leaves_others_theirs() -> None:
    budget = _budget(100_000)
    _add_all(budget, RAW, each=9_000)

    assert budget.open_hold(OTHER_RAW).add(8_000) is None
    assert budget.open_hold(OWNER).add(8_000) is None


async def test_the_oldest_holder_of_a_group_never_waits() -> None:
    """If every holder waited for room, there would never be any."""
    budget = _budget(100)
    first, second, owners = budget.open_hold(RAW), budget.open_hold(RAW), budget.open_hold(OWNER)
    assert first.add(90) is None
    late = second.add(60)
    assert late is not None
    late_task = asyncio.ensure_future(late)
    assert first.add(60) is None
    assert owners.add(60) is None, "the first of its own group"
    await _settle()

    assert not late_task.done()
    first.release()
    owners.release()
    await asyncio.wait_for(late_task, 1)


async def test_no_request_starts_while_bodies_that_are_not_published_fill_the_budget() -> None:
    """A pause that readiness reports with its reason."""
    budget = _budget(100, wait_seconds=0.01)
    holding = budget.open_hold()
    assert holding.add(101) is None

    with pytest.raises(Unavailable, match="memory is unavailable: 101 bytes"):
        await budget.wait_for_capacity()
    holding.release()
    await budget.wait_for_capacity()


def test_the_body_that_grows_least_is_ended_for_those_that_wait() -> None:
    """The oldest one trickles; a young one is as slow, and another one as large grows."""

    async def scenario() -> None:
        budget = _budget(20_000_000, clock=EventLoopClock())
        ended: list[str] = []
        holds = {name: budget.open_hold(RAW) for name in ("trickling", "growing")}
        for name, hold in holds.items():
            hold.end_as_slow = lambda name=name: ended.append(name)
            hold.add(4_000_000)
        late = budget.open_hold(RAW)
        waiting = late.add(2_000_000)
        assert waiting is not None
        task = asyncio.ensure_future(waiting)
        for _ in range(11):
            await asyncio.sleep(0.5)
            holds["trickling"].add(1_500)
            budget.grow(holds["growing"], 50_000)

        assert ended == ["trickling"]
        holds["trickling"].release()
        await asyncio.wait_for(task, 1)

    simulate(scenario())


def test_no_body_is_ended_while_none_waits_for_it() -> None:
    async def scenario() -> None:
        budget = _budget(20_000_000, clock=EventLoopClock())
        ended: list[str] = []
        slow = budget.open_hold(OWNER)
        slow.end_as_slow = lambda: ended.append("slow")
        slow.add(2_000_000)
        holds = _add_all(budget, RAW, each=2_000_000)
        waiting = holds[-1].wait_if_over()
        assert waiting is not None
        task = asyncio.ensure_future(waiting)
        await asyncio.sleep(20)

        assert ended == [], "it is in another share, and theirs are not being read"
        for hold in holds[:-1]:
            hold.release()
        await asyncio.wait_for(task, 1)

    simulate(scenario())


async def test_a_dropped_hold_is_released() -> None:
    """A message whose partition is reassigned is dropped, with everything it holds."""
    budget = _budget(100)
    holding = budget.open_hold()
    holding.add(60)

    del holding

    assert budget.held_bytes == 0


def test_a_second_release_changes_nothing() -> None:
    budget = _budget(100)
    first, second = budget.open_hold(), budget.open_hold()
    first.add(10)
    second.add(5)

    first.release()
    first.release()

    assert budget.held_bytes == 5
