"""The service as a process, on a real broker and store, with its topics and leases."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import FetchCompleted, FetchRequested
from strider.contracts.generated.topics import (
    FETCH_REQUESTS,
    FETCHER_DLQ,
    FETCHES_COMPLETED,
    PAGES_FETCHED,
    SCHEMAS,
)
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import OutgoingMessage, TopicPartition
from strider.messaging.topics import apply_topics
from strider.runtime.clocks import SystemClock
from strider.storage.redis import RedisOptions, connect
from tests.integration.fetcher.leases import SHARDS, FrontierLeases
from tests.processes.services import Service, Yard

CODEC = Codec(SchemaStore.bundled())
TOPICS = (FETCH_REQUESTS, PAGES_FETCHED, FETCHES_COMPLETED, FETCHER_DLQ, SCHEMAS)


class FetcherProcesses:
    """Processes of the fetcher on one broker and one store."""

    def __init__(self, folder: Path, *, kafka: str, redis: str) -> None:
        self._yard = Yard(kafka, folder, shards=SHARDS)
        self._settings = {
            "KAFKA_SESSION_TIMEOUT": "6s",
            "REDIS_URL": redis,
            "OBJECT_STORE_URL": f"file://{folder}/objects",
            "STRIDER_ALLOW_PRIVATE": "true",
            "STRIDER_CONTACT": "bot@example.org",
            "STRIDER_GRACE": "6s",
        }
        asyncio.run(apply_topics(KafkaConnection(bootstrap_servers=(kafka,)), TOPICS, shards=SHARDS))

    def start(self, **more: str) -> Service:
        """Start one, with these further settings; returns at once."""
        return self._yard.start(("-m", "strider.fetcher"), self._settings | more)

    def close(self) -> None:
        """End all of them."""
        self._yard.close()


class FetcherTopics:
    """Publishes fetch requests, and consumes what the fetcher publishes."""

    def __init__(self, *, kafka: str, redis: str, max_in_flight: int = 1, deadline_ms: int = 10_000) -> None:
        self._bus = KafkaBus(KafkaConnection(bootstrap_servers=(kafka,)))
        self._redis = connect(RedisOptions(redis))
        frontier = RedisWorkingSet(self._redis)
        self._leasing = FrontierLeases(frontier, max_in_flight=max_in_flight, deadline_ms=deadline_ms)

    async def request_fetches(self, *urls: str) -> list[FetchRequested]:
        """Lease URLs and publish their requests."""
        wanted = await self.lease(*urls)
        await self.publish(*wanted)
        return wanted

    async def lease(self, *urls: str, lease_ms: int = 600_000) -> list[FetchRequested]:
        """Lease URLs; returns their requests."""
        return await self._leasing.lease(*urls, lease_ms=lease_ms)

    async def publish(self, *wanted: FetchRequested, per_second: float = 0.0) -> None:
        """Publish requests, at a rate if one is given."""
        producer, loop = await self._bus.producer(), asyncio.get_running_loop()
        began = loop.time()
        for number, each in enumerate(wanted):
            if per_second:
                await asyncio.sleep(max(0.0, began + number / per_second - loop.time()))
            encoded = CODEC.encode(FETCH_REQUESTS, each)
            key = FETCH_REQUESTS.key_of(each)
            await producer.send(
                OutgoingMessage(FETCH_REQUESTS.name, key, encoded.value, each.shard, encoded.headers)
            )
        await producer.close()

    async def completed(self, wanted: Sequence[FetchRequested]) -> list[FetchCompleted]:
        """Return the completions of those requests that have one."""
        found = await self._read(FETCHES_COMPLETED)
        leases = {each.lease_id for each in wanted}
        assert len(found) == len({each.lease_id for each in found}), "a lease has ended twice"
        return [each for each in found if each.lease_id in leases]

    async def outcomes(self, wanted: Sequence[FetchRequested]) -> dict[str, str]:
        """Return the outcome of each lease that has one."""
        return {each.lease_id: each.outcome for each in await self.completed(wanted)}

    async def pages(self, wanted: Sequence[FetchRequested]) -> set[str]:
        """Return the URLs of those requests that have a page."""
        leases = {each.lease_id for each in wanted}
        return {page.url for page in await self._read(PAGES_FETCHED) if page.lease_id in leases}

    async def script_calls(self) -> int:
        """Count the scripts that the store has run so far; the fetcher's marks are among them."""
        told = await self._redis.command("INFO", "commandstats")
        kinds = ("cmdstat_eval", "cmdstat_fcall")
        return sum(each["calls"] for name, each in told.items() if name.startswith(kinds))

    async def _read(self, topic: Topic[Any]) -> list[Any]:
        found: list[Any] = []
        partitions = [TopicPartition(topic.name, number) for number in range(SHARDS)]
        await CompactedTableReader(self._bus, clock=SystemClock()).read(
            partitions, lambda _key, value: found.append(CODEC.decode(topic, value))
        )
        return found

    async def close(self) -> None:
        """Close the connections."""
        await self._bus.close()
        await self._redis.close()
