"""A broker in memory: topics, groups and transactions, shared by the buses of a process.

It starts no task and waits for nothing itself. Time comes from a clock, so the same program under virtual
time takes the same steps. Nothing here survives the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from strider.contracts import EncodeError, Topic
from strider.contracts.partitioning import key_partition
from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.ports import (
    Clock,
    Header,
    OutgoingMessage,
    RawRecord,
    RecordMetadata,
    TopicPartition,
    epoch_ms,
)

from .groups import GroupMember, InProcessGroup
from .log import RECORD_OVERHEAD_BYTES, PartitionLog
from .transactions import InProcessTransactions
from .waiters import wake

DELETE_RETENTION_MS = 7 * 24 * 3600 * 1000
"""How long tombstones outlive compaction, as on the real topics."""

MESSAGE_BYTES = 1024 * 1024 - 1024
"""Default size limit of a message with its headers, as for a real broker."""

WIRE_OVERHEAD_BYTES = 96
"""Size of a record on a real broker beside key, value and headers."""


@dataclass(slots=True, eq=False)
class InProcessTopic:
    """One topic: its partitions, and the futures of those that wait for a change of it."""

    name: str
    partitions: list[PartitionLog]
    max_bytes: int | None = None
    """Bound on what is kept. What every group has read is dropped first; then senders wait."""
    message_bytes: int = MESSAGE_BYTES
    """Bound on one message."""
    readers: set[asyncio.Future[None]] = field(default_factory=set)
    senders: set[asyncio.Future[None]] = field(default_factory=set)
    keyless_count: int = 0
    """Messages without a key take the partitions round-robin."""

    def size_bytes(self) -> int:
        """Return the size of what the topic holds now."""
        return sum(log.size_bytes for log in self.partitions)


class InProcessBroker:
    """Everything that is shared: several buses on one broker are several processes on one cluster."""

    def __init__(self, *, clock: Clock) -> None:
        self.clock = clock
        self.topics: dict[str, InProcessTopic] = {}
        self.groups: dict[str, InProcessGroup] = {}
        self.transactions = InProcessTransactions(self)
        self._outage: str | None = None
        self._last_ms = 0

    def declare_topic(self, topic: Topic[Any], *, shards: int, max_bytes: int | None = None) -> None:
        """Create a topic as it is declared: its partitions, and the largest message that it takes."""
        declared = int(topic.config.get("max.message.bytes", MESSAGE_BYTES))
        self.create_topic(
            topic.name,
            topic.partitions or shards,
            max_bytes=max_bytes,
            message_bytes=min(declared, MESSAGE_BYTES),
        )

    def create_topic(
        self,
        name: str,
        partitions: int,
        *,
        max_bytes: int | None = None,
        message_bytes: int = MESSAGE_BYTES,
    ) -> None:
        """Create a topic; one that exists already must have the same partitions."""
        existing = self.topics.get(name)
        if existing is not None and len(existing.partitions) != partitions:
            raise StartRefused(f"{name} has {len(existing.partitions)} partitions, not {partitions}")
        if existing is None:
            logs = [PartitionLog(name, number) for number in range(partitions)]
            self.topics[name] = InProcessTopic(name, logs, max_bytes, message_bytes)
            for group in self.groups.values():
                group.topic_created(name)

    def start_group(self, group: str, topics: Iterable[str]) -> None:
        """Write the initial offsets of a group where it has none: the beginning of each partition."""
        committed = self.group(group).committed
        for topic in topics:
            for log in self.topic(topic).partitions:
                committed.setdefault(TopicPartition(topic, log.partition), log.start)

    def set_unavailable(self, detail: str) -> None:
        """Become unreachable: every call raises Unavailable until `set_available`."""
        self._outage = detail

    def set_available(self) -> None:
        """Be reachable again; nothing was lost meanwhile."""
        self._outage = None

    def check_available(self) -> None:
        """Raise Unavailable while unreachable."""
        if self._outage is not None:
            raise Unavailable("kafka", self._outage)

    def topic(self, name: str) -> InProcessTopic:
        """Return a topic; raise Unavailable for one that is missing, as a real broker's client does."""
        found = self.topics.get(name)
        if found is None:
            raise Unavailable("kafka", f"topic {name} does not exist")
        return found

    def log(self, partition: TopicPartition) -> PartitionLog:
        """Return the log of a partition."""
        logs = self.topic(partition.topic).partitions
        if not 0 <= partition.partition < len(logs):
            raise Unavailable("kafka", f"{partition.topic} has no partition {partition.partition}")
        return logs[partition.partition]

    def group(self, name: str) -> InProcessGroup:
        """Return a group; create it where it is new."""
        if name not in self.groups:
            self.groups[name] = InProcessGroup(name, self.partition_count)
        return self.groups[name]

    def partition_count(self, topic: str) -> int | None:
        """Return how many partitions a topic has; None where it does not exist."""
        found = self.topics.get(topic)
        return None if found is None else len(found.partitions)

    def now_ms(self) -> int:
        """Return wall-clock time for records; it rises with the offsets, whatever the clock does."""
        self._last_ms = max(self._last_ms, epoch_ms(self.clock))
        return self._last_ms

    def append(self, message: OutgoingMessage) -> RecordMetadata:
        """Write one message to its partition."""
        topic = self.topic(message.topic)
        number = self._partition_of(topic, message)
        if not 0 <= number < len(topic.partitions):
            raise Unavailable("kafka", f"{message.topic} has no partition {number}")
        log = topic.partitions[number]
        offset = log.append(
            timestamp=self.now_ms(), key=message.key, value=message.value, headers=message.headers
        )
        if topic.readers:
            wake(topic.readers)
        return RecordMetadata(message.topic, number, offset)

    def append_raw(
        self,
        partition: TopicPartition,
        records: Sequence[RawRecord],
        *,
        transaction: str | None = None,
    ) -> RecordMetadata:
        """Write records as one batch, within a transaction or not; return the position of the first."""
        log = self.log(partition)
        first, timestamp = log.end, self.now_ms()
        for key, value in records:
            log.append(timestamp=timestamp, key=key, value=value, transaction=transaction)
        wake(self.topic(partition.topic).readers)
        return RecordMetadata(partition.topic, partition.partition, first)

    def has_capacity(self, topic: InProcessTopic, size_bytes: int) -> bool:
        """Whether a topic may take so much more, after it dropped what every group has read."""
        if topic.max_bytes is None or topic.size_bytes() + size_bytes <= topic.max_bytes:
            return True
        for log in topic.partitions:
            log.trim(self.min_committed_offset(log))
        held = topic.size_bytes()
        # A message larger than the whole bound passes alone, instead of waiting for ever.
        return held == 0 or held + size_bytes <= topic.max_bytes

    def compact(self, topic: str, *, delete_retention_ms: int = DELETE_RETENTION_MS) -> None:
        """Keep the last committed record of each key, as a real broker's cleaner does."""
        for log in self.topic(topic).partitions:
            log.compact(now_ms=self.now_ms(), delete_retention_ms=delete_retention_ms)

    def trim(self, partition: TopicPartition, before: int) -> None:
        """Delete everything below an offset, as retention does."""
        self.log(partition).trim(before)
        wake(self.topic(partition.topic).senders)

    def trim_read(
        self, *, keep: Collection[str] = (), ends: Mapping[TopicPartition, tuple[int, int]] | None = None
    ) -> None:
        """Drop what no group has still to read, up to these ends where they are given.

        A topic that no group reads is dropped whole; name in `keep` those that are read as tables.
        """
        for topic in self.topics.values():
            if topic.name in keep:
                continue
            for log in topic.partitions:
                place = TopicPartition(topic.name, log.partition)
                bound = log.stable_end() if ends is None else ends.get(place, (0, 0))[1]
                log.trim(min(self.min_committed_offset(log), bound))
            wake(topic.senders)

    def commit(self, group: str, member: GroupMember, offsets: Mapping[TopicPartition, int]) -> None:
        """Store a member's offsets; what all groups have read may make room for senders."""
        self.group(group).commit(member, offsets)
        for topic in {partition.topic for partition in offsets}:
            wake(self.topic(topic).senders)

    def lag(self, group: str) -> Mapping[TopicPartition, int]:
        """Return the lag of a group's committed offsets behind the committed ends."""
        return {
            tp: max(0, self.log(tp).stable_end() - offset)
            for tp, offset in self.group(group).committed.items()
        }

    def _partition_of(self, topic: InProcessTopic, message: OutgoingMessage) -> int:
        if message.partition is not None:
            return message.partition
        if message.key is not None:
            return _partition_of_key(message.key, len(topic.partitions))
        topic.keyless_count += 1
        return (topic.keyless_count - 1) % len(topic.partitions)

    def min_committed_offset(self, log: PartitionLog) -> int:
        """Return the offset below which every group that reads a partition has committed."""
        partition = TopicPartition(log.topic, log.partition)
        offsets = [g.committed[partition] for g in self.groups.values() if partition in g.committed]
        return min(offsets, default=log.stable_end())


_partition_of_key = lru_cache(maxsize=8192)(key_partition)
"""Keys repeat, and the hash is the most expensive part of sending."""


def stored_bytes(message: OutgoingMessage) -> int:
    """Return the size of a message that counts against a topic's bound."""
    return len(message.key or b"") + len(message.value or b"") + RECORD_OVERHEAD_BYTES


def check_size(
    topic: InProcessTopic, key: bytes | None, value: bytes | None, headers: Sequence[Header] = ()
) -> None:
    """Refuse a message that a real broker would refuse, before it is sent."""
    size = len(key or b"") + len(value or b"")
    for name, content in headers:
        size += len(name) + len(content or b"")
    if size + WIRE_OVERHEAD_BYTES > topic.message_bytes:
        raise EncodeError(f"{size} bytes for {topic.name} are over the limit of {topic.message_bytes}")
