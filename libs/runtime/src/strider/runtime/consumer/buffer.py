"""Buffer of messages that are read and not done; it bounds memory and decides when to read.

The bounds are a number of messages and of bytes. A full buffer has to empty by a quarter before more is read,
because a poll for one message costs as much as for many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from strider.messaging.effects import Subscription
from strider.messaging.ports import GroupSpec, Record, TopicPartition

from .messages import AssignedPartition, BatchQueue, InFlightBatch, InFlightMessage, Part, record_size
from .partitions import SHARD
from .pauses import Pauses
from .ports import ReadGate
from .spec import ConsumerSettings
from .worker_pool import WorkerPool

RESUME_SHARE = 0.75
"""Share of the bounds at which a full buffer is read into again."""


class MessageBuffer:
    """Messages that were read and are not done."""

    def __init__(
        self,
        subscriptions: Mapping[str, Subscription],
        *,
        settings: ConsumerSettings,
        pauses: Pauses,
        pool: WorkerPool,
        gate: ReadGate,
    ) -> None:
        self._settings = settings
        self._gate = gate
        gate.on_open(self._on_gate_open)
        self._pauses = pauses
        self._pool = pool
        self._queues = {
            topic: BatchQueue(settings.poll_records)
            for topic, each in subscriptions.items()
            if each.batch_handler
        }
        self._largest_bytes = max(each.topic.max_bytes for each in subscriptions.values())
        self._is_draining = False
        """Whether the buffer was full."""
        self.message_count = 0
        self.size_bytes = 0
        self.can_read = asyncio.Event()

    def has_capacity(self) -> bool:
        """Whether anything may be read now; if not, `can_read` is set once it may."""
        settings = self._settings
        share = RESUME_SHARE if self._is_draining else 1.0
        self._is_draining = (
            self.message_count >= share * settings.buffer_messages
            or self.size_bytes >= share * settings.buffer_bytes
        )
        has_room = not self._is_draining and not self._pauses.is_blocked and self._gate.is_open
        if not has_room:
            self.can_read.clear()
        return has_room

    def free_messages(self) -> int:
        """Return how many messages fit, if all of them are as large as their topic allows."""
        free_bytes = self._settings.buffer_bytes - self.size_bytes
        by_messages = self._settings.buffer_messages - self.message_count
        return max(1, min(self._settings.poll_records, by_messages, free_bytes // self._largest_bytes))

    def add(
        self,
        batches: Mapping[TopicPartition, Sequence[Record]],
        assigned: Mapping[TopicPartition, AssignedPartition],
    ) -> None:
        """Order what was read by key or batch, and pass on what may start."""
        ready: list[InFlightMessage] = []
        batched: dict[str, list[Part]] = {}
        for name, records in batches.items():
            partition = assigned.get(name)
            if partition is None:
                continue  # revoked while it was being read; the next owner reads it again
            parts = [(partition, record, record_size(record)) for record in records]
            self._count(partition, parts)
            if SHARD in partition.hold_reasons:
                partition.deferred.extend(parts)
            elif partition.subscription.batch_handler is not None:
                batched.setdefault(name.topic, []).extend(parts)
            else:
                _order_by_key(partition, parts, ready)
        for topic, together in batched.items():
            self._queue_batch(topic, together, ready)
        self._pool.add_all(ready)

    def add_deferred(self, partition: AssignedPartition) -> None:
        """Pass on what was read before the shard was ready."""
        parts, partition.deferred = partition.deferred, []
        ready: list[InFlightMessage] = []
        if partition.subscription.batch_handler is None:
            _order_by_key(partition, parts, ready)
        elif parts:
            self._queue_batch(partition.name.topic, parts, ready)
        self._pool.add_all(ready)

    def on_done(self, message: InFlightMessage) -> None:
        """Remove a message or batch from the count."""
        self.message_count -= message.message_count
        self.size_bytes -= message.size_bytes
        if self._is_draining and self.has_capacity():
            self.can_read.set()

    def on_revoked(self, assigned: Mapping[TopicPartition, AssignedPartition]) -> None:
        """Remove what was read of revoked partitions."""
        self.message_count = sum(partition.in_flight_messages for partition in assigned.values())
        self.size_bytes = sum(partition.in_flight_bytes for partition in assigned.values())
        if not assigned:  # groups rebalance eagerly: all partitions at once
            for queue in self._queues.values():
                queue.clear()
        if self.has_capacity():
            self.can_read.set()

    def _on_gate_open(self) -> None:
        if self.has_capacity():
            self.can_read.set()

    def _count(self, partition: AssignedPartition, parts: Sequence[Part]) -> None:
        size_bytes = 0
        for _, record, record_bytes in parts:
            partition.offsets.add(record.offset)
            size_bytes += record_bytes
        partition.in_flight_messages += len(parts)
        partition.in_flight_bytes += size_bytes
        self.message_count += len(parts)
        self.size_bytes += size_bytes

    def _queue_batch(self, topic: str, parts: Sequence[Part], ready: list[InFlightMessage]) -> None:
        batch = InFlightBatch(parts, self._queues[topic])
        if self._queues[topic].acquire(batch):
            ready.append(batch)


def _order_by_key(partition: AssignedPartition, parts: Sequence[Part], ready: list[InFlightMessage]) -> None:
    enter, keeps_order = partition.key_ordering.acquire, partition.subscription.is_ordered_by_key
    for _, record, size_bytes in parts:
        message = InFlightMessage(partition, record, size_bytes)
        if not keeps_order or enter(record.key, message):
            ready.append(message)


def subscriptions_by_topic(subscriptions: Sequence[Subscription], spec: GroupSpec) -> dict[str, Subscription]:
    """Return the subscriptions by topic; raise ValueError unless each topic has one handler of one kind."""
    found = {each.topic.name: each for each in subscriptions}
    if sorted(found) != sorted(spec.topics) or len(found) != len(subscriptions):
        raise ValueError(
            f"group {spec.group} subscribes to {sorted(spec.topics)}, but has handlers for {sorted(found)}"
        )
    for name, each in found.items():
        if (each.handler is None) == (each.batch_handler is None):
            raise ValueError(f"{name} needs either a handler or a batch handler, not both")
    return found
