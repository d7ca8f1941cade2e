"""A crawl by the scheduler's process on a real Kafka and a real Valkey: kills, and a lost working set."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from strider.frontier.redis.inspection import RunSnapshot, ShardInspector
from strider.scheduler import log_events

from .scheduler_process import DELAY_SECONDS, SHARDS, CrawlOnServers, SchedulerProcess

TOLERANCE_SECONDS = 0.15
"""The test's clock starts after the mark that the delay is counted from; on a busy machine not a little."""

Start = Callable[[], SchedulerProcess]


@pytest.fixture
def start(kafka_bootstrap: str, redis_url: str, tmp_path: Path) -> Iterator[Start]:
    running: list[SchedulerProcess] = []

    def launch() -> SchedulerProcess:
        running.append(
            SchedulerProcess(kafka_bootstrap, redis_url, tmp_path / f"scheduler-{len(running)}.log")
        )
        return running[-1]

    yield launch
    for process in running:
        process.close()


def check(place: CrawlOnServers) -> None:
    """Every URL asked for as often as it had to be; robots first, one at a time, and the delay kept."""
    wanted, denied = place.web.expected()
    asked = {url: n for url, n in place.web.tries.items() if not url.endswith("/robots.txt")}
    assert asked == wanted
    assert not denied & set(asked)
    for host in place.web.hosts.values():
        visits = sorted(
            (each for each in place.web.log if each.host == host.name), key=lambda each: each.began
        )
        assert not visits or visits[0].url.endswith("/robots.txt")
        for before, after in pairwise(visits):
            assert after.began >= before.ended - TOLERANCE_SECONDS
            if host.robots != "gone":
                assert after.began - before.began >= DELAY_SECONDS - TOLERANCE_SECONDS


async def until_asked(place: CrawlOnServers, number: int) -> None:
    async def is_asked() -> bool:
        return sum(place.web.tries.values()) >= number

    await place.until(is_asked)


async def test_a_crawl_is_orderly_and_ends(place: CrawlOnServers, start: Start) -> None:
    scheduler = start()

    entries = await place.until_closed()

    check(place)
    reasons = await place.reasons()
    _, denied = place.web.expected()
    assert denied <= set(reasons)
    assert {entry.state for entry in entries} == {"completed", "failed"}
    assert scheduler.end(signal.SIGTERM) == 0
    assert scheduler.log_lines("Message dead-lettered") == []


@pytest.mark.fault("F1", part="a scheduler under load")
@pytest.mark.req("S0.1.4", "S1.2.25")
@pytest.mark.req("S0.1.2", part="nothing is asked twice over restarts of the services; other keys")
@pytest.mark.req("S5.2.1", part="the delay between requests, over a kill, a takeover and an emptied Redis")
async def test_kill_9_costs_no_fetch_and_no_url(place: CrawlOnServers, start: Start) -> None:
    """The leases live on in Valkey: the next owner of the shards continues where it stopped."""
    chance = random.Random(1)
    for number in (15, 40):
        scheduler = start()
        await until_asked(place, number)
        await asyncio.sleep(chance.uniform(0, 0.3))  # somewhere in the middle of things
        scheduler.end(signal.SIGKILL)
    start()

    await place.until_closed()

    check(place)


async def test_budgets_hold_through_kills(kafka_bootstrap: str, redis_url: str, start: Start) -> None:
    """Of the run and of each host, counted again by the next owner; and in the end no entry waits.

    How much is left over depends on how many pages were settled whose outcome the killed one had not read.
    """
    place = CrawlOnServers(kafka_bootstrap, redis_url, seed=3)
    place.spec = replace(place.spec, max_pages_per_host=3, max_bytes=12_500, max_body_bytes=1_500)
    await place.begin()
    scheduler = start()
    await until_asked(place, 5)
    scheduler.end(signal.SIGKILL)
    scheduler = start()
    await until_asked(place, 7)
    scheduler.end(signal.SIGKILL)
    start()

    await place.until(lambda: is_quiet(place))

    pages = [visit for visit in place.web.log if visit.outcome == "fetched" and visit.size]
    assert max(Counter(visit.host for visit in pages).values()) <= 3
    assert 6_000 < sum(visit.size for visit in place.web.log) <= 12_500
    assert "budget" in (await place.reasons()).values()
    await place.close()


async def is_quiet(place: CrawlOnServers) -> bool:
    """Say whether all is closed, and stays so for longer than anything takes here."""
    asked = len(place.web.log)
    for _ in range(2):
        entries = await place.entries()
        if not entries or any(not entry.closed_at_ms for entry in entries):
            return False
        await place.clock.sleep(4)
    return len(place.web.log) == asked and len(await place.entries()) == len(entries)


@pytest.mark.slow
async def test_a_scheduler_that_was_down_for_long_reads_outcomes_before_it_retries(
    place: CrawlOnServers, start: Start
) -> None:
    """Requests ended, and their leases ran out, with the outcomes unread: they count all the same."""
    first = start()
    await until_asked(place, 15)
    first.end(signal.SIGKILL)
    killed_at = await place.redis.command("TIME")

    async def have_run_out() -> bool:
        now = await place.redis.command("TIME")
        return int(now[0]) - int(killed_at[0]) > 3 + 5 + 3  # deadline, margin, and the grace of its requests

    await place.until(have_run_out)
    start()

    await place.until_closed()

    check(place)


@pytest.mark.req("S3.20.19", part="rebuilt from the log, at once; not from PostgreSQL in batches")
@pytest.mark.req("S5.1.2", part="frontier and hosts are rebuilt")
@pytest.mark.req("S5.2.1", part="the delay between requests, over a kill, a takeover and an emptied Redis")
@pytest.mark.req("S5.2.10", part="Redis is rebuilt, by the scheduler itself")
async def test_an_emptied_valkey_is_rebuilt_from_the_log(place: CrawlOnServers, start: Start) -> None:
    """While it runs: what was in flight is waited for, then it continues; nothing is asked for twice."""
    scheduler = start()
    await until_asked(place, 25)
    await place.redis.command("FLUSHALL")

    await place.until_closed()

    check(place)
    assert len(scheduler.log_lines(log_events.SHARD_REBUILT.text)) > 12


async def test_a_run_that_is_over_is_shown_again_after_valkey_was_emptied(
    place: CrawlOnServers, start: Start
) -> None:
    """With its job, and as many entries as the log has: people ask what became of it."""
    start()
    entries = await place.until_closed()
    await place.redis.command("FLUSHALL")

    async def shown() -> RunSnapshot | None:
        glance = await ShardInspector(place.redis).runs(range(SHARDS))
        return None if glance.unready_shards else glance.runs[f"run-{place.name}"]

    run = await place.until(shown)

    assert (run.job_id, run.open, run.accepted) == (place.name, 0, len(entries))
