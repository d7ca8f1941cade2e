"""Invariants of a simulated crawl, whatever was killed or lost in it."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

from strider.contracts.entry_states import is_allowed_transition
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FRONTIER, SCHEDULER_DLQ

from .web import Web, a_web
from .world import SchedulerInstance, SimulatedWorld

TOLERANCE_SECONDS = 0.0015
"""Clocks have millisecond resolution."""


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


def check_visits(world: SimulatedWorld, *, spare: int = 0) -> None:
    """Every reachable URL was fetched as often as needed, and no other URL."""
    wanted, denied = world.web.expected()
    asked = {url: n for url, n in world.web.tries.items() if not url.endswith("/robots.txt")}
    too_often = sum(max(0, n - wanted.get(url, 0)) for url, n in asked.items())

    assert set(asked) == set(wanted)
    assert too_often <= spare
    assert all(asked[url] >= n for url, n in wanted.items())
    assert denied <= set(world.reasons())
    assert world.published(SCHEDULER_DLQ) == []
    check_transitions(world)


def check_transitions(world: SimulatedWorld) -> None:
    """Each record of the frontier log is a permitted transition from the one before it."""
    last: dict[str, EntryRecorded] = {}
    for entry in world.published(FRONTIER):
        before = last.get(entry.url_key)
        told = [each and (each.state, each.reason, each.fetch_sequence) for each in (before, entry)]
        assert is_allowed_transition(before, entry), told
        last[entry.url_key] = entry


async def started_world(seed: int, **told: float) -> SimulatedWorld:
    """Create a simulated web, and submit its start URLs."""
    world = SimulatedWorld(a_web(seed), seed=seed, **told)
    await world.begin()
    return world


async def kill_one(world: SimulatedWorld, chance: random.Random, lives: tuple[float, float]) -> None:
    """Run a scheduler, and kill it after a random time within these bounds."""
    scheduler = world.start()
    await asyncio.sleep(chance.uniform(*lives))
    await scheduler.kill()


async def run_to_end(world: SimulatedWorld, scheduler: SchedulerInstance, *, spare: int = 0) -> None:
    """Wait for the end of the crawl, and check every invariant."""
    await world.until_complete(scheduler)
    await scheduler.stop()

    check_visits(world, spare=spare)
    check_politeness(world.web)
