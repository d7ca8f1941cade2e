"""A flood of one run on very many hosts does not slow another run down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from strider.messaging.inprocess import simulate
from strider.scheduler.options import SchedulerOptions

from .pipeline import LINKS_PER_MESSAGE, SHARDS
from .web import Host, Page, Web
from .world import SimulatedWorld

FLOOD = "raw.flood"
HOSTS = 12
PAGES = 25
"""Of each host of the other run."""
IN_FLIGHT = 40
"""Of each shard: fewer than the flood has hosts there, more than twice what the other run needs."""


@dataclass(frozen=True)
class Flood:
    """Seeds of one raw run, all of high priority."""

    hosts: int
    seeds: int

    def urls(self) -> list[str]:
        return [f"http://www.flood{n % self.hosts}.test/{n // self.hosts}" for n in range(self.seeds)]


class AnyPage(dict[str, Page]):
    """A site on which every page exists."""

    def __missing__(self, url: str) -> Page:
        return Page(url)


def own_hosts() -> list[str]:
    return [f"www.own{number}.test" for number in range(HOSTS)]


async def crawl(flood: Flood | None, *, priority: int) -> tuple[float, SimulatedWorld]:
    """Return the seconds from the first to the last page of the run, which begins after the flood."""
    names = [*own_hosts(), *(f"www.flood{n}.test" for n in range(flood.hosts if flood else 0))]
    web = Web({name: Host(name, "missing") for name in names}, AnyPage(), ())
    options = SchedulerOptions(shards=SHARDS, user_agent="Strider/1", in_flight=IN_FLIGHT)
    world = SimulatedWorld(web, options=options)
    await world.begin()
    scheduler = world.start()
    if flood is not None:
        raw = {"from_job_ids": (FLOOD,), "from_execution_ids": (FLOOD,)}
        urls = flood.urls()
        for first in range(0, len(urls), LINKS_PER_MESSAGE):
            await world.pipeline.discover(
                urls[first : first + LINKS_PER_MESSAGE], via="seed", offset=first, **raw
            )
        await world.clock.sleep(20)
    for page in range(PAGES):
        urls = [f"http://{host}/{page}" for host in own_hosts()]
        priorities = {"priorities": (priority,)}
        for url in urls:
            await world.pipeline.discover([url], page=f"http://{own_hosts()[0]}/", **priorities)
    await world.until_complete(scheduler, seconds=5_000)
    await scheduler.kill()
    own = [visit for visit in world.web.log if visit.host in own_hosts() and "robots" not in visit.url]
    assert len(own) == HOSTS * PAGES
    return max(visit.ended for visit in own) - min(visit.began for visit in own), world


@pytest.mark.parametrize("priority", [3, 0], ids=["high", "discovery"])
@pytest.mark.parametrize(
    "flood",
    [
        pytest.param(Flood(hosts=300, seeds=6_000), id="short"),
        pytest.param(
            Flood(hosts=5_000, seeds=100_000), id="long", marks=[pytest.mark.slow, pytest.mark.timeout(3_600)]
        ),
    ],
)
def test_a_flood_on_other_hosts_leaves_a_run_its_pace(
    flood: Flood, priority: int, record_property: Callable[[str, object], None]
) -> None:
    alone, _ = simulate(crawl(None, priority=priority))
    flooded, world = simulate(crawl(flood, priority=priority))

    share = sum(visit.host.startswith("www.flood") for visit in world.web.log) / len(world.web.log)
    record_property("seconds alone and beside the flood", (round(alone, 1), round(flooded, 1)))
    assert flooded <= alone * 1.1
    assert share > 0.3  # the flood has what the run leaves
