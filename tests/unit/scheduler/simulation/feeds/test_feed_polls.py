"""Feeds are polled by themselves, in a run of their own, while the run that found them ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FETCH_REQUESTS, FRONTIER, JOB_COMMANDS
from strider.contracts.seed_names import feed_run_of
from strider.messaging.effects import Publish
from strider.messaging.inprocess import simulate
from strider.scheduler.core.entries.feed_polling import FeedPolling
from strider.scheduler.options import SchedulerOptions
from tests.unit.scheduler.simulation.commands import a_command
from tests.unit.scheduler.simulation.pipeline import SHARDS
from tests.unit.scheduler.simulation.web import Feed, Host, Page, Web
from tests.unit.scheduler.simulation.world import SPEC, SimulatedWorld

SITE = "www.site.test"
HOME = f"http://{SITE}/"
FEED = f"{HOME}feed.xml"
NEWS = [f"{HOME}news/{number}" for number in range(4)]
POLL_SECONDS = 120
RUN = feed_run_of("job")


def a_world(*, polls: int = POLL_SECONDS, starts: tuple[str, ...] = (HOME,), **spec: Any) -> SimulatedWorld:
    """A site whose front page names a feed of two news, one of which it links to as well."""
    pages = {url: Page(url) for url in NEWS} | {HOME: Page(HOME, links=(NEWS[0],), feeds=(FEED,))}
    web = Web({SITE: Host(SITE)}, pages, starts, feeds={FEED: Feed(FEED, NEWS[:2])})
    return SimulatedWorld(web, options=options(polls), spec=replace(SPEC, **spec))


def options(polls: int) -> SchedulerOptions:
    return SchedulerOptions(shards=SHARDS, user_agent="Strider/1", polling=FeedPolling(polls))


def visits(world: SimulatedWorld, url: str = FEED) -> list[float]:
    return [visit.began for visit in world.web.log if visit.url == url]


async def until_visited(world: SimulatedWorld, times: int, url: str = FEED) -> None:
    ends_at = world.clock.monotonic() + 20_000
    while len(visits(world, url)) < times:
        world.pipeline.check()
        assert world.clock.monotonic() < ends_at, f"{url} was requested {visits(world, url)}"
        await asyncio.sleep(10)
    await asyncio.sleep(10)  # its page is settled


def last_record(world: SimulatedWorld, url: str = FEED) -> EntryRecorded:
    return [each for each in world.published(FRONTIER) if each.url == url][-1]


def waits(world: SimulatedWorld) -> list[int]:
    """Return the intervals between two polls, in intervals."""
    return [round((after - before) / POLL_SECONDS) for before, after in pairwise(visits(world))]


@pytest.mark.req("S1.2.23", part="feeds that a page names are polled by themselves")
@pytest.mark.parametrize("is_lost", [pytest.param(False, id="warm"), pytest.param(True, id="rebuilt")])
def test_a_found_feed_is_polled_after_its_run_has_ended(is_lost: bool) -> None:
    """Its interval doubles while nothing changes, over a restart; a new item is fetched, once."""

    async def scenario() -> None:
        world = a_world()
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler, seconds=400)
        await until_visited(world, 3)
        await scheduler.kill()
        if is_lost:
            world.lose_frontier()
        last = world.start()
        world.web.feeds[FEED].items.append(NEWS[2])
        await until_visited(world, 5)
        await last.stop()

        assert waits(world) == [1, 2, 4, 1]
        assert {url: len(visits(world, url)) for url in (HOME, *NEWS)} == dict.fromkeys(
            (HOME, *NEWS[:3]), 1
        ) | {NEWS[3]: 0}
        etags = [each.etag for each in world.published(FETCH_REQUESTS) if each.url == FEED]
        assert etags == ["", '"2"', '"2"', '"2"', '"3"']
        runs = {each.url: each.execution_id for each in world.published(FRONTIER) if each.job_id == "job"}
        assert runs == {HOME: "run", NEWS[0]: runs[NEWS[0]], FEED: RUN, NEWS[1]: RUN, NEWS[2]: RUN}

    simulate(scenario())


@pytest.mark.req("S1.15.9", part="found, and not polled")
@pytest.mark.req("S1.14.13", part="discovery alone fetches no feed")
@pytest.mark.parametrize("spec", [{}, {"feed_poll_seconds": 0}], ids=["by-default", "off-in-the-spec"])
def test_a_found_feed_that_is_not_polled_is_recorded_and_not_fetched(spec: Any) -> None:
    async def scenario() -> None:
        world = a_world(polls=POLL_SECONDS if spec else 0, **spec)
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler)
        await scheduler.stop()

        assert visits(world) == []
        assert world.reasons()[FEED] == "feed_not_polled"
        assert len(visits(world, NEWS[0])) == 1

    simulate(scenario())


@pytest.mark.req("S1.14.13", part="without polling, a crawl that uses feeds reads them once")
def test_a_run_that_uses_feeds_reads_a_feed_once_without_polling() -> None:
    async def scenario() -> None:
        world = a_world(polls=0, use_feeds=True)
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler)
        await asyncio.sleep(10 * POLL_SECONDS)
        await scheduler.stop()

        assert (len(visits(world)), len(visits(world, NEWS[1]))) == (1, 1)
        assert (last_record(world).state, last_record(world).execution_id) == ("completed", "run")

    simulate(scenario())


@pytest.mark.req("S1.15.9", part="polled, and not found: a seed names the feed")
def test_a_named_feed_is_polled_and_a_later_seed_brings_the_next_poll() -> None:
    async def scenario() -> None:
        world = a_world(polls=0, starts=(), feed_poll_seconds=POLL_SECONDS)
        await world.begin()
        scheduler = world.start()
        await world.pipeline.submit(FEED, kind="feed")
        await until_visited(world, 2)
        await world.pipeline.submit(FEED, kind="feed")
        await asyncio.sleep(60)
        await scheduler.stop()

        first, second, third = visits(world)
        assert second - first == pytest.approx(POLL_SECONDS, abs=20)
        assert third - second < 40
        assert [len(visits(world, url)) for url in NEWS] == [1, 1, 0, 0]

    simulate(scenario())


@pytest.mark.parametrize(
    ("how", "state", "reason"),
    [
        pytest.param("page", "completed", "not_a_feed", id="html"),
        pytest.param("gone", "failed", "not_found", id="410"),
    ],
)
def test_what_is_no_feed_any_more_is_not_polled(how: str, state: str, reason: str) -> None:
    async def scenario() -> None:
        world = a_world()
        await world.begin()
        scheduler = world.start()
        await until_visited(world, 2)
        world.web.feeds[FEED].how = how
        world.web.feeds[FEED].items.append(NEWS[2])
        await until_visited(world, 3)
        await asyncio.sleep(20 * POLL_SECONDS)
        await scheduler.stop()

        record = last_record(world)
        assert (record.state, record.reason, len(visits(world))) == (state, reason, 3)

    simulate(scenario())


def test_polls_end_where_the_switch_is_turned_off() -> None:
    """The feed that waits is closed, and not requested once more; found again, it is polled again."""

    async def scenario() -> None:
        world = a_world()
        await world.begin()
        scheduler = world.start()
        await until_visited(world, 2)
        await scheduler.stop()
        world.options = options(0)
        without = world.start()
        await asyncio.sleep(10 * POLL_SECONDS)
        await without.stop()
        closed = last_record(world)
        assert (closed.state, closed.reason, len(visits(world))) == ("failed", "feed_not_polled", 2)
        world.options = options(POLL_SECONDS)
        again = world.start()
        await world.pipeline.submit(HOME)
        await until_visited(world, 3)
        await again.stop()

    simulate(scenario())


@pytest.mark.parametrize("run", [RUN, "run"], ids=["the-run-of-feeds", "the-run-that-finds-them"])
def test_a_cancelled_run_polls_no_feeds(run: str) -> None:
    async def scenario() -> None:
        world = a_world()
        await world.begin()
        command = a_command("cancel", at_ms=1, job_id="", execution_id=run)
        if run == "run":
            await world.pipeline.publisher.publish([Publish(JOB_COMMANDS, command)])
        scheduler = world.start()
        if run == RUN:
            await until_visited(world, 1)
            await world.pipeline.publisher.publish([Publish(JOB_COMMANDS, command)])
        await asyncio.sleep(10 * POLL_SECONDS)
        await scheduler.stop()

        assert len(visits(world)) == (1 if run == RUN else 0)

    simulate(scenario())
