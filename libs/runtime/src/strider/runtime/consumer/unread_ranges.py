"""Ranges of offsets, and partitions, that cannot be read.

A range is reported, acknowledged, and only then skipped. A partition that cannot be read at the moment is
tried again alone, while the others are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from strider.messaging.errors import (
    LogTruncated,
    PartitionNotOwned,
    PartitionUnavailable,
    Unavailable,
    UnreadBatch,
    UnreadRange,
)
from strider.messaging.ports import Clock, Consumer, Randomness, TopicPartition
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.retry import Backoff

from .messages import AssignedPartition
from .pauses import Pauses
from .spec import ConsumerPorts

LOSS = "loss"
UNREADABLE = "unreadable"
_CHECK_SECONDS = 0.05

_log = logger("loop")


async def report_unread(
    unread: UnreadRange,
    partition: AssignedPartition,
    consumer: Consumer,
    *,
    ports: ConsumerPorts,
    pauses: Pauses,
) -> None:
    """Report the range in log, metrics and dead letters, then continue behind it."""
    partition.is_truncated = isinstance(unread, LogTruncated)
    _log_and_count(unread, ports)
    reason = f"{LOSS} {unread.topic}[{unread.partition}]"
    pauses.begin(reason, str(unread))
    await _publish(unread, partition, reason, ports=ports, pauses=pauses)
    pauses.clear(reason)
    if partition.is_truncated:
        await _until_completed(partition, ports)
    if partition.is_closed:
        return
    try:
        consumer.seek(partition.name, unread.resume_at)
    except PartitionNotOwned:
        return
    # The next commit includes it: else the next owner of the partition would report the same range again.
    if partition.is_truncated:
        _restart(partition, unread.resume_at)
    else:
        partition.offsets.skip_to(unread.resume_at)
    partition.hold_reasons.discard(LOSS)


async def _until_completed(partition: AssignedPartition, ports: ConsumerPorts) -> None:
    """Wait for what was read of the log that is gone: its offsets are about to come a second time."""
    while partition.offsets.first_incomplete is not None and not partition.is_closed:
        await ports.clock.sleep(_CHECK_SECONDS)


def _restart(partition: AssignedPartition, offset: int) -> None:
    partition.offsets.restart_at(offset)
    partition.started_up_to = offset - 1
    partition.idle_position = partition.catch_up_target = None
    partition.is_truncated = False


def _log_and_count(unread: UnreadRange, ports: ConsumerPorts) -> None:
    place = {"topic": unread.topic, "partition": unread.partition}
    extent = {"lost_from": unread.first, "lost_to": unread.last, "messages": unread.messages}
    if isinstance(unread, UnreadBatch):
        _log.emit(
            log_events.RECORD_BATCH_SKIPPED,
            **place,
            **extent,
            codec=unread.codec,
            compressed_bytes=unread.compressed_bytes,
            why=unread.why,
        )
        ports.meter.batch_skipped(unread.topic)
    elif isinstance(unread, LogTruncated):
        _log.emit(log_events.LOG_TRUNCATED, **place, **extent, end=unread.end)
        ports.meter.log_truncated(unread.topic)
    else:
        _log.emit(log_events.MESSAGES_LOST, **place, **extent)
        ports.meter.lost(unread.topic, unread.partition, unread.messages)


async def _publish(
    unread: UnreadRange,
    partition: AssignedPartition,
    reason: str,
    *,
    ports: ConsumerPorts,
    pauses: Pauses,
) -> None:
    """Publish the dead letter of the range, however long that takes, while the partition is ours."""
    backoff = Backoff(clock=ports.clock, chance=ports.chance)
    while not partition.is_closed:
        try:
            await ports.publisher.publish(
                (ports.dead_letters.unread_event(unread),),
                cause=f"{unread.topic}:{unread.partition}:{unread.first}-{unread.last + 1}",
            )
        except Unavailable as failure:
            pauses.begin(reason, f"{unread}; {failure}")
            await backoff.wait()
        else:
            return


@dataclass(slots=True)
class _Attempts:
    backoff: Backoff
    position: int
    """Where the partition could not be read."""
    next_at: float
    """Monotonic time of the next attempt."""


class UnreadablePartitions:
    """Holds partitions between attempts; a pause names each of them until it was read."""

    def __init__(self, *, clock: Clock, chance: Randomness, pauses: Pauses) -> None:
        self._clock = clock
        self._chance = chance
        self._pauses = pauses
        self._attempts: dict[TopicPartition, _Attempts] = {}

    async def hold(
        self, failure: PartitionUnavailable, partition: AssignedPartition, consumer: Consumer
    ) -> None:
        """Begin or continue the wait of a partition."""
        attempts = self._attempts.get(partition.name)
        if attempts is None:
            position = await consumer.position(partition.name)
            backoff = Backoff(clock=self._clock, chance=self._chance)
            attempts = self._attempts[partition.name] = _Attempts(backoff, position, 0.0)
        attempts.next_at = self._clock.monotonic() + attempts.backoff.next_seconds()
        partition.hold_reasons.add(UNREADABLE)
        self._pauses.begin(_reason(partition.name), failure.detail, is_exempt=False)

    async def proceed(self, assigned: Mapping[TopicPartition, AssignedPartition], consumer: Consumer) -> None:
        """Let those be read again whose time has come, and end the wait of those that were read."""
        for name, attempts in [*self._attempts.items()]:
            partition = assigned.get(name)
            if partition is None or await consumer.position(name) != attempts.position:
                del self._attempts[name]
                self._pauses.clear(_reason(name))
            if partition is not None and self._clock.monotonic() >= attempts.next_at:
                partition.hold_reasons.discard(UNREADABLE)


def _reason(name: TopicPartition) -> str:
    return f"{UNREADABLE} {name.topic}[{name.partition}]"
