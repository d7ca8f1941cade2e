"""The truth topics, read to their committed end.

Decides what becomes of a record that cannot be read: it is told loudly and left out, because a shard
that never opens would lose all its other entries for the sake of one. A shard's last records must
fit into memory: where they do not, the log is read several times, each time for a part of the keys.
Knows nothing of scheduling.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final, TypeVar
from zlib import crc32

from strider.contracts import DecodeError, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.events import EntryRecorded, HostRecorded
from strider.contracts.generated.topics import FRONTIER, HOSTS
from strider.contracts.topic import Event
from strider.frontier.rebuild_records import RecordedEntry
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.ports import Bus, Clock, TopicPartition
from strider.runtime.observability.logging import logger
from strider.scheduler.ports import ClosedEntry, Told

from .record_decoder import EntryRecordDecoder

CLOSED_BATCH: Final = 4_000
"""Closed entries that are handed on together: a few milliseconds without a pause."""
OPEN_BATCH: Final = 1_000
"""Open ones, which cost more."""
HOSTS_PER_YIELD: Final = 1_000
"""Records of hosts that are read without a pause."""

MAX_RECORDS_IN_MEMORY: Final = 400_000
"""Records of one pass: about 250 MB."""

_SAMPLING_DIVISOR: Final = 16
"""One key of so many says how many entries a job has."""
_URL_KEY_BYTES: Final = 64
"""Of a URL key, which ends the key of a record."""

E = TypeVar("E", bound=Event)

_log = logger("scheduler")


@dataclass(slots=True)
class _LogPass:
    """One reading of the log, for the keys whose hash leaves this remainder."""

    remainder: int
    passes: int
    most: int
    last: dict[bytes, bytes] = field(default_factory=dict)

    def keep(self, key: bytes | None, value: bytes | None) -> None:
        """Take a record in the order of the log."""
        if key is None or (self.passes > 1 and crc32(key) % self.passes != self.remainder):
            return
        if value is None:
            self.last.pop(key, None)
            return
        self.last[key] = value
        if len(self.last) > self.most and self.remainder == 0:
            self._halve()

    def _halve(self) -> None:
        """Leave every second key to a later pass; the first pass alone finds out how many are needed."""
        self.passes *= 2
        for key in [key for key in self.last if crc32(key) % self.passes]:
            del self.last[key]


class TopicFrontierLogReader:
    """Reads the truth topics of a shard."""

    def __init__(
        self, bus: Bus, codec: Codec, *, clock: Clock, max_records: int = MAX_RECORDS_IN_MEMORY
    ) -> None:
        self._table = CompactedTableReader(bus, clock=clock)
        self._codec = codec
        self._most_in_memory = max_records

    async def read_entries(self, shard: int) -> AsyncIterator[Told]:
        """Give what the last record of each entry says."""
        where, records = TopicPartition(FRONTIER.name, shard), EntryRecordDecoder(self._codec)
        number, passes = 0, 1
        while number < passes:
            reading = _LogPass(number, passes, self._most_in_memory)
            await self._table.read([where], reading.keep)
            passes = reading.passes
            expected = _estimate_entries_by_job(reading.last, passes) if number == 0 else {}
            for opened, closed, share in _told(reading.last, records):
                yield Told(opened, closed, (number + share) / passes, expected)
                expected = {}
            number += 1

    async def read_hosts(self, shard: int) -> Sequence[HostRecorded]:
        """Give the last record of each group and origin."""
        values = await self._table.load([TopicPartition(HOSTS.name, shard)], key=bytes, value=bytes)
        read = []
        for number, (key, value) in enumerate(values.items()):
            if number % HOSTS_PER_YIELD == 0:
                await asyncio.sleep(0)
            if (host := self._decoded(HOSTS, key, value)) is not None:
                read.append(host)
        return read

    async def read_latest(self, shard: int, is_wanted: Callable[[bytes], bool]) -> Mapping[bytes, bytes]:
        """Give the last record of each entry whose key is wanted."""
        table: dict[bytes, bytes] = {}

        def keep(key: bytes | None, value: bytes | None) -> None:
            if key is None or not is_wanted(key):
                return
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value

        await self._table.read([TopicPartition(FRONTIER.name, shard)], keep)
        return table

    def decode_entry(self, value: bytes) -> EntryRecorded | None:
        """Read a record."""
        return self._decoded(FRONTIER, b"", value)

    def _decoded(self, topic: Topic[E], key: bytes, value: bytes) -> E | None:
        try:
            return self._codec.decode(topic, value)
        except DecodeError as failure:
            _log.error("Record Unreadable", topic=topic.name, key=repr(key), why=str(failure))
            return None


def _told(
    last: dict[bytes, bytes], records: EntryRecordDecoder
) -> Iterator[tuple[Sequence[RecordedEntry], Sequence[ClosedEntry], float]]:
    """Give what is closed, then what is open, group by group: a working set does with a group's at once."""
    groups: dict[bytes, list[RecordedEntry]] = {}
    count, done, keys = len(last), 0, iter(last)
    while part := list(islice(keys, CLOSED_BATCH)):
        closed: list[ClosedEntry] = []
        for key in part:
            found = records.decode(key, last[key])
            if isinstance(found, ClosedEntry):
                closed.append(found)
            elif found is not None:
                groups.setdefault(found.group, []).append(found)
                last[key] = b""  # it is in memory once more
        done += len(closed)
        yield (), closed, done / count
    by_group = chain.from_iterable(groups.values())
    while opened := list(islice(by_group, OPEN_BATCH)):
        done += len(opened)
        yield opened, (), done / count


def _estimate_entries_by_job(last: Mapping[bytes, bytes], passes: int) -> Mapping[str, int]:
    """Count entries by the job that their keys begin with, at about: from one of so many keys."""
    counts = Counter(key[: -(_URL_KEY_BYTES + 1)] for key in islice(last, 0, None, _SAMPLING_DIVISOR))
    return {job.decode(errors="replace"): count * _SAMPLING_DIVISOR * passes for job, count in counts.items()}
