"""Messages that retention took unread: said loudly, acknowledged, and only then passed over."""

from __future__ import annotations

from strider.messaging.errors import OffsetLost, PartitionNotOwned, Unavailable
from strider.messaging.ports import Consumer
from strider.runtime.observability.logging import logger

from .messages import AssignedPartition
from .pauses import Pauses, wait_before_attempt
from .spec import ConsumerPorts, ConsumerSettings

LOSS = "loss"

_log = logger("loop")


async def report_loss(
    lost: OffsetLost,
    partition: AssignedPartition,
    consumer: Consumer,
    *,
    ports: ConsumerPorts,
    settings: ConsumerSettings,
    pauses: Pauses,
) -> None:
    """Name the range in the log, the metrics and the dead letters, then read on where the log starts."""
    gone = max(0, lost.available - lost.wanted)
    _log.error(
        "Messages lost",
        topic=lost.topic,
        partition=lost.partition,
        lost_from=lost.wanted,
        lost_to=lost.available - 1,
        messages=gone,
    )
    ports.meter.lost(lost.topic, lost.partition, gone)
    word = f"{LOSS} {lost.topic}[{lost.partition}]"
    pauses.begin(word, str(lost))
    await _say(lost, partition, word, ports=ports, settings=settings, pauses=pauses)
    pauses.clear(word)
    if partition.is_closed:
        return
    try:
        consumer.seek(partition.name, lost.available)
    except PartitionNotOwned:
        return
    # The next commit has it: else whoever has the partition next would report the same loss again.
    partition.offsets.skip_to(lost.available)
    partition.hold_reasons.discard(LOSS)


async def _say(
    lost: OffsetLost,
    partition: AssignedPartition,
    word: str,
    *,
    ports: ConsumerPorts,
    settings: ConsumerSettings,
    pauses: Pauses,
) -> None:
    """Have the loss event acknowledged, however long that takes, as long as the partition is ours."""
    attempt = 1
    while not partition.is_closed:
        try:
            await ports.publisher.publish(
                (ports.dead_letters.loss_event(lost),),
                cause=f"{lost.topic}:{lost.partition}:{lost.wanted}-{lost.available}",
            )
        except Unavailable as failure:
            pauses.begin(word, f"{lost}; {failure}")
            await wait_before_attempt(attempt, ports=ports, settings=settings)
            attempt += 1
        else:
            return
