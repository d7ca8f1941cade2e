"""Whole crawls of simulated webs: nothing lost, nothing fetched twice, politeness kept."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import pytest

from strider.messaging.inprocess import simulate
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.topology import Scheduler

from .checks import TOLERANCE_SECONDS, check_politeness, kill_one, run_to_end, started_world
from .pipeline import SHARDS
from .seeds import seeds
from .web import Host, Page, Web
from .world import SimulatedWorld

UNWELL = {"flaky", "down", "gone"}
"""Hosts whose robots.txt has to be asked for more than once."""


@seeds(3, of=6)
def test_a_crawl_comes_to_its_end(seed: int) -> None:
    async def scenario() -> None:
        world = await started_world(seed)
        await run_to_end(world, world.start())

    simulate(scenario())


@pytest.mark.req("S0.1.4", "S1.2.25")
@pytest.mark.parametrize("is_lost", [pytest.param(False, id="warm"), pytest.param(True, id="rebuilt")])
@seeds(2, of=4)
def test_a_killed_scheduler_loses_nothing(seed: int, is_lost: bool) -> None:
    """Its successor continues with the working set as it was, or with the content of the log."""

    async def scenario() -> None:
        world = await started_world(seed)
        chance = random.Random(seed)
        for _ in range(5):
            await kill_one(world, chance, (0.1, 60))
            if is_lost:
                world.lose_frontier()
        await run_to_end(world, world.start())

    simulate(scenario())


@seeds(3, of=6)
def test_a_scheduler_that_is_killed_repeatedly_requests_robots_once(seed: int) -> None:
    """Between a robots.txt and its record as well: what was said to the one before is read first."""

    async def scenario() -> None:
        world = await started_world(seed)
        chance = random.Random(seed)
        for _ in range(15):
            await kill_one(world, chance, (0.05, 3))
        await run_to_end(world, world.start())

        answering = {host.name for host in world.web.hosts.values() if host.robots not in UNWELL}
        asked = {name: world.web.tries.get(f"http://{name}/robots.txt", 0) for name in answering}
        assert {name: tries for name, tries in asked.items() if tries > 1} == {}

    simulate(scenario())


@pytest.mark.parametrize("seed", range(3))
def test_replies_of_the_working_set_may_be_overtaken(seed: int) -> None:
    """An answer that is older than the last word about an entry must not lead to another word."""

    async def scenario() -> None:
        world = await started_world(seed, latency_seconds=1.0)
        await run_to_end(world, world.start())

    simulate(scenario())


def test_shards_may_come_and_go_while_runs_are_counted() -> None:
    """The count is asked for in one shard after the other; a process that died of it would take all again."""

    async def scenario() -> None:
        world = await started_world(1, latency_seconds=1.0)
        scheduler = world.start()
        counting = asyncio.create_task(count_for_ever(scheduler.scheduler))
        for _ in range(3):
            other = world.start()
            await asyncio.sleep(20)
            await other.stop()
            await asyncio.sleep(20)
        is_counting = not counting.done()
        counting.cancel()
        await run_to_end(world, scheduler)

        assert is_counting

    simulate(scenario())


async def count_for_ever(scheduler: Scheduler) -> None:
    while True:
        await asyncio.gather(scheduler.run_counts(), scheduler.counts("run"))
        await asyncio.sleep(0.1)


@seeds(2, of=4)
def test_a_scheduler_that_was_down_reads_outcomes_before_it_retries(seed: int) -> None:
    """Away for longer than requests and leases last: their outcomes lie in the topic, and count."""

    async def scenario() -> None:
        world = await started_world(seed)
        chance = random.Random(seed)
        for _ in range(5):
            await kill_one(world, chance, (5, 60))
            await asyncio.sleep(chance.uniform(60, 300))
        await run_to_end(world, world.start())

    simulate(scenario())


@seeds(2, of=3)
def test_a_working_set_that_is_lost_is_rebuilt(seed: int) -> None:
    """In the middle of work, again and again: what is in flight is waited for, so nothing is asked twice."""

    async def scenario() -> None:
        world = await started_world(seed)
        scheduler = world.start()
        chance = random.Random(seed)
        for _ in range(5):
            await asyncio.sleep(chance.uniform(0.1, 60))
            world.frontier._shards.clear()
        await run_to_end(world, scheduler)

    simulate(scenario())


@seeds(2, of=3)
def test_a_fetcher_that_dies_costs_what_it_had_in_flight(seed: int) -> None:
    """Its leases run out, and what it had begun is tried again; the delay holds all the same."""

    async def scenario() -> None:
        world = await started_world(seed, lost_outcomes=0.1)
        scheduler = world.start()
        await world.until_complete(scheduler)
        await scheduler.stop()

        wanted, _ = world.web.expected()
        asked = {url for url in world.web.tries if not url.endswith("/robots.txt")}
        assert asked <= set(wanted)
        assert world.pipeline.lost > 0
        check_politeness(world.web)

    simulate(scenario())


@pytest.mark.req("S5.2.3")
@pytest.mark.parametrize("by_domain", [pytest.param(False, id="host"), pytest.param(True, id="domain")])
def test_the_delay_is_kept_in_a_group_of_a_host_or_of_a_domain(by_domain: bool) -> None:
    """Two hosts of one registrable domain share the delay only where the group is the domain."""
    hosts = ("www.site.test", "shop.site.test")
    urls = tuple(f"http://{host}/{number}" for host in hosts for number in range(8))

    async def scenario() -> None:
        web = Web({host: Host(host) for host in hosts}, {url: Page(url) for url in urls}, urls)
        world = SimulatedWorld(web, options=SchedulerOptions(shards=SHARDS, by_domain=by_domain))
        await world.begin()
        await run_to_end(world, world.start())

        began = sorted(visit.began for visit in web.log)
        shortest = min(after - before for before, after in pairwise(began))
        assert (shortest >= 1.0 - TOLERANCE_SECONDS) is by_domain

    simulate(scenario())
