"""The log, the working set and the wishes, for commands that look at a live frontier or change its course.

Opens what the environment or the local stack names, and closes it; a command says what it wants to
know. Wishes go to `job-events`, where every scheduler hears them; nothing is changed from here.
"""

from __future__ import annotations

import getpass
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from strider.contracts import DecodeError, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import JobEvent as What
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_EVENTS
from strider.frontier.redis.inspection import ShardInspector
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.effects import Publish
from strider.messaging.errors import Unavailable
from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import Bus, TopicPartition
from strider.runtime.clocks import SystemClock
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.core.runs.control import RunControl

from .topics_broker import PATIENCE_SECONDS, Target
from .working_set import open_working_set, working_set_url

SPEAKER: Final = "cli"


@dataclass(frozen=True, slots=True)
class Frontier:
    """A live frontier, to be looked at."""

    bus: Bus
    codec: Codec
    glance: ShardInspector
    shards: int

    async def orders(self) -> RunControl:
        """Read all wishes."""
        orders = RunControl()
        for event in await self.every(JOB_EVENTS, [0]):
            orders.apply(event)
        return orders

    async def every(self, topic: Topic[Any], partitions: Sequence[int]) -> list[Any]:
        """Read every event of partitions; those that nobody can read are left out."""
        values: list[bytes] = []

        def keep(_key: bytes | None, value: bytes | None) -> None:
            if value is not None:
                values.append(value)

        await self._reader().read([TopicPartition(topic.name, number) for number in partitions], keep)
        return self._decoded(topic, values)

    async def latest(self, topic: Topic[Any], partitions: Sequence[int], *, ends: bytes = b"") -> list[Any]:
        """Read the last record of each key of partitions; only of keys that end so."""
        kept: dict[bytes, bytes | None] = {}

        def keep(key: bytes | None, value: bytes | None) -> None:
            if key is not None and key.endswith(ends):
                kept[key] = value

        await self._reader().read([TopicPartition(topic.name, number) for number in partitions], keep)
        return self._decoded(topic, [value for value in kept.values() if value is not None])

    async def wish(self, what: What, **about: Any) -> JobEvent:
        """Say a wish; done when the broker has it. Raises Unavailable."""
        at_ms = round(time.time() * 1000)
        name = "|".join([what, str(at_ms), *(f"{key}={value}" for key, value in sorted(about.items()))])
        event = JobEvent(
            event_id=str(uuid5(NAMESPACE_URL, name)),
            what=what,
            is_wish=True,
            at_ms=at_ms,
            by=person(),
            **about,
        )
        speaker = EventPublisher(
            self.bus, self.codec, service=SPEAKER, shards=self.shards, clock=SystemClock()
        )
        try:
            await speaker.publish([Publish(JOB_EVENTS, event)])
        finally:
            await speaker.close()
        return event

    def _reader(self) -> CompactedTableReader:
        return CompactedTableReader(self.bus, clock=SystemClock(), stall_seconds=PATIENCE_SECONDS)

    def _decoded(self, topic: Topic[Any], values: Sequence[bytes]) -> list[Any]:
        found = []
        for value in values:
            try:
                found.append(self.codec.decode(topic, value))
            except DecodeError:
                continue  # written by a newer version, or not by us: the schedulers tell of it
        return found


@asynccontextmanager
async def open_frontier(target: Target) -> AsyncIterator[Frontier]:
    """Open the broker and the working set that are meant here. Raises Unavailable."""
    bus, redis = KafkaBus(target.connection), open_working_set(working_set_url())
    try:
        shards = await bus.partition_count(JOB_EVENTS.name)
        if not shards:
            raise Unavailable("kafka", f"topic {JOB_EVENTS.name} does not exist; run: strider topics apply")
        yield Frontier(bus, Codec(SchemaStore.bundled()), ShardInspector(redis), target.settings.run.shards)
    finally:
        await redis.close()
        await bus.close()


def person() -> str:
    """Name who sits at the terminal."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"
