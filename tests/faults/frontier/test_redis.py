"""Whatever happens to Redis in the middle of a crawl, hosts are asked politely and nothing is lost.

Redis may lose what was written, come back older, reply late, in part, with an error or not at all, and its
clock may jump. What was in flight then may be requested again; nothing else is.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from strider.contracts import TOPICS
from strider.messaging.kafka import KafkaConnection
from strider.messaging.topics import apply_topics
from strider.storage.keys import FRONTIER_HEADER
from strider.testing.faulty_tcp_proxy import threaded_faulty_tcp_proxy
from strider.testing.site import SiteShape, serve_site
from strider.testing.stack import RunningServer, start_valkey
from strider.testing.temp_dirs import temp_server_directory
from tests.e2e.checks import LATE_SECONDS
from tests.faults.scene import SHORT, Scale
from tests.processes.waiting import until

from .scene import ANSWER_SECONDS, CONNECT_SECONDS, SHARDS, Crawl, Frontier

OUTAGE_SECONDS = 4.0
"""Longer than a mark may be old when its request begins: what begins after that was begun without one."""
HOUR_MS = 3_600_000
DECLARED = [topic for topic in TOPICS.values() if topic.profile != "example"]

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def frontier(broker_part: RunningServer) -> Iterator[Frontier]:
    with ExitStack() as opened:
        place = opened.enter_context(temp_server_directory())
        broker_part.start()
        asyncio.run(apply_topics(KafkaConnection((broker_part.address,)), DECLARED, shards=SHARDS))
        valkey = start_valkey(place / "redis")
        opened.callback(valkey.close)
        address = urlsplit(valkey.address)
        wire = opened.enter_context(threaded_faulty_tcp_proxy(address.hostname or "", address.port or 0))
        (place / "logs").mkdir()
        frontier = Frontier(broker_part.address, valkey, wire, place / "logs")
        opened.callback(frontier.close)
        asyncio.run(frontier.start_all())
        yield frontier


@pytest.fixture
async def crawl(
    frontier: Frontier, scale: Scale, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Crawl]:
    name = request.node.callspec.id
    shape = SiteShape(
        hosts=4, pages_per_host=4 + 2 * scale.rounds, latency_seconds=ANSWER_SECONDS, is_plain=scale == SHORT
    )
    with serve_site(7, shape, log=tmp_path / "access.log", name=f"{name}-") as site:
        crawl = Crawl(frontier, site, name)
        await crawl.begin()
        yield crawl


@dataclass(frozen=True, slots=True)
class Outage:
    """A time without Redis: nothing may begin in it, but for what had just been marked."""

    began: float
    healed: float


Fault = Callable[[Frontier, Crawl], Awaitable[Outage | None]]


async def _emptied(frontier: Frontier, _crawl: Crawl) -> None:
    await frontier.command("FLUSHALL")


async def _killed(frontier: Frontier, _crawl: Crawl) -> None:
    frontier.valkey.kill()
    await asyncio.to_thread(frontier.valkey.start)


async def _rolled_back(frontier: Frontier, crawl: Crawl) -> None:
    """Back to what it knew some requests ago: leases that have ended, clocks that have passed."""
    await _snapshot(frontier)
    await crawl.until_asked(more=4)
    await crawl.blow(instead=True)
    await _restart_older(frontier)


async def _rolled_back_without_owner(frontier: Frontier, crawl: Crawl) -> None:
    """No process is left that knows how far it was."""
    await _snapshot(frontier)
    await crawl.until_asked(more=4)
    await crawl.blow(instead=True)
    frontier.services["scheduler"].kill()
    await _restart_older(frontier)
    await frontier.start("scheduler").until_ready()


async def _snapshot(frontier: Frontier) -> None:
    shutil.rmtree(frontier.data.with_name("older"), ignore_errors=True)
    await asyncio.to_thread(shutil.copytree, frontier.data, frontier.data.with_name("older"))


async def _restart_older(frontier: Frontier) -> None:
    frontier.valkey.kill()
    shutil.rmtree(frontier.data)
    shutil.copytree(frontier.data.with_name("older"), frontier.data)
    await asyncio.to_thread(frontier.valkey.start)


async def _slow(frontier: Frontier, crawl: Crawl) -> None:
    frontier.wire.apply(lambda wire: setattr(wire, "delay_seconds", 0.5))
    await crawl.until_asked(more=4)
    frontier.wire.reset_faults()


async def _read_only(frontier: Frontier, _crawl: Crawl) -> Outage:
    began = time.monotonic()
    await frontier.command("REPLICAOF", "127.0.0.1", 1)
    await _out(frontier, began)
    await frontier.command("REPLICAOF", "NO", "ONE")
    return Outage(began, time.monotonic())


async def _full(frontier: Frontier, crawl: Crawl) -> None:
    """What is queued is released and settled all the same; what is found meanwhile waits to be taken in."""
    await frontier.command("CONFIG", "SET", "maxmemory", 1)
    await crawl.until_asked(more=2)
    await frontier.command("CONFIG", "SET", "maxmemory", 0)


async def _black_hole(frontier: Frontier, _crawl: Crawl) -> Outage:
    began = time.monotonic()
    frontier.wire.apply(lambda wire: setattr(wire, "drops_everything", True))
    await _out(frontier, began)
    healed = time.monotonic()
    frontier.wire.reset_faults()
    return Outage(began, healed)


async def _out(frontier: Frontier, began: float) -> None:
    await frontier.services["scheduler"].until_red("redis")
    await until(lambda: time.monotonic() > began + OUTAGE_SECONDS, what="the outage is over")


async def _torn(frontier: Frontier, crawl: Crawl) -> None:
    """Answers end in the middle: the commands were executed, and no client knows of it."""
    for _ in range(3):
        frontier.wire.apply(lambda wire: setattr(wire, "truncated_responses", 5))
        await crawl.until_asked(more=2)
    frontier.wire.reset_faults()


def _jumped(by_ms: int) -> Fault:
    """Set the clock: scripts go by what it shows and this number, so that changing it is the same."""

    async def jump(frontier: Frontier, _crawl: Crawl) -> None:
        for shard in range(SHARDS):
            await frontier.command("HINCRBY", FRONTIER_HEADER(shard), "offset", by_ms)

    return jump


FAULTS: list[Any] = [
    pytest.param(_emptied, id="emptied"),
    pytest.param(_killed, id="killed"),
    pytest.param(_rolled_back, id="rolled-back"),
    pytest.param(_rolled_back_without_owner, id="rolled-back-without-owner"),
    pytest.param(_slow, id="slow"),
    pytest.param(_read_only, id="read-only"),
    pytest.param(_full, id="full"),
    pytest.param(_black_hole, id="black-hole"),
    pytest.param(_torn, id="torn"),
    pytest.param(_jumped(HOUR_MS), id="clock-forwards"),
    pytest.param(_jumped(-HOUR_MS), id="clock-back"),
]


@pytest.mark.fault("F12", "F13")
@pytest.mark.fault("F20", part="the clock of Redis, under a crawl")
@pytest.mark.fault("F21", part="Redis does not answer, Kafka does")
@pytest.mark.req("S3.19.30")
@pytest.mark.req("S3.19.18", part="services release nothing meanwhile and go on by themselves")
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_crawl_survives_its_redis(
    frontier: Frontier, crawl: Crawl, scale: Scale, fault: Fault
) -> None:
    outages = []
    for _ in range(1 if scale == SHORT else 3):
        await crawl.blow()
        outages.append(await fault(frontier, crawl))
        await crawl.until_asked(more=2)

    await crawl.until_over()

    found = await crawl.findings()
    crawl.tell(f"Redis {crawl.job_id}", found)
    begun = [
        url
        for outage in outages
        if outage is not None
        for url in crawl.begun_between(outage.began + CONNECT_SECONDS + LATE_SECONDS, outage.healed)
    ]
    assert (found.lost, found.duplicates, found.astray) == ((), (), ())
    assert (found.hasty, found.overlaps) == ({}, 0), await crawl.story(found.hasty)
    assert found.refetched.total() <= found.in_flight, found.refetched
    assert found.unanswered > 0
    assert begun == []
    assert [name for name, each in frontier.services.items() if each.exit_code is not None] == []
