"""Ranges of offsets that cannot be read: reported, acknowledged, and only then skipped."""

from __future__ import annotations

from strider.messaging.errors import BatchTooLarge, LogTruncated, PartitionNotOwned, Unavailable, UnreadRange
from strider.messaging.ports import Consumer
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.retry import Backoff

from .messages import AssignedPartition
from .pauses import Pauses
from .spec import ConsumerPorts

LOSS = "loss"
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
    if isinstance(unread, BatchTooLarge):
        _log.emit(
            log_events.RECORD_BATCH_SKIPPED,
            **place,
            **extent,
            codec=unread.codec,
            compressed_bytes=unread.compressed_bytes,
            limit_bytes=unread.limit_bytes,
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
