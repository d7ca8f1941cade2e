"""How much is read, and where it goes: the window, the lanes, the batches.

Memory is bounded by the window of messages and bytes that are read and not done. A full window has
to empty by a quarter before more is read, because a poll for one message costs as much as for many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from .effects import Reads
from .loop_partitions import SHARD
from .loop_pauses import Pauses
from .loop_pool import Pool
from .loop_settings import LoopSettings
from .loop_units import Batch, BatchQueue, Partition, Unit, size_of
from .ports import GroupSpec, Record, TopicPartition

RESUME_SHARE = 0.75
"""Share of the window at which a full one is read into again."""


class Intake:
    """What was read and is not done."""

    def __init__(
        self, reads: Mapping[str, Reads], *, settings: LoopSettings, pauses: Pauses, pool: Pool
    ) -> None:
        self._settings = settings
        self._pauses = pauses
        self._pool = pool
        self._queues = {
            topic: BatchQueue(settings.poll_records) for topic, each in reads.items() if each.batch
        }
        self._largest_bytes = max(each.topic.max_bytes for each in reads.values())
        self._is_draining = False
        """The window was full."""
        self.messages = 0
        self.size_bytes = 0
        self.may_read = asyncio.Event()

    def has_room(self) -> bool:
        """Whether anything may be read now; if not, `may_read` is set when it may."""
        settings = self._settings
        share = RESUME_SHARE if self._is_draining else 1.0
        self._is_draining = (
            self.messages >= share * settings.window_messages
            or self.size_bytes >= share * settings.window_bytes
        )
        has_room = not self._is_draining and not self._pauses.is_gated
        if not has_room:
            self.may_read.clear()
        return has_room

    def room(self) -> int:
        """How many messages fit, should all of them be as large as their topic allows."""
        free_bytes = self._settings.window_bytes - self.size_bytes
        by_messages = self._settings.window_messages - self.messages
        return max(1, min(self._settings.poll_records, by_messages, free_bytes // self._largest_bytes))

    def admit(
        self,
        batches: Mapping[TopicPartition, Sequence[Record]],
        held: Mapping[TopicPartition, Partition],
    ) -> None:
        """Let what was read queue for its lane, and hand on what may start."""
        ready: list[Unit] = []
        parts: dict[str, list[tuple[Partition, Record]]] = {}
        for name, records in batches.items():
            partition = held.get(name)
            if partition is None:
                continue  # taken away while it was on its way; somebody else reads it again
            self._count(partition, records)
            if SHARD in partition.holds:
                partition.deferred.extend(records)
            elif partition.reads.batch is not None:
                parts.setdefault(name.topic, []).extend((partition, record) for record in records)
            else:
                _queue(partition, records, ready)
        for topic, together in parts.items():
            self._queue_batch(topic, together, ready)
        self._pool.add_all(ready)

    def admit_deferred(self, partition: Partition) -> None:
        """Hand on what was read before the shard was ready."""
        records, partition.deferred = partition.deferred, []
        ready: list[Unit] = []
        if partition.reads.batch is None:
            _queue(partition, records, ready)
        elif records:
            self._queue_batch(partition.name.topic, [(partition, record) for record in records], ready)
        self._pool.add_all(ready)

    def on_done(self, unit: Unit) -> None:
        """Count a unit out of the window."""
        self.messages -= unit.messages
        self.size_bytes -= unit.size_bytes
        if self._is_draining and self.has_room():
            self.may_read.set()

    def on_gone(self, held: Mapping[TopicPartition, Partition]) -> None:
        """Forget what was read of partitions that were given back."""
        self.messages = sum(partition.messages for partition in held.values())
        self.size_bytes = sum(partition.size_bytes for partition in held.values())
        if not held:  # groups are eager: all at once
            for queue in self._queues.values():
                queue.clear()
        if self.has_room():
            self.may_read.set()

    def _count(self, partition: Partition, records: Sequence[Record]) -> None:
        size_bytes = 0
        for record in records:
            partition.done.take(record.offset)
            size_bytes += size_of(record)
        partition.messages += len(records)
        partition.size_bytes += size_bytes
        self.messages += len(records)
        self.size_bytes += size_bytes

    def _queue_batch(self, topic: str, parts: Sequence[tuple[Partition, Record]], ready: list[Unit]) -> None:
        batch = Batch(parts, self._queues[topic])
        if self._queues[topic].enter(batch):
            ready.append(batch)


def _queue(partition: Partition, records: Sequence[Record], ready: list[Unit]) -> None:
    enter, keeps_order = partition.lanes.enter, partition.reads.keeps_order
    for record in records:
        unit = Unit(partition, record)
        if not keeps_order or enter(record.key, unit):
            ready.append(unit)


def by_topic(reads: Sequence[Reads], spec: GroupSpec) -> dict[str, Reads]:
    """Check that every topic of the group has one handler of one kind."""
    found = {each.topic.name: each for each in reads}
    if sorted(found) != sorted(spec.topics) or len(found) != len(reads):
        raise ValueError(f"group {spec.group} reads {sorted(spec.topics)}, handled are {sorted(found)}")
    for name, each in found.items():
        if (each.handler is None) == (each.batch is None):
            raise ValueError(f"{name} needs either a handler or a batch handler")
    return found
