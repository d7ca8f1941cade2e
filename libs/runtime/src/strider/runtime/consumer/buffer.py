"""Buffer of messages that are read and not done; it bounds memory and decides when to read.

The bounds are a number of messages and of bytes. A full buffer has to empty by a quarter before more is read,
because a poll for one message costs as much as for many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from strider.messaging.effects import Subscription
from strider.messaging.ports import GroupSpec, Record, TopicPartition

from .messages import AssignedPartition, BatchQueue, InFlightBatch, InFlightMessage, record_size
from .partitions import SHARD
from .pauses import Pauses
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
    ) -> None:
        self._settings = settings
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
        has_room = not self._is_draining and not self._pauses.is_blocked
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
        parts: dict[str, list[tuple[AssignedPartition, Record]]] = {}
        for name, records in batches.items():
            partition = assigned.get(name)
            if partition is None:
                continue  # revoked while it was being read; the next owner reads it again
            self._count(partition, records)
            if SHARD in partition.hold_reasons:
                partition.deferred.extend(records)
            elif partition.subscription.batch_handler is not None:
                parts.setdefault(name.topic, []).extend((partition, record) for record in records)
            else:
                _order_by_key(partition, records, ready)
        for topic, together in parts.items():
            self._queue_batch(topic, together, ready)
        self._pool.add_all(ready)

    def add_deferred(self, partition: AssignedPartition) -> None:
        """Pass on what was read before the shard was ready."""
        records, partition.deferred = partition.deferred, []
        ready: list[InFlightMessage] = []
        if partition.subscription.batch_handler is None:
            _order_by_key(partition, records, ready)
        elif records:
            self._queue_batch(partition.name.topic, [(partition, record) for record in records], ready)
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

    def _count(self, partition: AssignedPartition, records: Sequence[Record]) -> None:
        size_bytes = 0
        for record in records:
            partition.offsets.add(record.offset)
            size_bytes += record_size(record)
        partition.in_flight_messages += len(records)
        partition.in_flight_bytes += size_bytes
        self.message_count += len(records)
        self.size_bytes += size_bytes

    def _queue_batch(
        self, topic: str, parts: Sequence[tuple[AssignedPartition, Record]], ready: list[InFlightMessage]
    ) -> None:
        batch = InFlightBatch(parts, self._queues[topic])
        if self._queues[topic].acquire(batch):
            ready.append(batch)


def _order_by_key(
    partition: AssignedPartition, records: Sequence[Record], ready: list[InFlightMessage]
) -> None:
    enter, keeps_order = partition.key_ordering.acquire, partition.subscription.is_ordered_by_key
    for record in records:
        message = InFlightMessage(partition, record)
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
