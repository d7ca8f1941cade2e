"""Feeds of topics that a process reads whole: job-events, job-commands.

A feed reads a topic of one partition from its beginning, and continues after an outage where it stopped. A
record that cannot be decoded is logged and skipped. Knows nothing of what events lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from strider.contracts import DecodeError, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_COMMANDS, JOB_EVENTS
from strider.contracts.topic import Event
from strider.crawl import log_events
from strider.messaging.errors import UnreadRange
from strider.messaging.ports import Bus, Consumer, Record, TopicPartition
from strider.messaging.unread_ranges import skip_unread
from strider.runtime.observability.log_events import LogEvent
from strider.runtime.observability.logging import logger

POLL_SECONDS: Final = 0.5
"""How long one poll waits; a new record ends it at once."""

T = TypeVar("T")

_log = logger("crawl")


class TopicFeed(Generic[T]):
    """Reads one topic; `decode` returns the value of each record."""

    def __init__(
        self, bus: Bus, topic: str, decode: Callable[[Record], T], *, unreadable_event: LogEvent
    ) -> None:
        self._bus = bus
        self._where = TopicPartition(topic, 0)
        self._decode = decode
        self._unreadable_event = unreadable_event
        self._reader: Consumer | None = None
        self._next = 0

    async def poll(self) -> Sequence[T]:
        """Return the next records, after a short wait."""
        return await self._poll(await self._opened())

    async def read_to_end(self) -> Sequence[T]:
        """Return all records up to the current end that were not returned yet."""
        reader, first = await self._opened(), self._next
        end = (await reader.end_offsets([self._where]))[self._where]
        values: list[T] = []
        try:
            while await reader.position(self._where) < end:
                values += await self._poll(reader)
        except BaseException:
            self._next = first  # nothing was returned: the next call begins here again
            await self.close()
            raise
        return values

    async def close(self) -> None:
        """Close the reader."""
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
            records = await reader.poll(max_records=1_000, timeout_seconds=POLL_SECONDS)
        except UnreadRange as unread:
            skip_unread(reader, unread)
            return []
        except BaseException:
            await self.close()  # the position is unknown from here on
            raise
        events = []
        for record in records.get(self._where, ()):
            self._next = record.offset + 1
            try:
                events.append(self._decode(record))
            except DecodeError as failure:
                _log.emit(self._unreadable_event, topic=record.topic, offset=record.offset, why=str(failure))
        return events


class JobEventFeed(TopicFeed[JobEvent]):
    """Facts about runs and hosts, and commands of earlier versions; retention deletes them."""

    def __init__(self, bus: Bus, codec: Codec) -> None:
        super().__init__(
            bus,
            JOB_EVENTS.name,
            decoder_of(codec, JOB_EVENTS),
            unreadable_event=log_events.JOB_EVENT_UNREADABLE,
        )


class JobCommandFeed(TopicFeed[tuple[str, JobEvent | None]]):
    """Commands in force by their keys, as they are published and deleted."""

    def __init__(self, bus: Bus, codec: Codec) -> None:
        decoded = decoder_of(codec, JOB_COMMANDS)

        def read(record: Record) -> tuple[str, JobEvent | None]:
            return key_text(record), None if record.value is None else decoded(record)

        super().__init__(bus, JOB_COMMANDS.name, read, unreadable_event=log_events.JOB_EVENT_UNREADABLE)


def key_text(record: Record) -> str:
    """Return the key of a record."""
    return (record.key or b"").decode("utf-8", "replace")


E = TypeVar("E", bound=Event)


def decoder_of(codec: Codec, topic: Topic[E]) -> Callable[[Record], E]:
    """Return the function that decodes the records of a topic."""
    return lambda record: codec.decode(topic, record.value or b"", record.headers)
