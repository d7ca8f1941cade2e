"""Messages that retention took unread: said loudly, acknowledged, and only then passed over."""

from __future__ import annotations

from .errors import NotOwned, OffsetLost, Unavailable
from .logs import logger
from .loop_pauses import Pauses, pause_before
from .loop_settings import LoopPorts, LoopSettings
from .loop_units import Partition
from .ports import Consumer

LOSS = "loss"

_log = logger("loop")


async def report_loss(
    lost: OffsetLost,
    partition: Partition,
    consumer: Consumer,
    *,
    ports: LoopPorts,
    settings: LoopSettings,
    pauses: Pauses,
) -> None:
    """Name the range in the log, the metrics and the dead letters, then read on where the log starts."""
    gone = max(0, lost.available - lost.wanted)
    _log.error(
        "Messages Lost",
        topic=lost.topic,
        partition=lost.partition,
        lost_from=lost.wanted,
        lost_to=lost.available - 1,
        messages=gone,
    )
    ports.meter.lost(lost.topic, lost.partition, gone)
    word = f"{LOSS} {lost.topic}[{lost.partition}]"
    pauses.state(word, str(lost))
    await _say(lost, partition, word, ports=ports, settings=settings, pauses=pauses)
    pauses.clear(word)
    if partition.is_closed:
        return
    try:
        consumer.seek(partition.name, lost.available)
    except NotOwned:
        return
    # The next commit has it: else whoever has the partition next would report the same loss again.
    partition.done.skip_to(lost.available)
    partition.holds.discard(LOSS)


async def _say(
    lost: OffsetLost,
    partition: Partition,
    word: str,
    *,
    ports: LoopPorts,
    settings: LoopSettings,
    pauses: Pauses,
) -> None:
    """Have the loss event acknowledged, however long that takes, as long as the partition is ours."""
    attempt = 1
    while not partition.is_closed:
        try:
            await ports.speaker.speak(
                (ports.dead_letters.loss(lost),),
                cause=f"{lost.topic}:{lost.partition}:{lost.wanted}-{lost.available}",
            )
        except Unavailable as failure:
            pauses.state(word, f"{lost}; {failure}")
            await pause_before(attempt, ports=ports, settings=settings)
            attempt += 1
        else:
            return
