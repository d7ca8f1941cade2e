"""The truth topics, read to their committed end.

Decides what becomes of a record that cannot be read: it is told loudly and left out, because a shard
that never opens would lose all its other entries for the sake of one. A shard's last records must
fit into memory: where they do not, the log is read several times, each time for a part of the keys.
Knows nothing of scheduling.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeVar
from zlib import crc32

from strider.contracts import DecodeError, Topic
from strider.contracts.codec import Codec
from strider.contracts.generated.events import EntryRecorded, HostRecorded
from strider.contracts.generated.topics import FRONTIER, HOSTS
from strider.contracts.generated.words import EntryState
from strider.contracts.glances import Glance
from strider.contracts.topic import Event
from strider.runtime.logs import logger
from strider.runtime.ports import Bus, Clock, TopicPartition
from strider.runtime.tables import TableReader
from strider.scheduler.core.entries import FORGOTTEN, is_forgotten
from strider.scheduler.topology.ports import Remnant, Told

A_PART: Final = 1_000
"""Entries that are handed on together."""

MOST_IN_MEMORY: Final = 400_000
"""Records of one pass: about 250 MB."""

_CLOSED: Final = frozenset({EntryState.COMPLETED, EntryState.FAILED})
_EMPTY_TEXT: Final = 0
"""How an event ends whose last field is a text without characters."""

E = TypeVar("E", bound=Event)

_log = logger("scheduler")


@dataclass(slots=True)
class _Pass:
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


class TopicArchive:
    """Reads the truth topics of a shard."""

    def __init__(self, bus: Bus, codec: Codec, *, clock: Clock, most_in_memory: int = MOST_IN_MEMORY) -> None:
        self._table = TableReader(bus, clock=clock)
        self._codec = codec
        self._most_in_memory = most_in_memory
        self._glance = Glance(codec, FRONTIER, until="busy_ms", without=("group",))

    async def entries(self, shard: int) -> AsyncIterator[Told]:
        """Give what the last record of each entry says."""
        where = TopicPartition(FRONTIER.name, shard)
        number, passes = 0, 1
        while number < passes:
            reading = _Pass(number, passes, self._most_in_memory)
            await self._table.read([where], reading.keep)
            passes = reading.passes
            values, size, done = iter(reading.last.items()), len(reading.last), 0
            while part := list(islice(values, A_PART)):
                done += len(part)
                yield self._told(part, (number + done / size) / passes)
            number += 1

    async def hosts(self, shard: int) -> Sequence[HostRecorded]:
        """Give the last record of each group and origin."""
        values = await self._table.load([TopicPartition(HOSTS.name, shard)], key=bytes, value=bytes)
        read = []
        for number, (key, value) in enumerate(values.items()):
            if number % A_PART == 0:
                await asyncio.sleep(0)
            if (host := self._decoded(HOSTS, key, value)) is not None:
                read.append(host)
        return read

    async def latest(self, shard: int, is_wanted: Callable[[bytes], bool]) -> Mapping[bytes, bytes]:
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

    def entry(self, value: bytes) -> EntryRecorded | None:
        """Read a record."""
        return self._decoded(FRONTIER, b"", value)

    def _told(self, part: Sequence[tuple[bytes, bytes]], behind: float) -> Told:
        opened: list[EntryRecorded] = []
        closed: list[Remnant] = []
        for key, value in part:
            fields = self._glance.read(value)
            if fields is not None and _is_closed_for_good(fields, value):
                closed.append(_remnant(fields))
                continue
            entry = self._decoded(FRONTIER, key, value)
            if entry is None:
                continue
            if entry.state in _CLOSED:
                closed.append(_remnant_of(entry))
            else:
                opened.append(entry)
        return Told(opened, closed, behind)

    def _decoded(self, topic: Topic[E], key: bytes, value: bytes) -> E | None:
        try:
            return self._codec.decode(topic, value)
        except DecodeError as failure:
            _log.error("Record Unreadable", topic=topic.name, key=repr(key), why=str(failure))
            return None


def _is_closed_for_good(fields: dict[str, Any], value: bytes) -> bool:
    """Say whether the glance saw all that counts: no token stands at the end, and no error class matters."""
    return fields["state"] in _CLOSED and value[-1] == _EMPTY_TEXT and fields["reason"] not in FORGOTTEN


def _remnant(fields: dict[str, Any]) -> Remnant:
    return Remnant(
        fields["job_id"],
        fields["url_key"],
        fields["execution_id"],
        fields["crawl_spec_id"],
        fields["fetch_sequence"],
        fields["updated_at_ms"],
        fields["reason"],
        fields["url"],
        fields["body_bytes"],
        fields["busy_ms"],
    )


def _remnant_of(entry: EntryRecorded) -> Remnant:
    return Remnant(
        entry.job_id,
        entry.url_key,
        entry.execution_id,
        entry.crawl_spec_id,
        entry.fetch_sequence,
        entry.updated_at_ms,
        entry.reason,
        entry.url,
        entry.body_bytes,
        entry.busy_ms,
        entry.seed_token,
        is_forgotten(entry),
    )
