"""Retention deletes what is over and nothing else, whatever is killed meanwhile."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from strider.contracts.generated.events import EntryRecorded, JobEvent
from strider.contracts.generated.topics import FRONTIER, HOSTS, JOB_COMMANDS
from strider.messaging.effects import Publish
from strider.messaging.inprocess import simulate
from tests.unit.scheduler.simulation.checks import run_to_end
from tests.unit.scheduler.simulation.pipeline import key_of_url
from tests.unit.scheduler.simulation.specs.test_budgets import a_wide_site
from tests.unit.scheduler.simulation.web import Host, Page, Web, a_web
from tests.unit.scheduler.simulation.world import SimulatedWorld

KEEP_SECONDS = 400.0


def tidy(world: SimulatedWorld, *, keep_seconds: float = KEEP_SECONDS) -> SimulatedWorld:
    """Have shards clean once a minute."""
    world.options = replace(
        world.options,
        retention_interval_seconds=60.0,
        keep_closed_seconds=keep_seconds,
        keep_hosts_seconds=keep_seconds,
    )
    return world


def known_hosts(world: SimulatedWorld) -> set[str]:
    """Give the groups and origins that the log still has a record of."""
    last = {
        record.key.decode(): record.value is not None
        for log in world.broker.topic(HOSTS.name).partitions
        for record in log.records
        if record.key is not None
    }
    return {name for name, is_kept in last.items() if is_kept}


def last_words(world: SimulatedWorld) -> dict[str, EntryRecorded | None]:
    """Give the last record of each entry by URL key; None is a tombstone."""
    last: dict[str, EntryRecorded | None] = {}
    for log in world.broker.topic(FRONTIER.name).partitions:
        for record in log.records:
            if record.key is not None and b"/" in record.key:
                key = record.key.decode().rpartition("/")[2]
                last[key] = world.codec.decode(FRONTIER, record.value) if record.value else None
    return last


def site() -> Web:
    """One host does not respond for a day: its page is open for long."""
    web = a_wide_site()
    start, shut = web.starts[0], "http://www.shut.test/"
    pages = web.pages | {shut: Page(shut, "shut")}
    pages[start] = Page(start, links=(*web.pages[start].links, shut))
    return Web(web.hosts | {"www.shut.test": Host("www.shut.test")}, pages, web.starts)


@pytest.mark.fault("A6", part="hosts without open entries are forgotten")
@pytest.mark.parametrize("kills", [0, 5])
def test_what_was_closed_long_ago_is_forgotten_and_what_is_open_is_not(kills: int) -> None:
    """Also where the process that cleans is killed again and again, and the working set is lost at last."""

    async def scenario() -> SimulatedWorld:
        spec = replace(SimulatedWorld(site()).spec, host_patience_seconds=90_000)
        world = tidy(SimulatedWorld(site(), spec=spec, seed=kills + 1))
        await world.begin()
        chance = random.Random(kills)
        for _ in range(kills):
            scheduler = world.start()
            await asyncio.sleep(chance.uniform(20, 150))
            await scheduler.kill()
        scheduler = world.start()
        await asyncio.sleep(2_000)
        assert [count.open for count in (await scheduler.scheduler.counts("run")).values() if count.open] == [
            1
        ]
        await scheduler.kill()
        world.lose_frontier()
        scheduler = world.start()
        await asyncio.sleep(100)
        assert sum(count.open for count in (await scheduler.scheduler.counts("run")).values()) == 1
        await scheduler.stop()
        return world

    world = simulate(scenario())

    kept = [entry.url for entry in last_words(world).values() if entry is not None]
    assert kept == ["http://www.shut.test/"]
    assert known_hosts(world) <= {"www.shut.test", "http://www.shut.test"}
    assert "http://www.shut.test" in known_hosts(world)
    asked = {url: tries for url, tries in world.web.tries.items() if not url.endswith("/robots.txt")}
    assert set(asked.values()) == {1}


def test_what_was_closed_lately_stays() -> None:
    """Its URL is known, and stays known where the working set is lost."""

    async def scenario() -> SimulatedWorld:
        world = tidy(SimulatedWorld(a_wide_site()), keep_seconds=10_000)
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler)
        await asyncio.sleep(300)
        await scheduler.stop()
        return world

    world = simulate(scenario())

    assert all(entry is not None for entry in last_words(world).values())
    assert {key_of_url(url) for url in world.web.tries if "robots" not in url} <= set(last_words(world))


@pytest.mark.parametrize("seed", range(3))
def test_a_crawl_is_whole_while_it_is_cleaned(seed: int) -> None:
    """Entries that come again while their graves are dug: each seed is crawled, none twice."""

    async def scenario() -> None:
        world = tidy(
            SimulatedWorld(a_web(seed, hosts=3, pages=6), seed=seed, latency_seconds=0.5), keep_seconds=1_000
        )
        world.options = replace(world.options, retention_interval_seconds=2.0)
        await world.begin()
        await run_to_end(world, world.start())

    simulate(scenario())


def test_seeds_come_again_while_their_graves_are_dug() -> None:
    """Nothing is kept here for longer than a moment; a tombstone must never lie on what was opened again."""

    async def scenario() -> SimulatedWorld:
        start = "http://www.again.test/"
        web = Web({"www.again.test": Host("www.again.test")}, {start: Page(start)}, (start,))
        world = tidy(SimulatedWorld(web, latency_seconds=0.3), keep_seconds=0.5)
        world.options = replace(world.options, retention_interval_seconds=0.7, delay_seconds=0.1)
        await world.begin()
        scheduler = world.start()
        for number in range(40):
            await asyncio.sleep(8 + number / 13)
            await world.pipeline.submit(start)
        await world.until_complete(scheduler)
        await asyncio.sleep(10)
        await scheduler.stop()
        return world

    world = simulate(scenario())

    assert world.web.tries["http://www.again.test/"] == 41
    assert set(last_words(world).values()) == {None}


def test_a_host_that_an_operator_blocks_is_not_forgotten() -> None:
    """Also after a restart: the command itself may have left its topic by then."""

    async def scenario() -> SimulatedWorld:
        world = tidy(SimulatedWorld(a_wide_site()))
        await world.begin()
        scheduler = world.start()
        block = JobEvent("b", "block_host", True, 1, "somebody", group="h1.test", reason="rude")
        await world.pipeline.publisher.publish([Publish(JOB_COMMANDS, block)])
        await world.until_complete(scheduler)
        await asyncio.sleep(1_000)
        await scheduler.stop()
        return world

    world = simulate(scenario())

    assert known_hosts(world) == {"h1.test"}


def test_runs_that_are_over_leave_the_working_set() -> None:
    """A second run of the job is open, and stays."""

    async def scenario() -> None:
        world = tidy(SimulatedWorld(a_wide_site()))
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler)
        before = await scheduler.scheduler.counts("run")
        await asyncio.sleep(200)
        after = await scheduler.scheduler.counts("run")
        await scheduler.stop()
        assert any(count.accepted for count in before.values())
        assert not any(count.accepted for count in after.values())

    simulate(scenario())


def test_of_a_dropped_job_nothing_is_left() -> None:
    """What waits is closed with that reason, and the next crawl of its URLs is the first."""

    async def scenario() -> SimulatedWorld:
        world = tidy(SimulatedWorld(site()), keep_seconds=90_000)
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(20)
        wish = JobEvent("d", "drop", True, 1, "somebody", job_id="job", reason="no longer ours")
        await world.pipeline.publisher.publish([Publish(JOB_COMMANDS, wish)])
        await asyncio.sleep(200)
        assert sum(count.open for count in (await scheduler.scheduler.counts("run")).values()) == 0
        await scheduler.stop()
        return world

    world = simulate(scenario())

    assert set(last_words(world).values()) == {None}
    assert "dropped" in set(world.reasons().values())


async def counted_before_and_after_a_loss(web: Web, *, seed: int = 1) -> tuple[int, int, int]:
    """See a run through and lose the working set; give what was accepted before and after, and entries."""
    world = SimulatedWorld(web, seed=seed)
    await world.begin()
    accepted = []
    for _ in range(2):
        scheduler = world.start()
        await world.until_complete(scheduler)
        counts = await scheduler.scheduler.counts("run")
        accepted.append(sum(count.accepted for count in counts.values()))
        await scheduler.kill()
        world.lose_frontier()
    return accepted[0], accepted[1], len(last_words(world))


def test_a_run_that_is_over_is_counted_as_before_when_the_working_set_is_lost() -> None:
    """Nothing of it is open: only records of what is closed say that it was."""
    before, after, entries = simulate(counted_before_and_after_a_loss(a_wide_site()))

    assert before == after == entries > 1


@pytest.mark.parametrize("seed", range(3))
def test_what_was_accepted_several_times_is_counted_once_by_the_log(seed: int) -> None:
    """It was closed untried, as hosts that are down have it, and a link to it counted as new."""
    web = a_web(seed, hosts=3, pages=6)

    before, after, entries = simulate(counted_before_and_after_a_loss(web, seed=seed))

    assert before >= after == entries > 1
