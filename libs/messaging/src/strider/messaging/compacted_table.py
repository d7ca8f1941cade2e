"""Tables rebuilt by reading their compacted topic from the beginning.

Decides how far to read (the committed end at the start, so that writers cannot keep a reader busy for ever)
and when that is reached: also where the log ends in transaction markers, in aborted records or in offsets
that compaction has emptied. Knows no client library and no schema.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from .errors import LogTruncated, Unavailable, UnreadRange
from .ports import Bus, Clock, Consumer, Record, TopicPartition
from .unread_ranges import skip_unread

K = TypeVar("K")
V = TypeVar("V")

OnRecord = Callable[[bytes | None, bytes | None], None]
"""Takes key and value in the order of the log; a value of None deletes the key."""

POLL_RECORDS: Final = 5_000
"""Small enough that the event loop runs other tasks every few dozen milliseconds."""
POLL_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class TableReadProgress:
    """Progress of a rebuild."""

    records: int
    """Records that were passed on."""
    offset: int
    """Offsets read, over all partitions; compaction leaves gaps, so more than records."""
    end: int
    """Value of `offset` at the end."""


class CompactedTableReader:
    """Reads partitions of compacted topics to the end that they have at the start."""

    def __init__(
        self,
        bus: Bus,
        *,
        clock: Clock,
        on_progress: Callable[[TableReadProgress], None] | None = None,
        stall_seconds: float = 60.0,
    ) -> None:
        """Make a reader whose rebuilds raise Unavailable when nothing moves for `stall_seconds`."""
        self._bus = bus
        self._clock = clock
        self._on_progress = on_progress
        self._stall_seconds = stall_seconds

    async def read(
        self, partitions: Iterable[TopicPartition], on_record: OnRecord, *, max_records: int = POLL_RECORDS
    ) -> TableReadProgress:
        """Pass every committed record up to the end to `on_record`; keep nothing.

        Other tasks run after each `max_records` records.
        """
        wanted = list(dict.fromkeys(partitions))
        reader = await self._bus.reader(wanted)
        try:
            begins = await reader.begin_offsets(wanted)
            ends = await reader.end_offsets(wanted)
            return await self._read(_UnreadPartitions(reader, begins, ends, max_records), on_record)
        finally:
            await reader.close()

    async def load(
        self,
        partitions: Iterable[TopicPartition],
        *,
        key: Callable[[bytes], K],
        value: Callable[[bytes], V],
    ) -> dict[K, V]:
        """Return the last value of each key; only what is left at the end is decoded."""
        table: dict[bytes, bytes] = {}

        def keep(raw_key: bytes | None, raw_value: bytes | None) -> None:
            if raw_key is None:
                return  # a compacted topic takes no such record; a topic that was not one may hold some
            if raw_value is None:
                table.pop(raw_key, None)
            else:
                table[raw_key] = raw_value

        await self.read(partitions, keep)
        return {key(raw_key): value(raw_value) for raw_key, raw_value in table.items()}

    async def _read(self, unread: _UnreadPartitions, on_record: OnRecord) -> TableReadProgress:
        moved = self._clock.monotonic()
        records = 0
        progress = TableReadProgress(0, 0, unread.end)
        while await unread.update_positions():
            before = unread.offset
            found = await unread.poll()
            await asyncio.sleep(0)  # a poll of records that were read ahead does not yield
            for batch in found:
                for record in batch:
                    on_record(record.key, record.value)
                records += len(batch)
            await unread.update_positions()
            now = self._clock.monotonic()
            if found or unread.offset != before:
                moved = now
            elif now - moved > self._stall_seconds:
                raise Unavailable("kafka", f"a rebuild has stalled at offset {unread.offset} of {unread.end}")
            progress = TableReadProgress(records, unread.offset, unread.end)
            if self._on_progress is not None:
                self._on_progress(progress)
        return progress


class _UnreadPartitions:
    """Partitions whose position is not at their end yet."""

    def __init__(
        self,
        reader: Consumer,
        begins: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
        max_records: int,
    ) -> None:
        self._reader = reader
        self._max_records = max_records
        self._begins = begins
        self._ends = ends
        self._positions = dict(begins)
        self._unfinished = set(begins)
        self.end = sum(max(0, ends[partition] - begins[partition]) for partition in begins)

    @property
    def offset(self) -> int:
        """Number of offsets that were read."""
        reached = ((min(position, self._ends[p]), self._begins[p]) for p, position in self._positions.items())
        return sum(max(0, position - begin) for position, begin in reached)

    async def update_positions(self) -> bool:
        """Look up positions and drop partitions that are done; return whether any is left."""
        for partition in list(self._unfinished):
            position = self._positions[partition] = await self._reader.position(partition)
            if position >= self._ends[partition]:
                self._unfinished.discard(partition)
                self._reader.pause([partition])
        return bool(self._unfinished)

    async def poll(self) -> list[Sequence[Record]]:
        """Poll once; continue behind what cannot be read."""
        try:
            found = await self._reader.poll(max_records=self._max_records, timeout_seconds=POLL_SECONDS)
        except LogTruncated as truncated:
            # What was passed on is no table of this log any more: the caller reads it again.
            raise Unavailable("kafka", str(truncated)) from truncated
        except UnreadRange as unread:
            skip_unread(self._reader, unread)
            return []
        return [self._until_end(partition, batch) for partition, batch in found.items()]

    def _until_end(self, partition: TopicPartition, batch: Sequence[Record]) -> Sequence[Record]:
        end = self._ends[partition]
        if batch[-1].offset < end:
            return batch
        return [record for record in batch if record.offset < end]
