"""Messages that retention deleted unread: reported, acknowledged, and only then skipped."""

from __future__ import annotations

from strider.messaging.errors import OffsetLost, PartitionNotOwned, Unavailable
from strider.messaging.ports import Consumer
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.retry import Backoff

from .messages import AssignedPartition
from .pauses import Pauses
from .spec import ConsumerPorts

LOSS = "loss"

_log = logger("loop")


async def report_loss(
    lost: OffsetLost,
    partition: AssignedPartition,
    consumer: Consumer,
    *,
    ports: ConsumerPorts,
    pauses: Pauses,
) -> None:
    """Report the range in log, metrics and dead letters, then continue where the log starts."""
    gone = max(0, lost.available - lost.wanted)
    _log.emit(
        log_events.MESSAGES_LOST,
        topic=lost.topic,
        partition=lost.partition,
        lost_from=lost.wanted,
        lost_to=lost.available - 1,
        messages=gone,
    )
    ports.meter.lost(lost.topic, lost.partition, gone)
    reason = f"{LOSS} {lost.topic}[{lost.partition}]"
    pauses.begin(reason, str(lost))
    await _publish_loss(lost, partition, reason, ports=ports, pauses=pauses)
    pauses.clear(reason)
    if partition.is_closed:
        return
    try:
        consumer.seek(partition.name, lost.available)
    except PartitionNotOwned:
        return
    # The next commit includes it: else the next owner of the partition would report the same loss again.
    partition.offsets.skip_to(lost.available)
    partition.hold_reasons.discard(LOSS)


async def _publish_loss(
    lost: OffsetLost,
    partition: AssignedPartition,
    reason: str,
    *,
    ports: ConsumerPorts,
    pauses: Pauses,
) -> None:
    """Publish the loss event, however long that takes, while the partition is ours."""
    backoff = Backoff(clock=ports.clock, chance=ports.chance)
    while not partition.is_closed:
        try:
            await ports.publisher.publish(
                (ports.dead_letters.loss_event(lost),),
                cause=f"{lost.topic}:{lost.partition}:{lost.wanted}-{lost.available}",
            )
        except Unavailable as failure:
            pauses.begin(reason, f"{lost}; {failure}")
            await backoff.wait()
        else:
            return
