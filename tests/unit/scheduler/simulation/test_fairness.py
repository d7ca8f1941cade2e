"""Fairness: small hosts are crawled as if one huge host were not there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from strider.frontier.models import QueueLimits
from strider.messaging.inprocess import simulate
from strider.scheduler.options import SchedulerOptions

from .pipeline import SHARDS
from .web import Host, Page, Web
from .world import SPEC, SimulatedWorld

LARGE = "www.large.test"
HOME = "http://www.home.test/"
LONG = [pytest.mark.slow, pytest.mark.timeout(3_600)]


@dataclass(frozen=True)
class Load:
    """One large host and many small ones, and how little of them may be under way at a time."""

    hosts: int
    large: int
    in_flight: int


def a_web(load: Load, *, is_beside: bool) -> Web:
    """Ten pages on each small host; those of the large one are found first."""
    small = [f"www.small{number}.test" for number in range(load.hosts)]
    urls = [f"http://{name}/{number}" for name in small for number in range(10)]
    large = [f"http://{LARGE}/{number}" for number in range(load.large)] if is_beside else []
    pages = {url: Page(url) for url in (*large, *urls)}
    hosts = {name: Host(name, "missing") for name in (*small, LARGE, "www.home.test")}
    return Web(hosts, pages | {HOME: Page(HOME, links=(*large, *urls))}, (HOME,))


async def seconds_of_the_small(load: Load, *, is_beside: bool) -> float:
    """Crawl until the last page of the small hosts has been answered."""
    options = SchedulerOptions(
        shards=SHARDS,
        user_agent="Strider/1",
        lease_seconds=30,
        in_flight=load.in_flight // SHARDS,
        queue_limits=QueueLimits(entries_per_group=load.large // 10),
    )
    world = SimulatedWorld(
        a_web(load, is_beside=is_beside), spec=replace(SPEC, delay_seconds=0.5), options=options
    )
    await world.begin()
    scheduler = world.start()
    left = {url for url in world.web.pages if "small" in url}
    while not left <= world.web.tries.keys():
        world.pipeline.check()
        assert world.clock.monotonic() < 10_000
        await world.clock.sleep(0.5)
    took = max(visit.ended for visit in world.web.log if "small" in visit.url)
    await scheduler.kill()
    return took


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(Load(hosts=45, large=2_000, in_flight=30), id="short"),
        pytest.param(Load(hosts=1_000, large=100_000, in_flight=300), id="long", marks=LONG),
    ],
)
def test_small_hosts_are_crawled_as_fast_beside_a_huge_one(load: Load) -> None:
    """Fewer requests than hosts may be under way: the run with most entries could take most of the places."""
    alone: float = simulate(seconds_of_the_small(load, is_beside=False))
    beside: float = simulate(seconds_of_the_small(load, is_beside=True))

    assert beside <= alone * 1.1 + 2
