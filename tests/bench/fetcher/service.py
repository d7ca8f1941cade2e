"""What the fetcher costs as it is deployed: requests from Kafka, leases in Redis, pages to Kafka.

The process is looked at from outside, in turn with our bare transport on the same server and pages; what
lies between the two is what the design sets a bar to. Once all requests wait already, as behind a
busy scheduler, and once they trickle in at the pace of a crawl, which makes every batch a small one.
"""

from __future__ import annotations

import random
import statistics
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import uvloop

from strider.contracts.generated.topics import FETCHES_COMPLETED
from strider.testing.stack import RunningServer, start_valkey
from tests.bench.measure import Row
from tests.integration.fetcher.leases import SHARDS
from tests.integration.fetcher.service.processes import FetcherProcesses, FetcherTopics
from tests.processes.broker import Broker
from tests.processes.services import Service
from tests.processes.waiting import until

from . import client

HOSTS: Final = 100
PAGE_BYTES: Final = 8_000
"""About what a page of 30 KB takes once it is packed."""
PAGES_PER_SECOND: Final = 200
BAR_US: Final = 300.0
ROUND_SECONDS: Final = 120.0


class Bench:
    """A fetcher with everything before and behind it."""

    def __init__(self, service: Service, ring: FetcherTopics, witness: Broker, *, port: int) -> None:
        self._service = service
        self._ring = ring
        self._witness = witness
        self._port = port
        self._number = 0

    async def ready(self, count: int) -> None:
        """Wait for the service, and have it ask for a first time: names, connections, what is loaded late."""
        await self._witness.open(FETCHES_COMPLETED)
        await self._service.until_ready()
        await self.cost(count)

    async def cost(self, count: int, *, per_second: float = 0.0) -> float:
        """Ask for so many pages; gives microseconds of the process's CPU for each."""
        urls = [
            f"http://h{number % HOSTS}.localhost:{self._port}/{self._number + number}"
            for number in range(count)
        ]
        self._number += count
        wanted = await self._ring.lease(*urls)
        assert len(wanted) == count
        random.Random(count).shuffle(wanted)  # they come shard by shard, and go to all shards at once
        ends_at, began = await self._ends() + count, await self._cpu_seconds()
        await self._ring.publish(*wanted, per_second=per_second)

        async def is_told() -> bool:
            return await self._ends() >= ends_at

        await until(is_told, what=f"{count} outcomes", tell=self._service.last_words, seconds=ROUND_SECONDS)
        return (await self._cpu_seconds() - began) / count * 1e6

    async def close(self) -> None:
        """Close the connections."""
        await self._witness.close()
        await self._ring.close()

    async def _ends(self) -> int:
        return sum((await self._witness.ends(FETCHES_COMPLETED)).values())

    async def _cpu_seconds(self) -> float:
        return await self._service.metric("process_cpu_seconds_total")


def measure(kafka: RunningServer, place: Path, *, rounds: int, short: bool) -> list[Row]:
    """All rows of this file."""
    folder = place / "fetch-service"
    folder.mkdir()
    with ExitStack() as held:
        port = held.enter_context(client.serving(PAGE_BYTES))
        redis = start_valkey(place / "fetch-redis")
        held.callback(redis.close)
        fetchers = FetcherProcesses(folder, kafka=kafka.address, redis=redis.address)
        held.callback(fetchers.close)
        service = fetchers.start(FETCHER_CONCURRENCY=str(HOSTS))
        found = uvloop.run(
            _rounds(service, kafka.address, redis.address, port=port, rounds=rounds, short=short)
        )
    waiting, trickling, bare = (statistics.median(each) for each in zip(*found, strict=True))
    name = f"at {HOSTS} connections, pages of {PAGE_BYTES // 1000} KB as sent"
    return [
        Row(f"fetch: our transport {name}", bare, "µs a page", None),
        Row(
            "fetch: the service, Avro in, Kafka out, beyond our transport",
            waiting - bare,
            "µs CPU a page",
            BAR_US,
            detail=f"{waiting:.0f} µs in all",
        ),
        Row(
            f"fetch: the same at {PAGES_PER_SECOND} pages a second",
            trickling - bare,
            "µs CPU a page",
            None,
            detail=f"{trickling:.0f} µs in all",
        ),
    ]


async def _rounds(
    service: Service, kafka: str, redis: str, *, port: int, rounds: int, short: bool
) -> list[tuple[float, float, float]]:
    """Give the costs of a page: all waiting, trickling in, by the transport alone."""
    count, pace = 1_000 if short else 3_000, PAGES_PER_SECOND
    ring = FetcherTopics(kafka=kafka, redis=redis, max_in_flight=20_000)
    bench = Bench(service, ring, Broker(kafka, shards=SHARDS), port=port)
    try:
        await bench.ready(count)
        return [
            (
                await bench.cost(count),
                await bench.cost(count // 3, per_second=pace),
                await client.bare_cost(f"http://127.0.0.1:{port}/a", connections=HOSTS, count=count) * 1e6,
            )
            for _ in range(rounds)
        ]
    finally:
        await bench.close()
