"""A flood of raw seeds without a job: each costs what a link costs, and delays no other run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import pytest

from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    JOB_EVENTS,
    LINKS_DISCOVERED,
    SCHEDULER_DLQ,
    SEEDS_SUBMITTED,
    URLS_DECIDED,
)
from strider.contracts.ids import ADHOC_JOB_ID
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.frontier.models import QueueLimits, RunEntryCounts
from strider.link_ingestion.options import IngestionPolicy
from strider.link_ingestion.topology import SEEDS_GROUP, SeedIngestion
from strider.messaging.effects import Publish
from strider.messaging.inprocess import InProcessBus, simulate
from strider.scheduler.options import SchedulerOptions

from .pipeline import LINKS_PER_MESSAGE, SHARDS
from .web import Host, Page, Web
from .world import SchedulerInstance, SimulatedWorld

SITE = "www.small.test"
HOME = f"http://{SITE}/"
PAGES = 20
ROOM = QueueLimits(entries_per_group=20)
QUEUED_A_HOST = 2 * ROOM.entries_per_group
"""What is of high priority, as seeds are, may have twice the room."""
SPOKEN = 5_000
"""Seeds that one producer hands over together."""

SHARED_SECONDS = 10
"""What a flood may cost the proof of another run: they share a log, which has to be read to its end."""


@dataclass(frozen=True)
class Flood:
    """Seeds of many hosts, in an order in which each host comes again and again."""

    hosts: int
    each: int

    @property
    def count(self) -> int:
        return self.hosts * self.each

    def urls(self, first: int) -> list[str]:
        numbers = range(first, min(first + SPOKEN, self.count))
        return [f"http://www.flood{n % self.hosts}.test/{n // self.hosts}" for n in numbers]


class EndlessPages(dict[str, Page]):
    """Pages of a site; what a flood asks for is there too, and has no links."""

    def __missing__(self, url: str) -> Page:
        return Page(url)


@dataclass
class Seen:
    """What was seen of a run beside a flood."""

    proof_seconds: float
    """From the answer to its last page until it was proven to be over."""
    visited: list[str]
    """Hosts in the order in which they were asked for pages, while the run was on."""
    counts: Counter[str]
    """Entries that were accepted, by execution."""
    most_queued: int
    said: dict[str, int]
    """Messages by topic."""


def a_world(flood: Flood) -> SimulatedWorld:
    urls = [f"{HOME}{number}" for number in range(PAGES)]
    pages = EndlessPages({url: Page(url) for url in urls} | {HOME: Page(HOME, links=tuple(urls))})
    hosts = {name: Host(name, "missing") for name in (SITE, *_names(flood))}
    options = SchedulerOptions(
        shards=SHARDS,
        user_agent="Strider/1",
        lease_seconds=30,
        queue_limits=ROOM,
        in_flight=flood.hosts // SHARDS // 2,
    )
    world = SimulatedWorld(Web(hosts, pages, (HOME,)), options=options)
    world.broker.declare_topic(SEEDS_SUBMITTED, shards=SHARDS)
    world.broker.start_group(SEEDS_GROUP, [SEEDS_SUBMITTED.name])
    return world


def take_seeds(world: SimulatedWorld) -> None:
    """Have link-ingestion read seeds, as it is."""
    specs = CrawlSpecCache(InProcessBus(world.broker), world.codec, clock=world.clock)
    intake = SeedIngestion(specs, policy=IngestionPolicy(SHARDS, is_closed=True), clock=world.clock)
    world.pipeline.spawn(world._loop(SEEDS_GROUP, intake.subscriptions(), sharded=False).run())


async def pour(world: SimulatedWorld, flood: Flood) -> None:
    for first in range(0, flood.count, SPOKEN):
        seeds = [Publish(SEEDS_SUBMITTED, SeedSubmitted(url)) for url in flood.urls(first)]
        await world.pipeline.publisher.publish(seeds)


async def watch(world: SimulatedWorld, scheduler: SchedulerInstance, seen: Seen) -> None:
    """Note how much is queued at most."""
    while True:
        sets = [shard for shard in scheduler.scheduler._shards.all() if shard.is_ready]
        seen.most_queued = max(seen.most_queued, sum([(await each.figures()).queued for each in sets]))
        await world.clock.sleep(0.5)


async def crawl(flood: Flood, *, is_flooded: bool) -> Seen:
    """Begin a small run, pour the flood; wait for the run's end, and until all of the flood is taken."""
    world = a_world(flood)
    await world.begin()
    take_seeds(world)
    scheduler = world.start()
    await world.clock.sleep(2)
    seen = Seen(0.0, [], Counter(), 0, {})
    watching = world.pipeline.spawn(watch(world, scheduler, seen))
    if is_flooded:
        await pour(world, flood)
    await world.until_complete(scheduler, seconds=10_000)
    seen.proof_seconds = world.clock.monotonic() - max(
        each.ended for each in world.web.log if each.host == SITE
    )
    seen.visited = [visit.host for visit in world.web.log if not visit.url.endswith("robots.txt")]
    while any((*world.broker.lag(SEEDS_GROUP).values(), *links_unread(world))):
        world.pipeline.check()
        await world.clock.sleep(1)
    watching.cancel()
    await note(world, scheduler, seen)
    await scheduler.kill()
    return seen


def links_unread(world: SimulatedWorld) -> list[int]:
    lag = world.broker.lag("scheduler")
    return [many for place, many in lag.items() if place.topic == LINKS_DISCOVERED.name]


async def note(world: SimulatedWorld, scheduler: SchedulerInstance, seen: Seen) -> None:
    for shard in range(SHARDS):
        epoch = scheduler.scheduler._shards.require(shard).epoch
        counts: dict[str, RunEntryCounts] = dict(await world.frontier.run_counts(shard, epoch))
        seen.counts.update({execution: count.accepted for execution, count in counts.items()})
    for topic in (CRAWL_SPECS, JOB_EVENTS, LINKS_DISCOVERED, SCHEDULER_DLQ, URLS_DECIDED):
        logs = world.broker.topic(topic.name).partitions
        seen.said[topic.name] = sum(log.end for log in logs)


@pytest.mark.parametrize(
    "flood",
    [
        pytest.param(Flood(hosts=200, each=100), id="short"),
        pytest.param(
            Flood(hosts=2_000, each=500), id="million", marks=[pytest.mark.slow, pytest.mark.timeout(7_200)]
        ),
    ],
)
def test_a_flood_of_raw_seeds_is_one_run_and_delays_no_other(flood: Flood) -> None:
    """Fewer requests may be under way than the flood has hosts, and its seeds are as urgent as any link."""
    alone: Seen = simulate(crawl(flood, is_flooded=False))
    flooded: Seen = simulate(crawl(flood, is_flooded=True))

    [adhoc] = flooded.counts.keys() - {"run"}
    assert adhoc.startswith(ADHOC_JOB_ID)
    assert flooded.counts == {"run": PAGES + 1, adhoc: flood.count}
    # One spec, and for each seed its share of a message: no decision about it is published.
    assert flooded.said[CRAWL_SPECS.name] == alone.said[CRAWL_SPECS.name] + 1
    assert flooded.said[LINKS_DISCOVERED.name] < flood.count / LINKS_PER_MESSAGE * 2 * SHARDS
    assert [flooded.said[topic.name] for topic in (JOB_EVENTS, SCHEDULER_DLQ, URLS_DECIDED)] == [0, 0, 0]
    assert flooded.most_queued <= flood.hosts * QUEUED_A_HOST + PAGES
    check_turns(flooded.visited)
    assert flooded.proof_seconds <= alone.proof_seconds + SHARED_SECONDS


def check_turns(visited: list[str]) -> None:
    """Between two pages of the run, no host of the flood had more than its own turn, and one under way."""
    turns = [at for at, host in enumerate(visited) if host == SITE]
    assert len(turns) == PAGES + 1
    for first, last in pairwise(turns):
        between = Counter(visited[first + 1 : last])
        assert max(between.values(), default=0) <= 2


def _names(flood: Flood) -> list[str]:
    return [f"www.flood{number}.test" for number in range(flood.hosts)]
