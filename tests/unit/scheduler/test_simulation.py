"""Whole crawls of made-up webs in virtual time: nothing lost, nothing twice, nobody pressed."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import pytest

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FRONTIER, SCHEDULER_DLQ
from strider.contracts.lives import may_follow
from strider.runtime.inprocess import simulate

from .seeds import seeds
from .web import Web, a_web
from .world import World

TOLERANCE_SECONDS = 0.0015
"""Clocks are kept in whole milliseconds."""

UNWELL = {"flaky", "down", "gone"}
"""Hosts whose robots.txt has to be asked for more than once."""


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
        assert may_follow(before, entry), told
        last[entry.url_key] = entry


@seeds(3, of=6)
def test_a_crawl_comes_to_its_end(seed: int) -> None:
    async def scenario() -> None:
        world = World(a_web(seed), seed=seed)
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler)
        await scheduler.stop()

        check_visits(world)
        check_politeness(world.web)

    simulate(scenario())


@pytest.mark.req("S0.1.4", "S1.2.25")
@pytest.mark.parametrize("is_lost", [pytest.param(False, id="warm"), pytest.param(True, id="rebuilt")])
@seeds(2, of=4)
def test_a_killed_scheduler_loses_nothing(seed: int, is_lost: bool) -> None:
    """Its successor goes on with the working set as it was, or with what the log says."""

    async def scenario() -> None:
        world = World(a_web(seed), seed=seed)
        await world.begin()
        chance = random.Random(seed)
        for _ in range(5):
            scheduler = world.start()
            await asyncio.sleep(chance.uniform(0.1, 60))
            await scheduler.kill()
            if is_lost:
                world.lose_frontier()
        last = world.start()
        await world.until_complete(last)
        await last.stop()

        check_visits(world)
        check_politeness(world.web)

    simulate(scenario())


@seeds(3, of=6)
def test_a_scheduler_that_is_killed_again_and_again_asks_for_rules_once(seed: int) -> None:
    """Between a robots.txt and its record as well: what was said to the one before is read first."""

    async def scenario() -> None:
        world = World(a_web(seed), seed=seed)
        await world.begin()
        chance = random.Random(seed)
        for _ in range(15):
            scheduler = world.start()
            await asyncio.sleep(chance.uniform(0.05, 3))
            await scheduler.kill()
        last = world.start()
        await world.until_complete(last)
        await last.stop()

        answering = {host.name for host in world.web.hosts.values() if host.robots not in UNWELL}
        asked = {name: world.web.tries.get(f"http://{name}/robots.txt", 0) for name in answering}
        assert {name: tries for name, tries in asked.items() if tries > 1} == {}
        check_visits(world)
        check_politeness(world.web)

    simulate(scenario())


@pytest.mark.parametrize("seed", range(3))
def test_answers_of_the_working_set_may_be_overtaken(seed: int) -> None:
    """An answer that is older than the last word about an entry must not lead to another word."""

    async def scenario() -> None:
        world = World(a_web(seed), seed=seed, latency_seconds=1.0)
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler)
        await scheduler.stop()

        check_visits(world)
        check_politeness(world.web)

    simulate(scenario())


@seeds(2, of=4)
def test_a_scheduler_that_was_away_reads_what_came_before_it_asks_again(seed: int) -> None:
    """Away for longer than requests and leases last: their outcomes lie in the topic, and count."""

    async def scenario() -> None:
        world = World(a_web(seed), seed=seed)
        await world.begin()
        chance = random.Random(seed)
        for _ in range(5):
            scheduler = world.start()
            await asyncio.sleep(chance.uniform(5, 60))
            await scheduler.kill()
            await asyncio.sleep(chance.uniform(60, 300))
        last = world.start()
        await world.until_complete(last)
        await last.stop()

        check_visits(world)
        check_politeness(world.web)

    simulate(scenario())


@seeds(2, of=3)
def test_a_working_set_that_is_lost_is_rebuilt(seed: int) -> None:
    """In the middle of work, again and again: what is in flight is waited for, so nothing is asked twice."""

    async def scenario() -> None:
        world = World(a_web(seed), seed=seed)
        await world.begin()
        scheduler = world.start()
        chance = random.Random(seed)
        for _ in range(5):
            await asyncio.sleep(chance.uniform(0.1, 60))
            world.frontier._shards.clear()
        await world.until_complete(scheduler)
        await scheduler.stop()

        check_visits(world)
        check_politeness(world.web)

    simulate(scenario())


@seeds(2, of=3)
def test_a_fetcher_that_dies_costs_what_it_had_in_hand(seed: int) -> None:
    """Its leases run out, and what it had begun is tried again; the delay holds all the same."""

    async def scenario() -> None:
        world = World(a_web(seed), seed=seed, lost_outcomes=0.1)
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler)
        await scheduler.stop()

        wanted, _ = world.web.expected()
        asked = {url for url in world.web.tries if not url.endswith("/robots.txt")}
        assert asked <= set(wanted)
        assert world.ring.lost > 0
        check_politeness(world.web)

    simulate(scenario())
