"""The service as a process, on a real broker and a real store: fetching, stopping, coming back."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from strider.contracts import Topic
from strider.contracts.book import SchemaBook
from strider.contracts.codec import Codec
from strider.contracts.generated.events import FetchRequested
from strider.contracts.generated.topics import (
    FETCH_REQUESTS,
    FETCHER_DLQ,
    FETCHES_COMPLETED,
    PAGES_FETCHED,
    SCHEMAS,
)
from strider.fetcher.topology import loop_settings
from strider.runtime.clocks import SystemClock
from strider.runtime.kafka import KafkaBus, KafkaConnection
from strider.runtime.ports import Outgoing, TopicPartition
from strider.runtime.tables import TableReader
from strider.runtime.topics import apply_topics
from strider.stores.frontier.redis_workingset import RedisWorkingSet
from strider.stores.migrations import upgrade
from strider.stores.postgres import Postgres, PostgresOptions
from strider.stores.proxies import ProxyRow, ProxyTable
from strider.stores.redis import RedisOptions, connect
from strider.stores.sealing import Seals, new_key
from strider.testing.hostile import Hostile, Reader, Writer, answer, running, says, silent
from strider.testing.proxies import TestProxy, proxying
from strider.testing.stack import Stack
from tests.faults.broker import Broker

from .leasing import SHARDS, Leasing

CODEC = Codec(SchemaBook.embedded())
DEADLINE_SECONDS = 60.0
TOPICS = (FETCH_REQUESTS, PAGES_FETCHED, FETCHES_COMPLETED, FETCHER_DLQ, SCHEMAS)


class Service:
    """One process of the fetcher."""

    def __init__(self, stack: Stack, folder: Path, **more: str) -> None:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("STRIDER_", "FETCHER_", "CRAWLER_"))
        }
        self.log = folder / f"fetcher-{uuid.uuid4().hex[:6]}.log"
        variables = kept | {
            "KAFKA_BOOTSTRAP_SERVERS": stack.kafka.address,
            "KAFKA_SESSION_TIMEOUT": "6s",
            "REDIS_URL": stack.redis.address,
            "OBJECT_STORE_URL": f"file://{folder}/objects",
            "STRIDER_SHARDS": str(SHARDS),
            "STRIDER_ALLOW_PRIVATE": "true",
            "STRIDER_CONTACT": "bot@example.org",
            "STRIDER_GRACE": "6s",
            **more,
        }
        with self.log.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "strider.fetcher"],
                env=variables,
                stdin=subprocess.DEVNULL,
                stderr=stderr,
            )

    def stop(self) -> int:
        """Ask it to end, and wait."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Ring:
    """What stands before and behind the fetcher."""

    def __init__(self, stack: Stack) -> None:
        self._bus = KafkaBus(KafkaConnection(bootstrap_servers=(stack.kafka.address,)))
        self._redis = connect(RedisOptions(stack.redis.address))
        self._leasing = Leasing(RedisWorkingSet(self._redis))

    async def request(self, *urls: str) -> list[FetchRequested]:
        """Lease URLs and ask for them."""
        wanted = await self._leasing.lease(*urls, lease_ms=600_000)
        await self.write(*wanted)
        return wanted

    async def write(self, *wanted: FetchRequested) -> None:
        producer = await self._bus.producer()
        for each in wanted:
            encoded = CODEC.encode(FETCH_REQUESTS, each)
            key = FETCH_REQUESTS.key_of(each)
            await producer.send(
                Outgoing(FETCH_REQUESTS.name, key, encoded.value, each.shard, encoded.headers)
            )
        await producer.close()

    async def ends(self, wanted: list[FetchRequested]) -> dict[str, str]:
        """Give the outcome of each lease that has one, among those that were asked for."""
        found = await self._read(FETCHES_COMPLETED)
        leases = {each.lease_id for each in wanted}
        assert len(found) == len({each.lease_id for each in found}), "a lease has ended twice"
        return {each.lease_id: each.outcome for each in found if each.lease_id in leases}

    async def pages(self, wanted: list[FetchRequested]) -> set[str]:
        leases = {each.lease_id for each in wanted}
        return {page.url for page in await self._read(PAGES_FETCHED) if page.lease_id in leases}

    async def _read(self, topic: Topic[Any]) -> list[Any]:
        found: list[Any] = []
        partitions = [TopicPartition(topic.name, number) for number in range(SHARDS)]
        await TableReader(self._bus, clock=SystemClock()).read(
            partitions, lambda _key, value: found.append(CODEC.decode(topic, value))
        )
        return found

    async def close(self) -> None:
        await self._bus.close()
        await self._redis.close()


@pytest.fixture
def start(stack: Stack, redis_url: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    connection = KafkaConnection(bootstrap_servers=(stack.kafka.address,))
    asyncio.run(apply_topics(connection, TOPICS, shards=SHARDS))
    services: list[Service] = []

    def launch(**more: str) -> Service:
        services.append(Service(stack, tmp_path, **more))
        return services[-1]

    yield launch
    for service in services:
        service.close()


async def _until(condition: Callable[[], Coroutine[Any, Any, bool]], service: Service) -> None:
    ends_at = time.monotonic() + DEADLINE_SECONDS
    while not await condition():
        assert service.process.poll() is None, service.log.read_text()[-3000:]
        assert time.monotonic() < ends_at, service.log.read_text()[-3000:]
        await asyncio.sleep(0.1)


async def _serve(act: Callable[[Hostile], Coroutine[Any, Any, None]]) -> None:
    plays = {"/ok": says(answer()), "/large": says(answer(b"x" * 600_000)), "/slow": silent}
    async with running(plays) as server:
        await act(server)


@pytest.mark.req("S1.2.24", "S3.7.3", "S3.7.4")
def test_pages_come_and_a_stop_leaves_nothing_unsaid(stack: Stack, start: Callable[..., Service]) -> None:
    """What was begun has its outcome when the process is gone, and its successor asks for nothing again."""

    async def act(server: Hostile) -> None:
        mark = uuid.uuid4().hex[:6]
        ring, service = Ring(stack), start()
        fine = await ring.request(
            *(server.url("/ok", host=f"h{n}-{mark}.localhost") for n in range(20)),
            server.url("/large", host=f"l-{mark}.localhost"),
        )

        async def all_fetched() -> bool:
            return len(await ring.ends(fine)) == 21

        await _until(all_fetched, service)
        slow = await ring.request(*(server.url("/slow", host=f"s{n}-{mark}.localhost") for n in range(3)))

        async def all_asked() -> bool:
            return server.asked.count("/slow") == 3

        await _until(all_asked, service)
        code = await asyncio.to_thread(service.stop)
        ends = await ring.ends(slow)
        await ring.write(*fine, *slow)
        successor = start()
        more = await ring.request(server.url("/ok", host=f"last-{mark}.localhost"))

        async def is_done() -> bool:
            return len(await ring.ends(more)) == 1

        await _until(is_done, successor)
        assert (code, sorted(ends.values())) == (0, ["interrupted"] * 3)
        assert set((await ring.ends(fine)).values()) == {"fetched"}
        assert await ring.pages(fine) == {each.url for each in fine}
        assert await asyncio.to_thread(successor.stop) == 0
        assert (len(server.asked), server.asked.count("/slow")) == (25, 3)
        await ring.close()

    asyncio.run(_serve(act))


def test_proxies_of_the_table_are_used(
    stack: Stack, start: Callable[..., Service], postgres_dsn: str
) -> None:
    """The process as it is deployed reads the list, opens the passwords, and tells what became of them."""

    async def act(server: Hostile) -> None:
        await upgrade(postgres_dsn)
        postgres, key = Postgres(PostgresOptions(postgres_dsn)), new_key()
        async with proxying(TestProxy("socks5", "me:right")) as proxy:
            sealed = Seals(key).seal("right")
            await ProxyTable(postgres).add(ProxyRow("socks5", "127.0.0.1", proxy.port, "me", sealed))
            service = start(CRAWLER_PROXIES_ENABLED="true", CRAWLER_PROXY_KEY=key, POSTGRES_DSN=postgres_dsn)
            ring = Ring(stack)
            mark = uuid.uuid4().hex[:6]
            wanted = await ring.request(*(server.url("/ok", host=f"p{n}-{mark}.localhost") for n in range(8)))

            async def is_done() -> bool:
                return len(await ring.ends(wanted)) == len(wanted)

            await _until(is_done, service)
            fetched = list((await ring.ends(wanted)).values()).count("fetched")
            assert await asyncio.to_thread(service.stop) == 0
            (row,) = await ProxyTable(postgres).load()
            assert row.success_count == fetched > 0, "on a busy machine some connect too late"
            assert set(proxy.targets) == {f"127.0.0.1:{server.port}"}
            assert "right" not in service.log.read_text()
        await ring.close()
        await postgres.close()

    asyncio.run(_serve(act))


AT_A_TIME = 16
IN_FLIGHT = loop_settings(concurrency=AT_A_TIME, max_deadline_seconds=120).window_messages
"""Asked, or answered and still being spoken: what one process may have in flight."""


async def _lingers(_reader: Reader, writer: Writer) -> None:
    """Answer after a while, so that there is always something in hand."""
    await asyncio.sleep(0.2)
    writer.write(answer())
    await writer.drain()


@pytest.mark.req("S3.4.3")
@pytest.mark.parametrize(
    "kills", [pytest.param(1, id="once"), pytest.param(4, id="often", marks=pytest.mark.slow)]
)
def test_a_kill_under_load_costs_what_was_in_hand_and_nothing_is_asked_twice(
    stack: Stack, start: Callable[..., Service], kills: int
) -> None:
    """By the site's own log: kill -9, again and again, and a successor that reads everything once more."""

    async def act(server: Hostile) -> None:
        server.plays["/lingers"] = _lingers
        mark, ring = uuid.uuid4().hex[:6], Ring(stack)
        witness = Broker(stack.kafka.address, shards=SHARDS)
        await witness.open(FETCH_REQUESTS)
        urls = [server.url(f"/lingers?{n}", host=f"k{n}-{mark}.localhost") for n in range(100 + 50 * kills)]
        wanted = await ring.request(*urls)
        in_hand: list[int] = []
        for kill in range(kills):
            before, service = len(server.asked), start(FETCHER_CONCURRENCY=str(AT_A_TIME))

            async def is_busy(before: int = before) -> bool:
                return len(server.asked) >= before + 3 * AT_A_TIME

            await _until(is_busy, service)
            service.close()
            ends = await ring.ends(wanted)
            in_hand.append(len(server.asked) - len(ends) - sum(in_hand[:kill]))
        last = start(FETCHER_CONCURRENCY=str(AT_A_TIME))

        async def is_drained() -> bool:
            return await witness.committed("fetcher", FETCH_REQUESTS) == await witness.ends(FETCH_REQUESTS)

        await _until(is_drained, last)
        ends, pages = await ring.ends(wanted), await ring.pages(wanted)
        left = [each.url for each in wanted if each.lease_id not in ends]
        asked = Counter(server.asked)
        assert await asyncio.to_thread(last.stop) == 0
        assert set(asked.values()) == {1}, "nothing is fetched again for a redelivery"
        assert set(ends.values()) == {"fetched"}
        assert pages >= {each.url for each in wanted if each.lease_id in ends}
        assert len(left) <= kills * IN_FLIGHT, "only what was marked is left to its lease's own end"
        assert all(0 <= count <= IN_FLIGHT for count in in_hand)
        await witness.close()
        await ring.close()

    asyncio.run(_serve(act))
