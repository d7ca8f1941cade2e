"""A topic of one partition, read from its beginning to now, and on; after an outage where it stopped.

Decides what becomes of a record that cannot be read: it is told loudly and left out. Knows nothing of what
events lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from strider.contracts import DecodeError, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.events import JobEvent, SourceSaved
from strider.contracts.generated.topics import JOB_EVENTS, SOURCES
from strider.messaging.errors import OffsetLost
from strider.messaging.ports import Bus, Consumer, Record, TopicPartition
from strider.runtime.observability.logging import logger

POLL_SECONDS: Final = 0.5
"""How long one look for news waits; what comes meanwhile ends it at once."""

T = TypeVar("T")

_log = logger("scheduler")


class Following(Generic[T]):
    """Reads one topic; `read` makes a value of each record."""

    def __init__(self, bus: Bus, topic: str, decode: Callable[[Record], T], *, unreadable_event: str) -> None:
        self._bus = bus
        self._where = TopicPartition(topic, 0)
        self._read = decode
        self._unreadable_event = unreadable_event
        self._reader: Consumer | None = None
        self._next = 0

    async def poll(self) -> Sequence[T]:
        """Wait a little for what comes next."""
        return await self._poll(await self._opened())

    async def read_to_end(self) -> Sequence[T]:
        """Give all that had been said by now."""
        reader = await self._opened()
        end = (await reader.end_offsets([self._where]))[self._where]
        found: list[T] = []
        while await reader.position(self._where) < end:
            found += await self._poll(reader)
        return found

    async def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            reader, self._reader = self._reader, None
            await reader.close()

    async def _opened(self) -> Consumer:
        if self._reader is None:
            reader = await self._bus.reader([self._where])
            if self._next:
                reader.seek(self._where, self._next)
            self._reader = reader
        return self._reader

    async def _poll(self, reader: Consumer) -> list[T]:
        try:
            found = await reader.poll(max_records=1_000, timeout_seconds=POLL_SECONDS)
        except OffsetLost as lost:  # what is old has gone
            reader.seek(self._where, lost.available)
            return []
        except BaseException:
            await self.close()  # where it stands is not known any more
            raise
        events = []
        for record in found.get(self._where, ()):
            self._next = record.offset + 1
            try:
                events.append(self._read(record))
            except DecodeError as failure:
                _log.error(self._unreadable_event, topic=record.topic, offset=record.offset, why=str(failure))
        return events


class JobEventFeed(Following[JobEvent]):
    """Wishes and facts about runs and hosts. They age; what they came to is in the truth topics."""

    def __init__(self, bus: Bus, codec: Codec) -> None:
        super().__init__(
            bus, JOB_EVENTS.name, _event_of(codec, JOB_EVENTS), unreadable_event="Wish Unreadable"
        )


class SourceFeed(Following[tuple[str, SourceSaved | None]]):
    """Sources by their ids, as they are saved and dropped."""

    def __init__(self, bus: Bus, codec: Codec) -> None:
        decoded = _event_of(codec, SOURCES)

        def read(record: Record) -> tuple[str, SourceSaved | None]:
            name = (record.key or b"").decode("utf-8", "replace")
            return name, None if record.value is None else decoded(record)

        super().__init__(bus, SOURCES.name, read, unreadable_event="Source Unreadable")


E = TypeVar("E", JobEvent, SourceSaved)


def _event_of(codec: Codec, topic: Topic[E]) -> Callable[[Record], E]:
    return lambda record: codec.decode(topic, record.value or b"", record.headers)
