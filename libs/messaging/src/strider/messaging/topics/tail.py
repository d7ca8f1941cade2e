"""Tail of a topic for people: from an offset or a time, decoded, filtered, followed.

Yields messages and prints nothing. A message that cannot be decoded is yielded with the reason, because that
is what one often looks for. Reads without a group, so that no offsets are touched; a public topic is read
uncommitted, as its service does, so that a transaction that is left open hides nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from strider.contracts import DecodeError, Topic, UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.messaging.errors import BatchUnreadable, StartRefused, UnreadBatch
from strider.messaging.ports import Bus, Consumer, Header, Record, SchemaSource, TopicPartition

POLL_RECORDS: Final = 500
POLL_SECONDS: Final = 0.5
DEFAULT_LIMIT: Final = 10
"""How many messages are shown by default."""


@dataclass(frozen=True, slots=True)
class TailOptions:
    """Options of a reader: start, filter and end."""

    offset: int | None = None
    since: datetime | None = None
    from_beginning: bool = False
    partitions: tuple[int, ...] = ()
    """Only these partitions; all where empty."""
    where: tuple[tuple[str, str], ...] = ()
    """Field (dots lead into records) and the text that its value must have."""
    limit: int | None = None
    follow: bool = False

    @property
    def has_start(self) -> bool:
        """Whether a start is given."""
        return self.offset is not None or self.since is not None or self.from_beginning


@dataclass(frozen=True, slots=True)
class UnreadRecord:
    """The place of a message that was not read."""

    topic: str
    partition: int
    offset: int
    timestamp: int = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class TailedMessage:
    """One message: its event, or why it has none."""

    record: Record
    event: Any = None
    reason: str | None = None
    detail: str = ""


class TopicTail:
    """Reads topics on one bus."""

    def __init__(self, bus: Bus, codec: Codec, schemas: SchemaSource) -> None:
        self._bus = bus
        self._codec = codec
        self._schemas = schemas

    async def read(
        self, name: str, topic: Topic[Any] | None, options: TailOptions
    ) -> AsyncGenerator[TailedMessage]:
        """Read a topic; one that is not declared is read without decoding."""
        is_public = topic is not None and topic.is_public
        partitions = await self._partitions(name, options)
        reader = await self._bus.reader(partitions, read_committed=not is_public)
        try:
            ends = await reader.end_offsets(reader.assignment())
            _refuse_future_offset(name, options, ends)
            await self._seek_to_start(reader, options, ends)
            lines = self._messages(reader, topic, options, None if options.follow else ends)
            chosen = (
                lines
                if options.follow or options.has_start
                else _newest(lines, options.limit or DEFAULT_LIMIT)
            )
            shown = 0
            async for line in chosen:
                yield line
                shown += 1
                if shown == options.limit:
                    return
        finally:
            await reader.close()

    async def _partitions(self, name: str, options: TailOptions) -> list[TopicPartition]:
        count = await self._bus.partition_count(name)
        if count is None:
            raise StartRefused(f"the broker has no topic {name}")
        if missing := [number for number in options.partitions if not 0 <= number < count]:
            raise StartRefused(f"{name} has the partitions 0 to {count - 1}, not {missing[0]}")
        return [TopicPartition(name, number) for number in options.partitions or range(count)]

    async def _seek_to_start(
        self, reader: Consumer, options: TailOptions, ends: Mapping[TopicPartition, int]
    ) -> None:
        """Seek to where the options begin, never before what the log still has."""
        begins = await reader.begin_offsets(ends)
        if options.since is not None:
            moment = round(options.since.timestamp() * 1000)
            wanted = await reader.offsets_at(dict.fromkeys(ends, moment))
        elif options.offset is not None:
            wanted = dict.fromkeys(ends, options.offset)
        elif options.from_beginning or (options.where and not options.follow):
            wanted = begins
        elif options.follow:
            wanted = ends
        else:
            wanted = {place: end - (options.limit or DEFAULT_LIMIT) for place, end in ends.items()}
        for place, begin in begins.items():
            reader.seek(place, min(max(begin, wanted[place]), ends[place]))

    async def _messages(
        self,
        reader: Consumer,
        topic: Topic[Any] | None,
        options: TailOptions,
        ends: Mapping[TopicPartition, int] | None,
    ) -> AsyncGenerator[TailedMessage]:
        """Read up to the ends where they are given, else for ever."""
        while ends is None or await _is_behind(reader, ends):
            try:
                found = await reader.poll(max_records=POLL_RECORDS, timeout_seconds=POLL_SECONDS)
            except UnreadBatch as skipped:
                reader.seek(TopicPartition(skipped.topic, skipped.partition), skipped.resume_at)
                if not options.where:
                    yield _skipped_batch(skipped)
                continue
            for place, records in found.items():
                for record in records:
                    if ends is not None and record.offset >= ends[place]:
                        break
                    line = await self._decode(topic, record)
                    if matches(line, options.where):
                        yield line

    async def _decode(self, topic: Topic[Any] | None, record: Record) -> TailedMessage:
        if topic is None or record.value is None:
            return TailedMessage(record)
        try:
            try:
                event = self._codec.decode(topic, record.value, record.headers)
            except UnknownSchema as unknown:
                if not await self._schemas.find(unknown):
                    raise
                event = self._codec.decode(topic, record.value, record.headers)
        except DecodeError as failure:
            return TailedMessage(record, reason=failure.reason, detail=failure.detail)
        return TailedMessage(record, event)


def _refuse_future_offset(name: str, options: TailOptions, ends: Mapping[TopicPartition, int]) -> None:
    """Refuse a start that no partition has reached."""
    if options.offset is None or any(options.offset <= end for end in ends.values()):
        return
    next_offsets = ", ".join(f"{place.partition}: {end}" for place, end in sorted(ends.items()))
    raise StartRefused(
        f"{name} has no message at offset {options.offset} yet; next offset by partition: {next_offsets}"
    )


def _skipped_batch(skipped: UnreadBatch) -> TailedMessage:
    """Return a line for a batch that was not read, in the place of its first message."""
    record = UnreadRecord(skipped.topic, skipped.partition, skipped.first)
    reason = "batch_unreadable" if isinstance(skipped, BatchUnreadable) else "batch_too_large"
    return TailedMessage(record, reason=reason, detail=str(skipped))


def matches(message: TailedMessage, where: Sequence[tuple[str, str]]) -> bool:
    """Whether every field has its wanted value; a message without an event has no fields."""
    return not where or (
        message.event is not None and all(_text_at(message.event, path) == wanted for path, wanted in where)
    )


def _text_at(event: Any, path: str) -> str | None:
    """Return the value at a path of an event as JSON text, strings without quotes."""
    value = event
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "null" if value is None else str(value)


async def _newest(lines: AsyncGenerator[TailedMessage], count: int) -> AsyncGenerator[TailedMessage]:
    """Yield the newest messages of all partitions, oldest first."""
    kept: list[tuple[int, int, TailedMessage]] = []
    number = 0
    async for line in lines:
        number += 1
        heapq.heappush(kept, (line.record.timestamp, number, line))
        if len(kept) > count:
            heapq.heappop(kept)
    for _, _, line in sorted(kept, key=lambda entry: entry[:2]):
        yield line


async def _is_behind(reader: Consumer, ends: Mapping[TopicPartition, int]) -> bool:
    for place, end in ends.items():
        if await reader.position(place) < end:
            return True
    return False
