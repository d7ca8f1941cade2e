"""Publication of the record of sources on their topic.

The api runs it in a loop, which also repairs what a crash between the commit and the publication left, or
what an outage of Kafka held up. Commands that change sources publish at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from strider.contracts import DecodeError, EncodeError
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import SOURCES
from strider.jobs import log_events
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.effects import Publish, PublishRaw
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Bus, Clock, TopicPartition
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher
from strider.storage.errors import StoreRejected

from .store import PostgresSourceStore, SourceChange

POLL_SECONDS: Final = 5.0
"""How often the table is searched for what other processes saved and did not publish."""

RETRY_SECONDS: Final = 2.0
"""Wait after PostgreSQL or Kafka was unavailable."""

PUBLISH_SECONDS: Final = 5.0
"""Longest wait for the broker while rows are locked; the server ends idle transactions later than this."""

STALL_SECONDS: Final = 15.0

_log = logger("sources")


class SourcePublication:
    """Publishes what the record has and the topic has not."""

    def __init__(
        self, store: PostgresSourceStore, publisher: EventPublisher, bus: Bus, codec: Codec, *, clock: Clock
    ) -> None:
        self._store = store
        self._publisher = publisher
        self._bus = bus
        self._codec = codec
        self._clock = clock
        self._changed = asyncio.Event()

    def notify(self) -> None:
        """Tell the loop that something was saved."""
        self._changed.set()

    async def publish_pending(self) -> int:
        """Publish everything that is not published; return how many sources. Raises Unavailable."""
        total = 0
        while count := await self._store.publish_pending(self._publish):
            total += count
        return total

    async def run(self) -> None:
        """Publish changes until the process ends: compare with the topic once, then follow the record."""
        is_compared = False
        while True:
            self._changed.clear()
            try:
                if not is_compared:
                    await self.compare_with_topic()
                    is_compared = True
                await self.publish_pending()
            except (Unavailable, StoreRejected, EncodeError) as failure:
                # Also a database that is not migrated yet, and a source that a later version has saved.
                _log.emit(log_events.SOURCES_NOT_PUBLISHED_YET, why=str(failure)[:300])
                await self._clock.sleep(RETRY_SECONDS)
                continue
            await self._wait()

    async def compare_with_topic(self) -> None:
        """Adopt sources that only the topic has; mark those to publish that it has in another version."""
        if not await self._bus.partition_count(SOURCES.name):
            raise Unavailable("kafka", f"there is no topic {SOURCES.name}; run: strider topics apply")
        reader = CompactedTableReader(self._bus, clock=self._clock, stall_seconds=STALL_SECONDS)
        table = await reader.load([TopicPartition(SOURCES.name, 0)], key=bytes, value=bytes)
        published = {key.decode("utf-8", "replace"): self._decode(value) for key, value in table.items()}
        adopted = await self._store.adopt(source for source in published.values() if source is not None)
        versions = {name: -1 if source is None else source.version for name, source in published.items()}
        count = await self._store.republish_differing(versions)
        if adopted or count:
            _log.emit(log_events.SOURCES_REPUBLISHED, adopted=len(adopted), republished=count)

    def _decode(self, value: bytes) -> SourceSaved | None:
        try:
            return self._codec.decode(SOURCES, value)
        except DecodeError:
            return None

    async def _publish(self, changes: Sequence[SourceChange]) -> None:
        requests = [
            PublishRaw(SOURCES, change.source_id.encode(), None)
            if change.source is None
            else Publish(SOURCES, change.source)
            for change in changes
        ]
        try:
            async with asyncio.timeout(PUBLISH_SECONDS):
                await self._publisher.publish(requests)
        except TimeoutError as failure:
            raise Unavailable("kafka", f"not acknowledged within {PUBLISH_SECONDS:g} s") from failure

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await self._changed.wait()
