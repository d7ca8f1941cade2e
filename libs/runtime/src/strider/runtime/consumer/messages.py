"""What the loop keeps of partitions and messages while it has them.

A unit is what is handled, spoken and remembered as one: a message, or what one poll brought for a
batch handler. Units know where they belong and who comes after them; they decide nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b

from strider.messaging.effects import NO_EFFECTS, BatchHandler, Effects, Handler, Subscription
from strider.messaging.ports import Header, Record, TopicPartition
from strider.runtime.publishing.publisher import Acknowledgement

from .key_ordering import KeyOrdering
from .offset_tracker import OffsetTracker


class Stage(IntEnum):
    """How far a unit has come. Each stage is repeated as a whole when it fails."""

    HANDLE = 0
    DEAD_LETTER = 1
    """Write the dead letter; its sending is then the unit's effects."""
    PUBLISH = 2
    PUBLISH_LAST = 3
    AFTER_ACK = 4


@dataclass(slots=True, eq=False)
class AssignedPartition:
    """A partition for as long as this member has it; a new assignment makes a new one."""

    name: TopicPartition
    subscription: Subscription
    offsets: OffsetTracker = field(default_factory=OffsetTracker)
    key_ordering: KeyOrdering[InFlightMessage] = field(default_factory=KeyOrdering)
    committed: int | None = None
    """What the group is known to have committed."""
    quiet_at: int | None = None
    """Position at the last look, if everything before it was done then."""
    sought: tuple[float, int] | None = None
    """When its end was looked for, and where it was; None once all before that is known to be done."""
    is_new: bool = True
    """Its end was not looked for yet since it may be read."""
    in_flight_messages: int = 0
    """In flight."""
    in_flight_bytes: int = 0
    hold_reasons: set[str] = field(default_factory=set)
    """Why nothing of it is read now: a shard that is not ready, an unknown schema, a loss …"""
    deferred: list[Record] = field(default_factory=list)
    """Read before the shard was ready."""
    started_up_to: int = -1
    """Highest offset that was begun."""
    is_revoking: bool = False
    """Nothing behind `begun_to` is started any more; what lies before it is, or it would be a gap."""
    is_fenced: bool = False
    """Nothing of it is started any more: a newer owner writes its shard."""
    is_closed: bool = False
    """Nothing of it may be finished any more: it belongs to somebody else."""

    def can_start(self, offset: int) -> bool:
        """Whether a message may be started (again)."""
        if self.is_fenced or self.is_closed:
            return False
        return offset <= self.started_up_to or not self.is_revoking

    def mark_started(self, offset: int) -> None:
        """Note that a message was begun: all before it is to be done before the partition goes."""
        self.started_up_to = max(self.started_up_to, offset)


class InFlightMessage:
    """One message on its way from its handler's call to its offset."""

    __slots__ = (
        "acknowledgements",
        "attempts",
        "cancelled_for",
        "deadline",
        "effects",
        "failure",
        "headers",
        "partition",
        "probe",
        "record",
        "remembering",
        "searched_for",
        "size_bytes",
        "stage",
        "started_at",
    )

    def __init__(self, partition: AssignedPartition, record: Record) -> None:
        self.partition = partition
        self.record = record
        self.size_bytes = size_of(record)
        self.stage = Stage.HANDLE
        self.effects: Effects = NO_EFFECTS
        self.headers: tuple[Header, ...] = ()
        """The trace that what is said carries on."""
        self.acknowledgements: list[Acknowledgement] | None = None
        self.after_ack_task: asyncio.Task[None] | None = None
        self.failure: BaseException | None = None
        """Why it is given up."""
        self.attempts = 0
        self.started_at = 0.0
        self.deadline = 0.0
        self.cancelled_for: str | None = None
        """Why its task was cancelled: `deadline` or `revoked`."""
        self.searched_schema: tuple[bytes | None, int | None] | None = None
        """The unknown schema that was looked for on its behalf."""
        self.probe: asyncio.Future[bool] | None = None
        """Who waits to learn whether infrastructure is back."""

    @property
    def message_count(self) -> int:
        """How many messages this is."""
        return 1

    @property
    def cause(self) -> str:
        """Name what its events follow from; the same when it is handled again."""
        name = self.partition.name
        return f"{name.topic}:{name.partition}:{self.record.offset}"

    @property
    def is_closed(self) -> bool:
        """Whether it is somebody else's now."""
        return self.partition.is_closed

    @property
    def can_start(self) -> bool:
        """Whether anything of it may be started."""
        return self.partition.can_start(self.record.offset)

    def startable(self) -> InFlightMessage | None:
        """Return what of it, or after it, may still be started."""
        return self if self.can_start else None

    def mark_started(self) -> None:
        """Note in its partition that it was begun."""
        self.partition.mark_started(self.record.offset)

    def partitions(self) -> tuple[AssignedPartition, ...]:
        """Where it came from."""
        return (self.partition,)

    def finish(self) -> InFlightMessage | None:
        """Note it as done; returns who may start now."""
        partition, record = self.partition, self.record
        partition.offsets.complete(record.offset)
        partition.in_flight_messages -= 1
        partition.in_flight_bytes -= self.size_bytes
        return (
            partition.key_ordering.release(record.key) if partition.subscription.is_ordered_by_key else None
        )


class InFlightBatch(InFlightMessage):
    """What one poll brought for a batch handler."""

    __slots__ = ("parts", "queue")

    def __init__(self, parts: Sequence[tuple[AssignedPartition, Record]], queue: BatchQueue) -> None:
        super().__init__(*parts[0])
        self.parts = parts
        self.queue = queue
        self.size_bytes = sum(size_of(record) for _, record in parts)

    @property
    def message_count(self) -> int:
        """How many messages this is."""
        return len(self.parts)

    @property
    def cause(self) -> str:
        """Name all messages that its events follow from."""
        digest = blake2b(digest_size=16)
        for partition, record in self.parts:
            digest.update(f"{partition.name.partition}:{record.offset},".encode())
        return f"{self.partition.name.topic}:{digest.hexdigest()}"

    @property
    def is_closed(self) -> bool:
        """Whether it is somebody else's now."""
        return any(partition.is_closed for partition, _ in self.parts)

    @property
    def can_start(self) -> bool:
        """Whether anything of it may be started."""
        return any(partition.can_start(record.offset) for partition, record in self.parts)

    def partitions(self) -> tuple[AssignedPartition, ...]:
        """Where it came from."""
        return tuple({id(partition): partition for partition, _ in self.parts}.values())

    def startable(self) -> InFlightMessage | None:
        """Return what of it, or after it, may still be started: one shard must not stop the others."""
        unit: InFlightBatch | None = self
        while unit is not None:
            if unit.is_closed:
                return None  # its queue belongs to the next assignment
            rest = [part for part in unit.parts if part[0].can_start(part[1].offset)]
            if rest:
                return unit if len(rest) == len(unit.parts) else InFlightBatch(rest, unit.queue)
            unit = unit.queue.release()
        return None

    def mark_started(self) -> None:
        """Note in its partitions that it was begun."""
        for partition, record in self.parts:
            partition.mark_started(record.offset)

    def split(self) -> Iterator[InFlightBatch]:
        """Make one unit of each message, so that the bad one can be told from the others."""
        for part in self.parts:
            yield InFlightBatch((part,), self.queue)

    def finish(self) -> InFlightMessage | None:
        """Note it as done; returns who may start now."""
        for partition, record in self.parts:
            partition.offsets.complete(record.offset)
            partition.in_flight_messages -= 1
            partition.in_flight_bytes -= size_of(record)
        return self.queue.release()


class BatchQueue:
    """Batches of one topic, one after the other: that keeps the order of every key.

    What has come while one was worked on goes together next: a handler that takes as long for one
    message as for many (a commit, a statement) would else fall behind a steady trickle for good.
    """

    __slots__ = ("_alone", "_is_held", "_most", "_waiting")

    def __init__(self, max_messages: int) -> None:
        self._most = max_messages
        self._waiting: deque[InFlightBatch] = deque()
        self._split: deque[InFlightBatch] = deque()
        """Batches that were taken apart to find the bad message: they stay apart."""
        self._is_held = False

    def acquire(self, batch: InFlightBatch) -> bool:
        """Begin with a batch; False where it has to queue."""
        if self._is_held:
            self._waiting.append(batch)
            return False
        self._is_held = True
        return True

    def replace(self, batches: Sequence[InFlightBatch]) -> InFlightBatch | None:
        """Put other batches in the place of the one that was begun; returns the one to begin with."""
        self._split.extendleft(reversed(batches))
        return self.release()

    def release(self) -> InFlightBatch | None:
        """End the batch that was begun; returns the next one."""
        if self._split:
            return self._split.popleft()
        if self._waiting:
            return self._together(self._waiting.popleft())
        self._is_held = False
        return None

    def _together(self, first: InFlightBatch) -> InFlightBatch:
        parts = list(first.parts)
        while self._waiting and len(parts) + self._waiting[0].message_count <= self._most:
            parts += self._waiting.popleft().parts
        return first if len(parts) == first.message_count else InFlightBatch(parts, self)

    def clear(self) -> None:
        """Forget everything: all partitions were given back."""
        self._waiting.clear()
        self._split.clear()
        self._is_held = False


def size_of(record: Record) -> int:
    """Count what a record holds of the window."""
    key, value = record.key, record.value
    return (0 if key is None else len(key)) + (0 if value is None else len(value))


def handler_of(subscription: Subscription) -> Handler:
    """Return the handler of an input that has no batch handler."""
    assert subscription.handler is not None
    return subscription.handler


def batch_handler_of(subscription: Subscription) -> BatchHandler:
    """Return the batch handler of an input that has one."""
    assert subscription.batch_handler is not None
    return subscription.batch_handler


Enqueue = Callable[[InFlightMessage], None]
"""Hands a unit to whoever works."""
