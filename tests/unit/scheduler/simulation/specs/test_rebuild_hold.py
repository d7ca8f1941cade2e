"""After a loss of the working set a shard waits as long as fetchers let a request take, and no longer."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from strider.messaging.inprocess import simulate
from strider.scheduler.options import SchedulerOptions
from tests.unit.scheduler.simulation.pipeline import SHARDS
from tests.unit.scheduler.simulation.web import Host, Page, Web
from tests.unit.scheduler.simulation.world import SPEC, SimulatedWorld

HOST = "www.site.test"


@pytest.mark.fault("B10")
@pytest.mark.parametrize(
    ("timeout_seconds", "shortest", "longest"),
    [pytest.param(40.0, 40, 60, id="of-the-spec"), pytest.param(86_400.0, 120, 140, id="of-the-fetcher")],
)
def test_a_shard_is_held_for_the_longest_request(
    timeout_seconds: float, shortest: float, longest: float
) -> None:
    async def scenario() -> tuple[SimulatedWorld, float]:
        urls = [f"http://{HOST}/{number}" for number in range(40)]
        web = Web({HOST: Host(HOST)}, {url: Page(url) for url in urls}, tuple(urls))
        spec = replace(SPEC, request_timeout_seconds=timeout_seconds)
        world = SimulatedWorld(
            web, spec=spec, options=SchedulerOptions(shards=SHARDS, user_agent="Strider/1")
        )
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(20)
        await scheduler.kill()
        lost_at = world.clock.monotonic()
        world.lose_frontier()
        scheduler = world.start()
        await world.until_complete(scheduler, seconds=1_000)
        await scheduler.stop()
        return world, lost_at

    world, lost_at = simulate(scenario())

    next_at = min(visit.began for visit in world.web.log if visit.began > lost_at + 3)
    assert shortest <= next_at - lost_at <= longest
