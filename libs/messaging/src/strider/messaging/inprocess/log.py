"""One partition in memory: its records in order, and which of them a reader may see.

Offsets behave as on a broker: transaction markers use one up, compaction leaves holes, trimming moves the
start, and a reader of committed data stops at the first open transaction. Knows nothing of groups, clocks or
waiting.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from strider.messaging.ports import Header

RECORD_OVERHEAD_BYTES = 120
"""About what one stored record costs besides its own bytes; only for the memory bound."""

_offset_of = attrgetter("offset")
_timestamp_of = attrgetter("timestamp")


class StoredRecord(NamedTuple):
    """A record as the log keeps it and as a consumer gets it: one object, never copied."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]


def size_of(record: StoredRecord) -> int:
    """Return the size of a record that counts against a memory bound."""
    return len(record.key or b"") + len(record.value or b"") + RECORD_OVERHEAD_BYTES


class PartitionLog:
    """An append-only log with holes."""

    __slots__ = (
        "_aborted",
        "_is_dense",
        "_open",
        "end",
        "partition",
        "records",
        "size_bytes",
        "start",
        "topic",
    )

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.records: list[StoredRecord] = []
        self.start = 0
        self.end = 0
        self.size_bytes = 0
        self._open: dict[str, list[int]] = {}
        self._aborted: set[int] = set()
        self._is_dense = True

    def append(
        self,
        *,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
        transaction: str | None = None,
    ) -> int:
        """Write one record and return its offset."""
        offset = self.end
        record = StoredRecord(self.topic, self.partition, offset, timestamp, key, value, headers)
        self.records.append(record)
        self.end = offset + 1
        self.size_bytes += size_of(record)
        if transaction is not None:
            self._open.setdefault(transaction, []).append(offset)
        return offset

    def end_transaction(self, transaction: str, *, commit: bool) -> None:
        """Write the marker that makes a transaction's records visible, or invisible for good."""
        offsets = self._open.pop(transaction, None)
        if offsets is None:
            return
        if not commit:
            self._aborted.update(offsets)
        self.end += 1
        self._is_dense = False

    def stable_end(self) -> int:
        """Return where committed data ends: before the first record of the oldest open transaction."""
        if not self._open:
            return self.end
        return min(offsets[0] for offsets in self._open.values())

    def read(self, offset: int, limit: int, *, read_committed: bool) -> tuple[Sequence[StoredRecord], int]:
        """Return up to `limit` visible records from `offset` on, and the position after them."""
        end = self.stable_end() if read_committed else self.end
        if offset >= end:
            return (), offset
        first = self._index(offset)
        stop = len(self.records) if end == self.end else self._index(end)
        found = self.records[first : min(first + limit, stop)]
        position = end if first + len(found) >= stop else found[-1].offset + 1
        if self._aborted and read_committed:
            found = [record for record in found if record.offset not in self._aborted]
        return found, position

    def committed_between(self, start: int, end: int) -> list[StoredRecord]:
        """Return the records of a range that are not aborted; `end` is at most where committed data ends."""
        found = self.records[self._index(start) : self._index(end)]
        return [record for record in found if record.offset not in self._aborted] if self._aborted else found

    def restore(self, records: list[StoredRecord], *, start: int, end: int) -> None:
        """Restore the log from these records, in the order of their offsets."""
        self.records = records
        self.start, self.end = start, end
        self.size_bytes = sum(map(size_of, records))
        self._is_dense = False

    def offset_at(self, moment_ms: int, *, end: int) -> int:
        """Return the first offset at or after a moment; `end` where there is none."""
        # Producers share one clock here, so timestamps rise with offsets.
        index = bisect_left(self.records, moment_ms, key=_timestamp_of)
        return self.records[index].offset if index < len(self.records) else end

    def trim(self, before: int) -> None:
        """Delete everything below an offset, as retention does."""
        before = min(before, self.end)
        if before <= self.start:
            return
        index = self._index(before)
        gone, left = self.records[:index], self.records[index:]
        # Measure the smaller side: as a rule nearly everything is deleted.
        if len(left) < len(gone):
            self.size_bytes = sum(map(size_of, left))
        else:
            self.size_bytes -= sum(map(size_of, gone))
        if self._aborted:
            self._aborted.difference_update([record.offset for record in gone])
        self.records, self.start = left, before

    def compact(self, *, now_ms: int, delete_retention_ms: int) -> None:
        """Keep the last committed record of each key; drop tombstones that are old enough."""
        stable = self._index(self.stable_end())
        settled = [r for r in self.records[:stable] if r.offset not in self._aborted]
        last = {record.key: record.offset for record in settled if record.key is not None}
        kept = [
            record
            for record in settled
            if record.key is None
            or (
                last[record.key] == record.offset
                and (record.value is not None or now_ms - record.timestamp <= delete_retention_ms)
            )
        ]
        self.records = kept + self.records[stable:]
        self.size_bytes = sum(map(size_of, self.records))
        self._aborted.intersection_update([record.offset for record in self.records])
        self._is_dense = False

    def _index(self, offset: int) -> int:
        records = self.records
        if self._is_dense:
            return max(0, offset - (self.end - len(records)))
        return bisect_left(records, offset, key=_offset_of)
