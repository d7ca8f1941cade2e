"""Completion is proven neither early nor late, with crashes, losses and repeats."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from strider.contracts.generated.topics import JOB_COMMANDS, PAGES_SETTLED
from strider.contracts.partitioning import shard_of_host
from strider.messaging.effects import Publish
from strider.messaging.inprocess import simulate

from .checks import check_politeness, check_visits
from .commands import a_command
from .pipeline import SHARDS
from .seeds import seeds
from .web import Host, Page, Web, a_web
from .world import SchedulerInstance, SimulatedWorld

LATE_SECONDS = 15
"""What the proof may take once the last page is settled: its looks, a second apart, and the commits."""

SHARED_SECONDS = 10
"""What a flood may cost another run: they share a log, and the proof waits until it is read to its end."""


async def repeat_settlements(world: SimulatedWorld, chance: random.Random) -> None:
    """Say settlements again, as a service that was killed before its offset does."""
    while True:
        await asyncio.sleep(chance.uniform(1, 10))
        settled = world.published(PAGES_SETTLED)
        again = chance.sample(settled, min(len(settled), 3))
        await world.pipeline.publisher.publish([Publish(PAGES_SETTLED, each) for each in again])


async def complete(world: SimulatedWorld, scheduler: SchedulerInstance) -> float:
    """Wait for the proof; then nothing more may be asked for, and nothing may be open."""
    await world.until_complete(scheduler)
    proven_at = world.clock.monotonic()
    asked = len(world.web.log)
    await asyncio.sleep(120)
    assert len(world.web.log) == asked
    assert all(count.open == 0 for count in (await scheduler.scheduler.counts("run")).values())
    return proven_at


@seeds(2, of=4)
def test_a_run_is_complete_when_its_last_page_is_settled(seed: int) -> None:
    """Schedulers come, go and are killed, the working set is lost, settlements are said again."""

    async def scenario() -> None:
        world = SimulatedWorld(a_web(seed + 20), seed=seed)
        await world.begin()
        chance = random.Random(seed)
        repeating = world.pipeline.spawn(repeat_settlements(world, chance))
        for _ in range(3):
            first, second = world.start(), world.start()
            await asyncio.sleep(chance.uniform(2, 30))
            await first.kill()
            await asyncio.sleep(chance.uniform(2, 30))
            await second.kill()
            if chance.random() < 0.5:
                world.lose_frontier()
        last = world.start()
        proven_at = await complete(world, last)
        repeating.cancel()
        await last.stop()

        check_visits(world)
        check_politeness(world.web)
        ended = max((visit.ended for visit in world.web.log), default=0.0)
        assert proven_at - ended < LATE_SECONDS + world.spec.host_patience_seconds

    simulate(scenario())


def test_a_cancelled_run_is_complete_as_soon_as_what_was_under_way_has_come() -> None:
    """Hosts that are out of reach do not hold it up."""

    async def scenario() -> None:
        world = SimulatedWorld(a_web(3), seed=3)
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(8)
        await world.pipeline.publisher.publish([Publish(JOB_COMMANDS, a_command("cancel"))])
        proven_at = await complete(world, scheduler)
        await scheduler.stop()

        assert proven_at < 8 + 35 + LATE_SECONDS  # the slowest page takes 20 s, and its round 2 s

    simulate(scenario())


@pytest.mark.parametrize(
    "hosts", [pytest.param(50, id="short"), pytest.param(200, id="long", marks=pytest.mark.slow)]
)
def test_a_flood_of_seeds_does_not_delay_another_runs_end(hosts: int) -> None:
    """A hundred seeds of another run for each of many hosts of their own, in the same shards."""

    def a_world() -> SimulatedWorld:
        site = "www.small.test"
        urls = [f"http://{site}/{number}" for number in range(20)]
        home = f"http://{site}/"
        pages = {url: Page(url) for url in urls} | {home: Page(home, links=tuple(urls))}
        flood = {f"www.flood{number}.test" for number in range(hosts)}
        every = {name: Host(name) for name in (site, *flood)}
        pages |= {url: Page(url) for name in flood for url in _flood_of(name)}
        return SimulatedWorld(Web(every, pages, (home,)))

    async def scenario(*, is_flooded: bool) -> float:
        world = a_world()
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(2)
        if is_flooded:
            await _flood(world)
        await world.until_complete(scheduler, seconds=200)
        took = world.clock.monotonic()
        if is_flooded:
            counts = await scheduler.scheduler.counts("flood")
            assert sum(count.open for count in counts.values()) > hosts * 50
        await scheduler.kill()
        return took

    alone: float = simulate(scenario(is_flooded=False))
    flooded: float = simulate(scenario(is_flooded=True))

    assert flooded <= alone + SHARED_SECONDS


def _flood_of(name: str) -> list[str]:
    return [f"http://{name}/{number}" for number in range(100)]


async def _flood(world: SimulatedWorld) -> None:
    """Have link-ingestion pass on many seeds at once, in as few messages as it makes of them."""
    told: dict[str, Any] = {"via": "seed", "from_execution_ids": ("flood",)}
    names = [name for name in world.web.hosts if "flood" in name]
    by_shard: dict[int, list[str]] = {}
    for name in names:
        by_shard.setdefault(shard_of_host(name, SHARDS), []).extend(_flood_of(name))
    for urls in by_shard.values():
        for first in range(0, len(urls), 500):
            world.pipeline.offset += 1
            await world.pipeline.discover(urls[first : first + 500], offset=world.pipeline.offset, **told)
