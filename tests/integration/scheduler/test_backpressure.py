"""Backpressure: nothing is released while the pipeline is behind."""

from __future__ import annotations

import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from strider.contracts.generated.topics import PAGES_FETCHED, TOPICS
from strider.runtime.observability import log_events
from strider.scheduler.core.release.backpressure import GATES
from tests.processes.broker import Broker

from .scheduler_process import SHARDS, CrawlOnServers, SchedulerProcess
from .test_process import check, until_asked

MOST = 60
UNREAD = 500
"""Pages that no parser has read."""


@pytest.fixture
async def broker(kafka_bootstrap: str, place: CrawlOnServers) -> AsyncIterator[Broker]:
    """Open once the topics are there; what other tests have left unread is passed over."""
    broker = Broker(kafka_bootstrap, shards=SHARDS)
    await broker.open(*(TOPICS[gate.topic] for gate in GATES))
    for gate in GATES:
        if gate.group not in {"fetcher", "scheduler"}:
            await broker.skip(gate.group, TOPICS[gate.topic])
    yield broker
    await broker.skip("parser", PAGES_FETCHED)
    await broker.close()


async def leave_unread(bootstrap: str, count: int) -> None:
    """Have the parser a backlog, as one that stands has."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    try:
        for number in range(count):
            await producer.send(PAGES_FETCHED.name, b"nobody reads this", partition=number % SHARDS)
        await producer.flush()
    finally:
        await producer.stop()


def waiting(process: SchedulerProcess, group: str) -> float:
    """Ask the scheduler how far behind it takes a group to be; 0 before it says."""
    heard = process.log_lines(log_events.HEALTH_SERVER_STARTED.text)
    if not heard:
        return 0.0
    with urllib.request.urlopen(heard[-1]["url"] + "/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    mine = [line for line in lines if line.startswith("strider_release_backlog{") and f'"{group}"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in mine)


@pytest.mark.req("S5.2.4")
async def test_a_parser_that_stands_stops_the_release_and_its_return_starts_it(
    place: CrawlOnServers, broker: Broker, tmp_path: Path
) -> None:
    """It is stopped in the middle of a crawl, and told of by a metric; nothing is lost."""
    log = tmp_path / "scheduler.log"
    process = SchedulerProcess(place.bootstrap, place.redis_url, log, SCHEDULER_RELEASE_LAG=str(MOST))
    try:
        await until_asked(place, 20)
        await leave_unread(place.bootstrap, UNREAD)

        async def is_told() -> bool:
            return waiting(process, "parser") >= UNREAD

        await place.until(is_told)
        seen = place.clock.monotonic()

        async def is_quiet() -> bool:
            return place.clock.monotonic() > seen + 4

        await place.until(is_quiet)
        # What had been released before the last count may still begin.
        late = [visit for visit in place.web.log if visit.began > seen + 2]
        await broker.skip("parser", PAGES_FETCHED)
        await place.until_closed()
    finally:
        process.close()

    assert late == []
    check(place)
