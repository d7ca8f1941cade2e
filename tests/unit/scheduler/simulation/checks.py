"""What must hold of a crawl of a made-up web, whoever was killed or lost in it."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

from strider.contracts.entry_states import is_allowed_transition
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FRONTIER, SCHEDULER_DLQ

from .web import Web, a_web
from .world import Instance, World

TOLERANCE_SECONDS = 0.0015
"""Clocks are kept in whole milliseconds."""


def check_politeness(web: Web) -> None:
    """One request at a time, the delay between two, robots.txt before any page."""
    for host in web.hosts.values():
        visits = sorted((each for each in web.log if each.host == host.name), key=lambda each: each.began)
        knows_delay_from = next(
            (each.ended for each in visits if each.url.endswith("/robots.txt") and each.outcome == "fetched"),
            None,
        )
        for before, after in pairwise(visits):
            is_slow = host.robots == "slow" and knows_delay_from is not None
            delay = 3.0 if is_slow and after.began >= knows_delay_from else 1.0
            delay = 0.0 if host.robots == "gone" else delay
            assert after.began - before.began >= delay - TOLERANCE_SECONDS, (before, after)
            assert after.began >= before.ended - TOLERANCE_SECONDS, (before, after)
        assert not visits or visits[0].url.endswith("/robots.txt")


def check_visits(world: World, *, spare: int = 0) -> None:
    """Every URL that can be reached was asked for as often as it had to be, and no other."""
    wanted, denied = world.web.expected()
    asked = {url: n for url, n in world.web.tries.items() if not url.endswith("/robots.txt")}
    too_often = sum(max(0, n - wanted.get(url, 0)) for url, n in asked.items())

    assert set(asked) == set(wanted)
    assert too_often <= spare
    assert all(asked[url] >= n for url, n in wanted.items())
    assert denied <= set(world.reasons())
    assert world.said(SCHEDULER_DLQ) == []
    check_lives(world)


def check_lives(world: World) -> None:
    """Each record of the truth follows the one before it by the table."""
    last: dict[str, EntryRecorded] = {}
    for entry in world.said(FRONTIER):
        before = last.get(entry.url_key)
        told = [each and (each.state, each.reason, each.fetch_sequence) for each in (before, entry)]
        assert is_allowed_transition(before, entry), told
        last[entry.url_key] = entry


async def begun(seed: int, **told: float) -> World:
    """Make a web up, and submit its start URLs."""
    world = World(a_web(seed), seed=seed, **told)
    await world.begin()
    return world


async def kill_one(world: World, chance: random.Random, lives: tuple[float, float]) -> None:
    """Have a scheduler that is killed after some seconds between these two."""
    scheduler = world.start()
    await asyncio.sleep(chance.uniform(*lives))
    await scheduler.kill()


async def see_through(world: World, scheduler: Instance, *, spare: int = 0) -> None:
    """Wait for the end of the crawl, and check all of it."""
    await world.until_complete(scheduler)
    await scheduler.stop()

    check_visits(world, spare=spare)
    check_politeness(world.web)
