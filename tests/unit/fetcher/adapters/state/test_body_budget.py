"""The body budget: limited, without deadlocks."""

from __future__ import annotations

import asyncio

import pytest

from strider.fetcher.adapters.state.body_budget import BodyBudget
from strider.messaging.errors import Unavailable


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_reader_beyond_the_budget_waits_for_others() -> None:
    budget = BodyBudget(100, bytes_per_reader=0)
    first, second = budget.open_hold(), budget.open_hold()
    assert first.add(80) is None

    waiting = second.add(50)
    assert waiting is not None
    task = asyncio.ensure_future(waiting)
    await _settle()
    assert not task.done()
    first.release()

    await asyncio.wait_for(task, 1)
    assert budget.held_bytes == 50


async def test_a_reserve_is_kept_for_bytes_on_their_way() -> None:
    budget = BodyBudget(800, bytes_per_reader=0)
    first, second = budget.open_hold(), budget.open_hold()

    assert first.add(700) is None
    waiting = asyncio.ensure_future(second.add(1) or _settle())
    await _settle()

    assert not waiting.done()
    assert budget.held_bytes < 800
    first.release()
    await asyncio.wait_for(waiting, 1)


def test_the_reserve_grows_with_the_number_of_readers() -> None:
    """Each current reader may still receive a little; so much is reserved, up to a half."""
    budget = BodyBudget(800, bytes_per_reader=50)

    few, many = [budget.open_hold() for _ in range(4)], [budget.open_hold() for _ in range(20)]
    for each in few:
        budget.grow(each, 140)
    is_over_with_few = budget.is_over
    for each in few:
        each.release()
    for each in many:
        budget.grow(each, 20)

    assert not is_over_with_few, "560 of the 600 that are for four"
    assert not budget.is_over, "400 of the 400 that are for however many"
    budget.grow(many[0], 1)
    assert budget.is_over


async def test_the_oldest_holder_never_waits() -> None:
    """If every holder waited for room, there would never be any."""
    budget = BodyBudget(100, bytes_per_reader=0)
    first, second = budget.open_hold(), budget.open_hold()
    assert first.add(60) is None
    late, oldest = second.add(60), first.add(60)
    assert late is not None
    assert oldest is not None
    late_task = asyncio.ensure_future(late)

    await asyncio.wait_for(asyncio.ensure_future(oldest), 1)

    assert not late_task.done()
    first.release()
    await asyncio.wait_for(late_task, 1)


async def test_no_request_starts_while_the_budget_is_exceeded() -> None:
    """A pause that readiness reports with its reason."""
    budget = BodyBudget(100, wait_seconds=0.01)
    holding = budget.open_hold()
    alone = holding.add(101)
    assert alone is not None
    await alone

    with pytest.raises(Unavailable, match="memory is unavailable: 101 bytes"):
        await budget.wait_for_capacity()
    holding.release()
    await budget.wait_for_capacity()


async def test_a_dropped_hold_is_released() -> None:
    """A message whose partition is reassigned is dropped, with everything it holds."""
    budget = BodyBudget(100, bytes_per_reader=0)
    holding = budget.open_hold()
    holding.add(60)

    del holding

    assert budget.held_bytes == 0


def test_a_second_release_changes_nothing() -> None:
    budget = BodyBudget(100, bytes_per_reader=0)
    first, second = budget.open_hold(), budget.open_hold()
    first.add(10)
    second.add(5)

    first.release()
    first.release()

    assert budget.held_bytes == 5
