"""Ports: bus, producer, consumer, shard writer, clock, randomness, schema source.

Two families of adapters implement them: `kafka` (aiokafka, a real broker) and `inprocess` (the same
partitions, keys, order and at-least-once delivery in one process). `tests/contract` runs one suite against
both. Nothing here may import a client library.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from strider.contracts import UnknownSchema
from strider.contracts.fast_dataclass import fast_dataclass

Header = tuple[str, bytes | None]
"""Name and content; a client may write a header without content."""


class TopicPartition(NamedTuple):
    """One partition of one topic; equal, by value, to any client library's own pair."""

    topic: str
    partition: int


class Record(Protocol):
    """A message as it was read. aiokafka's ConsumerRecord already is one, so nothing is copied."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[Header]: ...


@fast_dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message to be sent. `partition` is None where the key's hash decides."""

    topic: str
    key: bytes | None
    value: bytes | None
    partition: int | None = None
    headers: tuple[Header, ...] = ()
    is_compressed: bool = True
    """Whether its topic's batches are compressed, where its producer compresses at all."""


class RawRecord(NamedTuple):
    """Key and value for a raw batch: about a microsecond each, no headers, no future of its own."""

    key: bytes | None
    value: bytes | None


class RecordMetadata(NamedTuple):
    """Position at which the broker has stored a message."""

    topic: str
    partition: int
    offset: int


class Clock(Protocol):
    """Time as an argument. Intervals use `monotonic`; only records and logs use `now`."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


def epoch_ms(clock: Clock) -> int:
    """Return the time of a clock as records and events have it: milliseconds since 1970."""
    return round(clock.now().timestamp() * 1000)


class Randomness(Protocol):
    """Randomness as an argument, for jitter and nothing that must be repeatable."""

    def uniform(self, low: float, high: float) -> float: ...


class Producer(Protocol):
    """Idempotent, acks=all. An awaited acknowledgement means that the broker has it."""

    async def send(self, message: OutgoingMessage) -> Awaitable[RecordMetadata]:
        """Queue a message (waits only for buffer space); the returned awaitable is its acknowledgement."""

    async def send_raw(
        self, topic: str, partition: int, records: Iterable[RawRecord]
    ) -> Sequence[Awaitable[RecordMetadata]]:
        """Queue records as raw batches, split where one batch is full; one acknowledgement a batch."""

    async def flush(self) -> None:
        """Wait until everything that was queued is acknowledged or has failed."""

    async def close(self) -> None: ...


class ShardWriter(Protocol):
    """The transactional producer of one shard: what it commits, no fenced owner can have written.

    `epoch` is the producer epoch that the broker issued when the shard was taken; taking it fences every
    earlier owner for good.
    """

    @property
    def shard(self) -> int: ...
    @property
    def epoch(self) -> int: ...

    def append(self, topic: str, partition: int, record: RawRecord) -> Awaitable[None]:
        """Add to the open group; the awaitable ends with its commit, or raises ShardFenced."""

    async def flush(self) -> None:
        """Commit what is open now, without waiting for the group's interval."""

    async def close(self) -> None: ...


class RebalanceListener(Protocol):
    """Called before partitions are revoked (time to finish and commit) and after they were assigned."""

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None: ...
    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None: ...


class Consumer(Protocol):
    """A member of a group, or (without a group) a reader of partitions that it names itself.

    Offset reset is `none`: a position that the log no longer has raises OffsetLost from `poll`, a partition
    without a committed offset raises OffsetMissing. No consumer is moved silently.
    """

    async def poll(
        self, *, max_records: int, timeout_seconds: float
    ) -> Mapping[TopicPartition, Sequence[Record]]:
        """Return the next records of the partitions that are not paused; also keeps the membership alive."""

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit the next offset to read. Raises PartitionNotOwned for a partition that was reassigned."""

    def pause(self, partitions: Iterable[TopicPartition]) -> None: ...
    def resume(self, partitions: Iterable[TopicPartition]) -> None: ...
    def assignment(self) -> frozenset[TopicPartition]: ...
    def kept(self) -> frozenset[TopicPartition]:
        """Return those of the assignment that were assigned here right before, with no assignment between.

        No other member can have had them since. Empty outside a group, and after the first join.
        """

    def seek(self, partition: TopicPartition, offset: int) -> None: ...
    async def position(self, partition: TopicPartition) -> int: ...
    async def committed(self, partition: TopicPartition) -> int | None: ...
    async def begin_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]: ...
    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return where the log ends now (committed data only, where the consumer reads committed)."""

    def held_by_transactions(self) -> Mapping[TopicPartition, int]:
        """Return where committed data ended at the last fetch, of those partitions that continue behind it.

        An open transaction begins there. Costs no request; only partitions that were read to that end.
        """

    async def offsets_at(self, moments_ms: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the first offset at or after a moment; the end offset where there is none."""

    async def close(self) -> None: ...


@fast_dataclass(frozen=True, slots=True)
class GroupSpec:
    """A consumer group and how it reads its topics."""

    group: str
    topics: tuple[str, ...]
    sharded: bool = False
    """Sharded: all topics are co-partitioned and assigned by shard number (our own assignor)."""
    session_timeout_seconds: float = 45.0
    max_poll_interval_seconds: float = 300.0
    read_committed: bool = True
    """Whether records are delivered only where no transaction is open, and none that was aborted."""
    max_batch_records: int | None = None
    """Record batches with more records are skipped unread; None: all are read."""


class Bus(Protocol):
    """A broker, from the point of view of a service."""

    async def producer(self, *, compression: str | None = "zstd") -> Producer: ...

    async def consumer(self, spec: GroupSpec, listener: RebalanceListener) -> Consumer: ...

    async def reader(self, partitions: Iterable[TopicPartition], *, read_committed: bool = True) -> Consumer:
        """Open a groupless reader at the beginning of the given partitions.

        One that does not read committed records alone waits for no transaction, as a group of public topics.
        """

    async def take_shard(
        self, namespace: str, shard: int, *, commit_interval_seconds: float = 0.25
    ) -> ShardWriter:
        """Become the one writer of a shard's topics; fence the writer before."""

    async def partition_count(self, topic: str) -> int | None:
        """Return how many partitions the topic has; None where it does not exist."""

    async def cluster_identity(self, topic: str) -> str:
        """Return what tells this cluster from all others: its id, and the id of one of its topics.

        The id of a cluster is a setting, and may be given to its replacement; a topic's id is not. Raises
        Unavailable where there is no such topic.
        """

    async def committed(self, group: str) -> Mapping[TopicPartition, int]:
        """Return the offsets that a group has committed, whichever its members are; raises Unavailable."""

    async def ping(self) -> None:
        """Raise Unavailable when the broker cannot be reached."""

    async def close(self) -> None: ...


class SchemaSource(Protocol):
    """Source of other writers' schemas: the `schemas` topic, or a registry."""

    async def find(self, *unknown: UnknownSchema) -> bool:
        """Read what there is *now*, to its end, and add it to the codec; True where any of them was there.

        Raises Unavailable where that could not be read: only what was looked for can be absent.
        """
