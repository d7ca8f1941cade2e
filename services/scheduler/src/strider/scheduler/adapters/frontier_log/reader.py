"""Read the frontier log of a shard to its committed end.

A record that cannot be decoded is logged and skipped, because otherwise one record would keep a shard from
ever opening. The last records of a shard must fit into memory: where they do not, the log is read several
times, each time for a part of the keys. Knows nothing of scheduling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final, TypeVar
from zlib import crc32

from strider.contracts import DecodeError, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import FRONTIER, HOSTS
from strider.contracts.topic import Event
from strider.frontier.rebuild_records import RecordedEntry
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.ports import Bus, Clock, TopicPartition
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.ports import ClosedEntry, LogBatch, OnHost

from .record_decoder import EntryRecordDecoder

CLOSED_BATCH: Final = 4_000
"""Closed entries in one batch: a few milliseconds without yielding."""
OPEN_BATCH: Final = 1_000
"""Open entries in one batch, which cost more."""
HOSTS_PER_POLL: Final = 500
"""Host records that are decoded without yielding."""

MAX_RECORDS_IN_MEMORY: Final = 400_000
"""Records of one pass: about 250 MB."""

_SAMPLING_DIVISOR: Final = 16
"""One key in this many is sampled to estimate the entries of a job."""
_URL_KEY_BYTES: Final = 64
"""Length of the URL key that ends the key of a record."""

E = TypeVar("E", bound=Event)

_log = logger("scheduler")


@dataclass(slots=True)
class _LogPass:
    """One pass through the log, for the keys whose hash has this remainder."""

    remainder: int
    passes: int
    max_records: int
    last: dict[bytes, bytes] = field(default_factory=dict)

    def keep(self, key: bytes | None, value: bytes | None) -> None:
        """Apply a record, in the order of the log."""
        if key is None or (self.passes > 1 and crc32(key) % self.passes != self.remainder):
            return
        if value is None:
            self.last.pop(key, None)
            return
        self.last[key] = value
        if len(self.last) > self.max_records and self.remainder == 0:
            self._halve()

    def _halve(self) -> None:
        """Leave every second key to a later pass; only the first pass finds out how many are needed."""
        self.passes *= 2
        for key in [key for key in self.last if crc32(key) % self.passes]:
            del self.last[key]


class TopicFrontierLogReader:
    """Reads the topics frontier and hosts of a shard."""

    def __init__(
        self, bus: Bus, codec: Codec, *, clock: Clock, max_records: int = MAX_RECORDS_IN_MEMORY
    ) -> None:
        self._table = CompactedTableReader(bus, clock=clock)
        self._codec = codec
        self._most_in_memory = max_records

    async def read_entries(self, shard: int) -> AsyncIterator[LogBatch]:
        """Yield the last record of each entry, batch by batch."""
        where, records = TopicPartition(FRONTIER.name, shard), EntryRecordDecoder(self._codec)
        number, passes = 0, 1
        while number < passes:
            reading = _LogPass(number, passes, self._most_in_memory)
            await self._table.read([where], reading.keep)
            passes = reading.passes
            expected = _estimate_entries_by_job(reading.last, passes) if number == 0 else {}
            for opened, closed, share in _batches(reading.last, records):
                yield LogBatch(opened, closed, (number + share) / passes, expected)
                expected = {}
            number += 1

    async def read_hosts(self, shard: int, on_host: OnHost) -> None:
        """Pass the records of host groups and origins on, in the order of the log; keep none."""

        def decode(key: bytes | None, value: bytes | None) -> None:
            if key is None:
                return
            host = None if value is None else self._decode(HOSTS, key, value)
            if value is None or host is not None:
                on_host(key.decode(errors="replace"), host)

        await self._table.read([TopicPartition(HOSTS.name, shard)], decode, max_records=HOSTS_PER_POLL)

    async def read_latest(self, shard: int, is_wanted: Callable[[bytes], bool]) -> Mapping[bytes, bytes]:
        """Return the encoded last record of each entry whose key is wanted."""
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
        """Decode a record; None where it cannot be decoded."""
        return self._decode(FRONTIER, b"", value)

    def _decode(self, topic: Topic[E], key: bytes, value: bytes) -> E | None:
        try:
            return self._codec.decode(topic, value)
        except DecodeError as failure:
            _log.emit(
                log_events.FRONTIER_RECORD_UNREADABLE, topic=topic.name, key=repr(key), why=str(failure)
            )
            return None


def _batches(
    last: dict[bytes, bytes], records: EntryRecordDecoder
) -> Iterator[tuple[Sequence[RecordedEntry], Sequence[ClosedEntry], float]]:
    """Yield closed entries, then open ones host group by host group, which the working set loads together."""
    groups: dict[bytes, list[RecordedEntry]] = {}
    count, read, remaining = len(last), 0, iter(last)
    while part := list(islice(remaining, CLOSED_BATCH)):
        closed: list[ClosedEntry] = []
        for key in part:
            decoded = records.decode(key, last[key])
            if isinstance(decoded, ClosedEntry):
                closed.append(decoded)
            elif decoded is not None:
                groups.setdefault(decoded.group, []).append(decoded)
                last[key] = b""  # held by `groups` from here on
        read += len(closed)
        yield (), closed, read / count
    by_group = chain.from_iterable(groups.values())
    while opened := list(islice(by_group, OPEN_BATCH)):
        read += len(opened)
        yield opened, (), read / count


def _estimate_entries_by_job(last: Mapping[bytes, bytes], passes: int) -> Mapping[str, int]:
    """Estimate entries by the job that their keys begin with, from a sample of the keys."""
    counts = Counter(key[: -(_URL_KEY_BYTES + 1)] for key in islice(last, 0, None, _SAMPLING_DIVISOR))
    return {job.decode(errors="replace"): count * _SAMPLING_DIVISOR * passes for job, count in counts.items()}
