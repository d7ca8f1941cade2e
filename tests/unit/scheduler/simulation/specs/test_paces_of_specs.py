"""What a crawl spec sets for a host holds for all while it has an open entry there, and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.generated.topics import CRAWL_SPECS
from strider.messaging.effects import Publish
from strider.messaging.inprocess import simulate
from strider.scheduler.options import SchedulerOptions
from tests.unit.scheduler.simulation.pipeline import SHARDS
from tests.unit.scheduler.simulation.web import Host, Page, Web
from tests.unit.scheduler.simulation.world import SPEC, SchedulerInstance, SimulatedWorld

HOST = "www.busy.test"
PAGES = 40
FOREIGN_DELAY = 60.0
HOLD_SECONDS = 30.0
"""Shortest time without requests after a rebuild: the deadline of a request."""
SLOW = replace(SPEC, crawl_spec_id="slow", delay_seconds=FOREIGN_DELAY)

Disturbance = Callable[[SimulatedWorld, SchedulerInstance], Awaitable[SchedulerInstance]]


async def leave(_world: SimulatedWorld, scheduler: SchedulerInstance) -> SchedulerInstance:
    return scheduler


async def restart(world: SimulatedWorld, scheduler: SchedulerInstance) -> SchedulerInstance:
    await scheduler.kill()
    return world.start()


async def rebuild(world: SimulatedWorld, scheduler: SchedulerInstance) -> SchedulerInstance:
    await scheduler.kill()
    world.lose_frontier()
    return world.start()


FATES = pytest.mark.parametrize("fate", [leave, restart, rebuild], ids=lambda fate: fate.__name__)


def own_urls() -> list[str]:
    return [f"http://{HOST}/p{n}" for n in range(PAGES)]


async def submit(world: SimulatedWorld, url: str, *, spec: str) -> None:
    world.pipeline.offset += 1
    await world.pipeline.discover(
        [url], via="seed", offset=world.pipeline.offset, from_crawl_spec_ids=(spec,)
    )


async def a_world(foreign: CrawlSpecDeclared, options: SchedulerOptions | None = None) -> SimulatedWorld:
    urls = [*own_urls(), f"http://{HOST}/foreign"]
    web = Web({HOST: Host(HOST)}, {url: Page(url) for url in urls}, ())
    world = SimulatedWorld(web, options=options) if options else SimulatedWorld(web)
    await world.begin()
    await world.pipeline.publisher.publish([Publish(CRAWL_SPECS, foreign)])
    return world


def starts(world: SimulatedWorld, *, after: float = 0.0) -> list[float]:
    """Return when requests to the host began."""
    return [visit.began for visit in world.web.log if visit.began >= after]


def gaps(times: list[float]) -> list[float]:
    return [late - early for early, late in pairwise(times)]


async def until_visited(world: SimulatedWorld, path: str) -> float:
    """Wait until a page was requested; return when that request began."""
    url, ends_at = f"http://{HOST}/{path}", world.clock.monotonic() + 3_600
    while not any(visit.url == url for visit in world.web.log):
        world.pipeline.check()
        assert world.clock.monotonic() < ends_at, f"{url} was never requested"
        await asyncio.sleep(0.5)
    return next(visit.began for visit in world.web.log if visit.url == url)


@FATES
def test_the_delay_of_a_spec_ends_with_its_last_entry(fate: Disturbance) -> None:
    """One page with a minute of delay slows its host down once, not for ever."""

    async def scenario() -> tuple[SimulatedWorld, float]:
        world = await a_world(SLOW)
        await submit(world, f"http://{HOST}/foreign", spec="slow")
        scheduler = world.start()
        for url in own_urls():
            await submit(world, url, spec="spec")
        foreign_at = await until_visited(world, "foreign")
        await asyncio.sleep(10)  # settled, and its entry closed
        scheduler = await fate(world, scheduler)
        await world.until_complete(scheduler, seconds=1_000)
        await scheduler.stop()
        return world, foreign_at

    world, foreign_at = simulate(scenario())

    later = gaps(starts(world, after=foreign_at))
    assert len(later) == PAGES
    # A lost working set has lost its clocks too: then every request waits until those before it have ended.
    assert later[0] >= (HOLD_SECONDS if fate is rebuild else FOREIGN_DELAY)
    assert max(later[1:]) < 2.0


@FATES
def test_the_delay_of_a_spec_holds_for_all_while_its_entry_is_open(fate: Disturbance) -> None:
    """Also after a restart and a loss of the working set: politeness is that of the most careful crawl."""

    async def scenario() -> tuple[SimulatedWorld, float]:
        world = await a_world(SLOW)
        scheduler = world.start()
        for url in own_urls()[:3]:
            await submit(world, url, spec="spec")
        await submit(world, f"http://{HOST}/foreign", spec="slow")
        await asyncio.sleep(5)
        scheduler = await fate(world, scheduler)
        foreign_at = await until_visited(world, "foreign")
        await world.until_complete(scheduler, seconds=1_000)
        await scheduler.stop()
        return world, foreign_at

    world, foreign_at = simulate(scenario())

    before = [began for began in starts(world) if 5 <= began <= foreign_at]
    assert len(before) >= 2
    assert min(gaps(before)) >= FOREIGN_DELAY


def test_a_delay_beyond_the_longest_counts_as_the_longest() -> None:
    options = SchedulerOptions(shards=SHARDS, user_agent="Strider/1", lease_seconds=30, max_delay_seconds=5.0)

    async def scenario() -> SimulatedWorld:
        world = await a_world(replace(SLOW, delay_seconds=86_400.0), options)
        await submit(world, own_urls()[0], spec="spec")
        await submit(world, f"http://{HOST}/foreign", spec="slow")
        scheduler = world.start()
        await world.until_complete(scheduler, seconds=1_000)
        await scheduler.stop()
        return world

    between = gaps(starts(simulate(scenario())))

    assert len(between) == 2
    assert all(5.0 <= gap < 8.0 for gap in between)
