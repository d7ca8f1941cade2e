"""Client of a live frontier: topics, working set, job commands.

Commands go to `job-commands`, which every scheduler consumes; nothing is changed from here.
"""

from __future__ import annotations

import getpass
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from strider.cli.connections import (
    REDIS,
    REQUEST_TIMEOUT_SECONDS,
    BrokerTarget,
    MissingTopic,
    open_redis,
    require_address,
)
from strider.contracts import DecodeError, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_COMMANDS, JOB_EVENTS
from strider.crawl.runs.commands import new_command
from strider.crawl.runs.control import RunControl
from strider.frontier.redis.inspection import ShardInspector
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.effects import Publish
from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import Bus, TopicPartition
from strider.runtime.clocks import SystemClock
from strider.runtime.publishing.publisher import EventPublisher

PUBLISHER: Final = "cli"
"""Name of the publishing service in the headers of what commands publish."""


@dataclass(frozen=True, slots=True)
class FrontierClient:
    """A live frontier on one broker and one Redis."""

    bus: Bus
    codec: Codec
    inspection: ShardInspector
    shards: int
    host_delay_seconds: float
    """Crawl delay of hosts without one of their own."""

    async def load_run_control(self) -> RunControl:
        """Read all job commands, and return the state that they put runs and hosts into."""
        control = RunControl()
        for event in await self.read_events(JOB_EVENTS, [0]):
            control.apply(event)
        for event in await self.read_latest(JOB_COMMANDS, [0]):
            control.apply(event)
        return control

    async def read_events(self, topic: Topic[Any], partitions: Sequence[int]) -> list[Any]:
        """Read every event of some partitions; undecodable ones are left out."""
        values: list[bytes] = []

        def keep(_key: bytes | None, value: bytes | None) -> None:
            if value is not None:
                values.append(value)

        await self._reader().read([TopicPartition(topic.name, number) for number in partitions], keep)
        return self._decoded(topic, values)

    async def read_latest(
        self, topic: Topic[Any], partitions: Sequence[int], *, ends: bytes = b""
    ) -> list[Any]:
        """Read the last record of each key, in the order of the log; only of keys with this ending."""
        kept: dict[bytes, bytes | None] = {}

        def keep(key: bytes | None, value: bytes | None) -> None:
            if key is not None and key.endswith(ends):
                kept.pop(key, None)
                kept[key] = value

        await self._reader().read([TopicPartition(topic.name, number) for number in partitions], keep)
        return self._decoded(topic, [value for value in kept.values() if value is not None])

    async def publish_command(self, what: JobEventKind, **about: Any) -> JobEvent:
        """Publish a job command; returns when the broker has acknowledged it. Raises Unavailable."""
        event = new_command(what, by=current_user(), now_ms=round(time.time() * 1000), **about)
        publisher = EventPublisher(
            self.bus, self.codec, service=PUBLISHER, shards=self.shards, clock=SystemClock()
        )
        try:
            await publisher.publish([Publish(JOB_COMMANDS, event)])
        finally:
            await publisher.close()
        return event

    def _reader(self) -> CompactedTableReader:
        return CompactedTableReader(self.bus, clock=SystemClock(), stall_seconds=REQUEST_TIMEOUT_SECONDS)

    def _decoded(self, topic: Topic[Any], values: Sequence[bytes]) -> list[Any]:
        found = []
        for value in values:
            try:
                found.append(self.codec.decode(topic, value))
            except DecodeError:
                continue  # of a newer version, or not ours: the schedulers report it
        return found


@asynccontextmanager
async def open_frontier_client(target: BrokerTarget) -> AsyncIterator[FrontierClient]:
    """Open the frontier of a broker and of the configured Redis. Raises Unavailable, MissingTopic."""
    async with open_redis(require_address(REDIS)) as redis:
        bus = KafkaBus(target.connection)
        try:
            for topic in (JOB_EVENTS, JOB_COMMANDS):
                if not await bus.partition_count(topic.name):
                    raise MissingTopic(topic.name)
            yield FrontierClient(
                bus,
                Codec(SchemaStore.bundled()),
                ShardInspector(redis),
                target.settings.run.shards,
                target.settings.crawl.host_delay_seconds,
            )
        finally:
            await bus.close()


def current_user() -> str:
    """Return the name of the user who runs the command."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
