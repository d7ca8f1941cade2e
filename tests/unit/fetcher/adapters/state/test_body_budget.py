"""Bytes in hand: bounded, and nobody waits for himself."""

from __future__ import annotations

import asyncio

import pytest

from strider.fetcher.adapters import BodyBudget
from strider.messaging.errors import Unavailable


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_who_goes_over_waits_until_others_are_done() -> None:
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


async def test_some_is_kept_for_what_comes_before_everybody_has_stopped() -> None:
    budget = BodyBudget(800, bytes_per_reader=0)
    first, second = budget.open_hold(), budget.open_hold()

    assert first.add(700) is None
    waiting = asyncio.ensure_future(second.add(1) or _settle())
    await _settle()

    assert not waiting.done()
    assert budget.held_bytes < 800
    first.release()
    await asyncio.wait_for(waiting, 1)


def test_the_more_bodies_come_the_sooner_they_stop() -> None:
    """Each of those that are being read may still get a little; so much is kept free, up to a half."""
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


async def test_the_oldest_goes_on_whatever_is_in_hand() -> None:
    """If everybody waited for room, nobody would ever make some."""
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


async def test_nothing_is_begun_while_there_is_no_room() -> None:
    """A pause that is stated: whoever looks sees what is waited for."""
    budget = BodyBudget(100, patience_seconds=0.01)
    holding = budget.open_hold()
    alone = holding.add(101)
    assert alone is not None
    await alone

    with pytest.raises(Unavailable, match="memory is unavailable: 101 bytes"):
        await budget.wait_for_room()
    holding.release()
    await budget.wait_for_room()


async def test_what_is_forgotten_is_given_back() -> None:
    """A message whose partition goes to somebody else is dropped, with all that it holds."""
    budget = BodyBudget(100, bytes_per_reader=0)
    holding = budget.open_hold()
    holding.add(60)

    del holding

    assert budget.held_bytes == 0


def test_giving_back_twice_gives_back_once() -> None:
    budget = BodyBudget(100, bytes_per_reader=0)
    first, second = budget.open_hold(), budget.open_hold()
    first.add(10)
    second.add(5)

    first.release()
    first.release()

    assert budget.held_bytes == 5
