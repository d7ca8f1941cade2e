"""The frontier's truth on its topics, written in the shard's transactions, read whole at a take-over.

Decides what becomes of a record that cannot be read: it is told loudly and left out, because a shard
that never opens would lose all its other entries for the sake of one. Knows nothing of scheduling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from strider.contracts import DecodeError, Topic
from strider.contracts.codec import Codec
from strider.contracts.generated.events import EntryRecorded, HostRecorded, JobEvent
from strider.contracts.generated.topics import FRONTIER, HOSTS, JOB_EVENTS
from strider.contracts.topic import Event
from strider.runtime.errors import OffsetLost
from strider.runtime.logs import logger
from strider.runtime.metrics import Metric, Metrics
from strider.runtime.ports import Bus, Clock, Consumer, RawRecord, ShardWriter, TopicPartition
from strider.runtime.tables import TableReader
from strider.stores.frontier.ports import Figures

NAMESPACE: Final = "scheduler"
"""First part of the transactional id: shards of other services have their own owners."""

NEWS_SECONDS: Final = 0.5
"""How long one look for wishes waits; what comes meanwhile ends it at once."""

_BULLETIN: Final = TopicPartition(JOB_EVENTS.name, 0)

E = TypeVar("E", bound=Event)

_log = logger("scheduler")


class TopicTruth:
    """The log of one shard in hand."""

    def __init__(self, writer: ShardWriter, codec: Codec) -> None:
        self._writer = writer
        self._codec = codec

    @property
    def epoch(self) -> int:
        """The epoch that taking the shard was given."""
        return self._writer.epoch

    def entry(self, entry: EntryRecorded) -> RawRecord:
        """Encode an entry's record."""
        return RawRecord(FRONTIER.key_of(entry), self._codec.encode(FRONTIER, entry).value)

    async def write(
        self, entries: Sequence[RawRecord], hosts: Sequence[HostRecorded] = (), *, at_once: bool = False
    ) -> None:
        """Write within one group commit."""
        told = [RawRecord(HOSTS.key_of(host), self._codec.encode(HOSTS, host).value) for host in hosts]
        shard, append = self._writer.shard, self._writer.append
        waiting = [append(FRONTIER.name, shard, record) for record in entries]
        waiting += [append(HOSTS.name, shard, record) for record in told]
        if at_once and waiting:
            await self._writer.flush()
        for commit in dict.fromkeys(waiting):
            await commit

    async def close(self) -> None:
        """Commit what is open, and write no more."""
        await self._writer.close()


class TopicTruths:
    """Takes shards at the broker."""

    def __init__(self, bus: Bus, codec: Codec, *, commit_interval_seconds: float) -> None:
        self._bus = bus
        self._codec = codec
        self._commit_interval_seconds = commit_interval_seconds

    async def take(self, shard: int) -> TopicTruth:
        """Become the one writer."""
        writer = await self._bus.take_shard(
            NAMESPACE, shard, commit_interval_seconds=self._commit_interval_seconds
        )
        return TopicTruth(writer, self._codec)


class TopicArchive:
    """Reads the truth topics to their committed end."""

    def __init__(self, bus: Bus, codec: Codec, *, clock: Clock) -> None:
        self._table = TableReader(bus, clock=clock)
        self._codec = codec

    async def entries(self, shard: int) -> Sequence[EntryRecorded]:
        """Give the last record of each entry."""
        return await self._read(FRONTIER, shard)

    async def hosts(self, shard: int) -> Sequence[HostRecorded]:
        """Give the last record of each group and origin."""
        return await self._read(HOSTS, shard)

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
        try:
            return self._codec.decode(FRONTIER, value)
        except DecodeError as failure:
            _log.error("Record Unreadable", topic=FRONTIER.name, why=str(failure))
            return None

    async def _read(self, topic: Topic[E], shard: int) -> list[E]:
        where = TopicPartition(topic.name, shard)
        values = await self._table.load([where], key=bytes, value=_same)
        read: list[E] = []
        for key, value in values.items():
            try:
                read.append(self._codec.decode(topic, value))
            except DecodeError as failure:
                _log.error("Record Unreadable", topic=topic.name, key=repr(key), why=str(failure))
        return read


class TopicBulletin:
    """Reads `job-events` from their beginning to now, and on; after an outage where it stopped."""

    def __init__(self, bus: Bus, codec: Codec) -> None:
        self._bus = bus
        self._codec = codec
        self._reader: Consumer | None = None
        self._next = 0

    async def news(self) -> Sequence[JobEvent]:
        """Wait a little for what comes next."""
        return await self._poll(await self._opened())

    async def until_now(self) -> Sequence[JobEvent]:
        """Give all that had been said by now."""
        reader = await self._opened()
        end = (await reader.end_offsets([_BULLETIN]))[_BULLETIN]
        found: list[JobEvent] = []
        while await reader.position(_BULLETIN) < end:
            found += await self._poll(reader)
        return found

    async def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            reader, self._reader = self._reader, None
            await reader.close()

    async def _opened(self) -> Consumer:
        if self._reader is None:
            reader = await self._bus.reader([_BULLETIN])
            if self._next:
                reader.seek(_BULLETIN, self._next)
            self._reader = reader
        return self._reader

    async def _poll(self, reader: Consumer) -> list[JobEvent]:
        try:
            found = await reader.poll(max_records=1_000, timeout_seconds=NEWS_SECONDS)
        except OffsetLost as lost:  # wishes age; what they came to is in the truth topics
            reader.seek(_BULLETIN, lost.available)
            return []
        except BaseException:
            await self.close()  # where it stands is not known any more
            raise
        events = []
        for record in found.get(_BULLETIN, ()):
            self._next = record.offset + 1
            try:
                events.append(self._codec.decode(JOB_EVENTS, record.value or b"", record.headers))
            except DecodeError as failure:
                _log.error("Wish Unreadable", offset=record.offset, why=str(failure))
        return events


def _same(value: bytes) -> bytes:
    return value


DECIDED: Final = Metric(
    "strider_scheduler_decisions_total",
    "counter",
    "Decisions about URLs, by what was decided.",
    ("decision",),
)
QUEUED: Final = Metric(
    "strider_frontier_queued", "gauge", "Entries that wait for their turn.", ("shard",), max_series=4096
)
LEASED: Final = Metric(
    "strider_frontier_leased", "gauge", "Requests that are released and have not ended.", ("shard",), 4096
)
IN_RING: Final = Metric(
    "strider_frontier_in_ring", "gauge", "Pages that were fetched and are not settled.", ("shard",), 4096
)
GROUPS: Final = Metric("strider_frontier_groups", "gauge", "Groups with state.", ("shard",), 4096)
PARKED: Final = Metric(
    "strider_frontier_parked",
    "gauge",
    "Entries only in the log until there is room.",
    ("shard",),
    4096,
)
ASLEEP: Final = Metric(
    "strider_frontier_asleep", "gauge", "Entries only in the log until nearly due.", ("shard",), 4096
)
MEMORY: Final = Metric(
    "strider_frontier_memory_percent", "gauge", "How full the store of a shard is.", ("shard",), 4096
)
REFILLS: Final = Metric(
    "strider_frontier_refills_total", "counter", "Looks through the log for parked entries.", ("shard",), 4096
)
REFILLED: Final = Metric(
    "strider_frontier_refilled_total", "counter", "Parked entries that were queued again.", ("shard",), 4096
)
FULLNESS: Final = (QUEUED, LEASED, IN_RING, GROUPS, PARKED, ASLEEP, MEMORY)
METRICS: Final = (DECIDED, *FULLNESS, REFILLS, REFILLED)


class ProcessMeter:
    """Counts in the process's metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        for metric in METRICS:
            metrics.declare(metric)

    def decided(self, word: str, count: int = 1) -> None:
        """Count decisions."""
        self._metrics.count(DECIDED, word, amount=count)

    def full(self, shard: int, figures: Figures | None) -> None:
        """Set a shard's figures; one that has gone is empty here."""
        name = str(shard)
        told = [0] * len(FULLNESS)
        if figures is not None:
            told = [figures.queued, figures.leased, figures.in_ring, figures.groups]
            told += [figures.parked, figures.asleep, figures.memory_percent]
        for metric, value in zip(FULLNESS, told, strict=True):
            self._metrics.set(metric, name, value=value)

    def refilled(self, shard: int, entries: int) -> None:
        """Count a look through the log."""
        self._metrics.count(REFILLS, str(shard))
        self._metrics.count(REFILLED, str(shard), amount=entries)
