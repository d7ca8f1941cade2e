"""State of partitions and messages while the loop has them.

One `InFlightMessage` is handled, published and committed as a whole: a single message, or a batch of what one
poll returned. These classes know their partition and their successor, and decide nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b
from typing import Any, Final

from strider.messaging.effects import NO_EFFECTS, BatchHandler, Effects, Handler, Subscription
from strider.messaging.ports import Header, Record, TopicPartition
from strider.runtime.publishing.publisher import Acknowledgement

from .offset_tracker import OffsetTracker
from .start_order import KeyOrdering

HEADER_BYTES: Final = 100
"""Memory that a header takes besides its name and content: a record may have half a million of them."""


class MessageStage(IntEnum):
    """Stages of a message. A stage that fails is repeated as a whole."""

    HANDLE = 0
    DEAD_LETTER = 1
    """Write the dead letter; publishing it then is the effect of the message."""
    PUBLISH = 2
    PUBLISH_LAST = 3
    AFTER_ACK = 4


@dataclass(slots=True, eq=False)
class AssignedPartition:
    """A partition while this member owns it; a new assignment creates a new one."""

    name: TopicPartition
    subscription: Subscription
    offsets: OffsetTracker = field(default_factory=OffsetTracker)
    key_ordering: KeyOrdering[InFlightMessage] = field(default_factory=KeyOrdering)
    committed: int | None = None
    """Offset that the group is known to have committed."""
    idle_position: int | None = None
    """Position at the last measurement, if everything before it was done then."""
    catch_up_target: tuple[float, int] | None = None
    """Time and end of the log when it was last looked up; None once all before it is done."""
    is_new: bool = True
    """Whether its end was not looked up since it became readable."""
    in_flight_messages: int = 0
    """Messages read and not done."""
    in_flight_bytes: int = 0
    hold_reasons: set[str] = field(default_factory=set)
    """Why it is not read now: a shard that is not ready, an unknown schema, a loss …"""
    deferred: list[Part] = field(default_factory=list)
    """Records read before the shard was ready."""
    started_up_to: int = -1
    """Highest offset that was started."""
    is_truncated: bool = False
    """Offsets in flight are of a log that is gone: they are not committed."""
    is_revoking: bool = False
    """Nothing behind `started_up_to` is started any more; what lies before it is, or it would be a gap."""
    is_fenced: bool = False
    """Nothing is started any more: a newer owner writes the shard."""
    is_closed: bool = False
    """Nothing may be finished any more: another member owns it."""

    def can_start(self, offset: int) -> bool:
        """Whether a message may be started (again)."""
        if self.is_fenced or self.is_closed:
            return False
        return offset <= self.started_up_to or not self.is_revoking

    def mark_started(self, offset: int) -> None:
        """Record that a message was started: everything before it has to be done before the partition is
        released.
        """
        self.started_up_to = max(self.started_up_to, offset)


Part = tuple[AssignedPartition, Record, int]
"""A record, with the partition that it came from and its size."""


class InFlightMessage:
    """One message from the call of its handler to its offset."""

    __slots__ = (
        "acknowledgements",
        "after_ack_task",
        "attempts",
        "cancelled_for",
        "deadline",
        "effects",
        "event",
        "failure",
        "headers",
        "partition",
        "probe",
        "record",
        "size_bytes",
        "stage",
        "started_at",
        "was_searched_for",
    )

    def __init__(self, partition: AssignedPartition, record: Record, size_bytes: int) -> None:
        self.partition = partition
        self.record = record
        self.size_bytes = size_bytes
        self.event: Any = None
        """The decoded message, where its claim has decoded it; only until it starts."""
        self.stage = MessageStage.HANDLE
        self.effects: Effects = NO_EFFECTS
        self.headers: tuple[Header, ...] = ()
        """Trace headers that the published events carry."""
        self.acknowledgements: list[Acknowledgement] | None = None
        self.after_ack_task: asyncio.Task[None] | None = None
        self.failure: BaseException | None = None
        """Why it is dead-lettered."""
        self.attempts = 0
        self.started_at = 0.0
        self.deadline = 0.0
        self.cancelled_for: str | None = None
        """Why its task was cancelled: `deadline` or `revoked`."""
        self.was_searched_for = False
        """Whether its unknown schemas were searched for: those that were not found do not exist."""
        self.probe: asyncio.Future[bool] | None = None
        """Set to whether the dependency is back, where this message is the probe for it."""

    @property
    def message_count(self) -> int:
        """Number of records."""
        return 1

    @property
    def cause(self) -> str:
        """Identity that the ids of its events derive from; the same when it is handled again."""
        name = self.partition.name
        return f"{name.topic}:{name.partition}:{self.record.offset}"

    def give_up(self, failure: BaseException) -> None:
        """Let its dead letter be the next that is made of it."""
        # Effects of the handler must not be mistaken for those of the dead letter.
        self.failure, self.effects = failure, NO_EFFECTS
        self.stage = MessageStage.DEAD_LETTER

    @property
    def is_closed(self) -> bool:
        """Whether another member owns it now."""
        return self.partition.is_closed

    @property
    def can_start(self) -> bool:
        """Whether it may be started, or started again."""
        partition = self.partition
        if partition.can_start(self.record.offset):
            return True
        return self.attempts > 0 and not (partition.is_fenced or partition.is_closed)

    def startable(self) -> InFlightMessage | None:
        """Return it, or the part of it or its successor, that may still be started."""
        return self if self.can_start else None

    def mark_started(self) -> None:
        """Record in its partition that it was started."""
        self.partition.mark_started(self.record.offset)

    def partitions(self) -> tuple[AssignedPartition, ...]:
        """Return the partitions that it came from."""
        return (self.partition,)

    def finish(self) -> InFlightMessage | None:
        """Mark it as done; return the message that may start now."""
        partition, record = self.partition, self.record
        partition.offsets.complete(record.offset)
        partition.in_flight_messages -= 1
        partition.in_flight_bytes -= self.size_bytes
        return (
            partition.key_ordering.release(record.key) if partition.subscription.is_ordered_by_key else None
        )


class InFlightBatch(InFlightMessage):
    """Records of one topic that a batch handler takes as a whole."""

    __slots__ = ("failures", "parts", "queue")

    def __init__(self, parts: Sequence[Part], queue: BatchQueue) -> None:
        partition, record, _ = parts[0]
        super().__init__(partition, record, sum([part[2] for part in parts]))
        self.parts = parts
        self.queue = queue
        self.failures: Mapping[int, BaseException] = {}
        """Of records of one partition that share a dead letter, by offset."""

    @property
    def message_count(self) -> int:
        """Number of records."""
        return len(self.parts)

    @property
    def cause(self) -> str:
        """Identity of all its records, that the ids of its events derive from."""
        digest = blake2b(digest_size=16)
        for partition, record, _ in self.parts:
            digest.update(f"{partition.name.partition}:{record.offset},".encode())
        return f"{self.partition.name.topic}:{digest.hexdigest()}"

    @property
    def is_closed(self) -> bool:
        """Whether another member owns one of its partitions now."""
        return any(part[0].is_closed for part in self.parts)

    @property
    def can_start(self) -> bool:
        """Whether any of its records may be started."""
        return any(partition.can_start(record.offset) for partition, record, _ in self.parts)

    def partitions(self) -> tuple[AssignedPartition, ...]:
        """Return the partitions that it came from."""
        return tuple({id(part[0]): part[0] for part in self.parts}.values())

    def startable(self) -> InFlightMessage | None:
        """Return what of it, or its successor, may still be started: one shard must not stop the others."""
        batch: InFlightBatch | None = self
        while batch is not None:
            if batch.is_closed:
                return None  # its queue belongs to the next assignment
            rest = [part for part in batch.parts if part[0].can_start(part[1].offset)]
            if rest:
                return batch if len(rest) == len(batch.parts) else batch.part(rest)
            batch = batch.queue.release()
        return None

    def mark_started(self) -> None:
        """Record in its partitions that it was started."""
        for partition, record, _ in self.parts:
            partition.mark_started(record.offset)

    def split(self) -> Iterator[InFlightBatch]:
        """Return a batch for each record, so that the bad one can be found."""
        for part in self.parts:
            yield self.part((part,))

    def part(self, parts: Sequence[Part]) -> InFlightBatch:
        """Return a batch of some of its records."""
        batch = InFlightBatch(parts, self.queue)
        batch.was_searched_for = self.was_searched_for
        batch.failures = self.failures
        if self.failure is not None:
            batch.give_up(self.failure)
        return batch

    def finish(self) -> InFlightMessage | None:
        """Mark it as done; return the batch that may start now."""
        for partition, record, size_bytes in self.parts:
            partition.offsets.complete(record.offset)
            partition.in_flight_messages -= 1
            partition.in_flight_bytes -= size_bytes
        return self.queue.release()


class BatchQueue:
    """Batches of one topic, one after the other: that keeps the order of every key.

    Records that arrive while a batch is handled form the next batch together: a handler that takes as long
    for one record as for many (a commit, a statement) would else fall behind a steady trickle.
    """

    __slots__ = ("_is_busy", "_max_messages", "_split", "_waiting")

    def __init__(self, max_messages: int) -> None:
        self._max_messages = max_messages
        self._waiting: deque[InFlightBatch] = deque()
        self._split: deque[InFlightBatch] = deque()
        """Batches of one record each, made to find the bad one; they are not merged again."""
        self._is_busy = False

    def acquire(self, batch: InFlightBatch) -> bool:
        """Start with a batch; False where it has to queue."""
        if self._is_busy:
            self._waiting.append(batch)
            return False
        self._is_busy = True
        return True

    def replace(self, batches: Sequence[InFlightBatch]) -> InFlightBatch | None:
        """Replace the started batch by others; return the first of them."""
        self._split.extendleft(reversed(batches))
        return self.release()

    def release(self) -> InFlightBatch | None:
        """End the started batch; return the next one."""
        if self._split:
            return self._split.popleft()
        if self._waiting:
            return self._merge(self._waiting.popleft())
        self._is_busy = False
        return None

    def _merge(self, first: InFlightBatch) -> InFlightBatch:
        parts = list(first.parts)
        while self._waiting and len(parts) + self._waiting[0].message_count <= self._max_messages:
            parts += self._waiting.popleft().parts
        return first if len(parts) == first.message_count else InFlightBatch(parts, self)

    def clear(self) -> None:
        """Drop everything: all partitions were revoked."""
        self._waiting.clear()
        self._split.clear()
        self._is_busy = False


def record_size(record: Record) -> int:
    """Return the bytes of a record that count against the buffer."""
    key, value = record.key, record.value
    size = (0 if key is None else len(key)) + (0 if value is None else len(value))
    for name, content in record.headers:
        size += len(name) + len(content or b"") + HEADER_BYTES
    return size


def handler_of(subscription: Subscription) -> Handler:
    """Return the handler of a subscription that has no batch handler."""
    assert subscription.handler is not None
    return subscription.handler


def batch_handler_of(subscription: Subscription) -> BatchHandler:
    """Return the batch handler of a subscription that has one."""
    assert subscription.batch_handler is not None
    return subscription.batch_handler


Enqueue = Callable[[InFlightMessage], None]
"""Passes a message to the workers."""
