"""Which offset Faust may commit: the end of what is done without a hole, and what retention took.

Faust reads for a moment before it seeks to where the group is, takes what it has read for a hole then,
and has it twice among what is done. Its own search for the end stops at every number that comes
twice, so that it commits one message in some seconds: a process that is killed then reads hours again.

What retention took unread it passes over without a word, and commits behind it only once another message
has come: a partition that nothing comes to any more would be taken for a back-log for ever.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from faust.transport.drivers.aiokafka import Consumer
from faust.types.tuples import TP

from strider.messaging.ports import TopicPartition
from strider.runtime.observability.logging import logger

from .read_position import Following, Turn

_log = logger("insights")


@dataclass(frozen=True, slots=True)
class Taken:
    """A stretch of a log that is gone: where reading was to go on, and where the log begins now."""

    partition: TopicPartition
    expected: int | None
    """None for a group that has never read here, which has lost nothing."""
    first_available: int


OnRetentionGap: TypeAlias = Callable[[Taken], None]


def contiguous_end(
    acked: Collection[int], gaps: Sequence[tuple[int, int]], *, committed: int | None
) -> int | None:
    """Give the offset to commit; None where nothing has come to what is committed.

    A gap (from, to but not including) is what was never there: retention took it, or it was a
    marker. One that follows what is committed comes without its first number.
    """
    if not acked:
        return None
    first = end = min(acked) if committed is None else committed
    while True:
        jump = (to for begin, to in gaps if begin <= end < to or end == committed == begin - 1)
        if end in acked:
            end += 1
        elif (beyond := next(jump, None)) is not None:
            end = beyond
        else:
            return end if end > first else None


def find_retention_gaps(committed: Mapping[Any, int | None], begins: Mapping[Any, int]) -> list[Taken]:
    """List where a log begins only behind what was committed."""
    return [
        Taken(TopicPartition(*place), committed[place], begin)
        for place, begin in begins.items()
        if begin > (committed[place] or 0)
    ]


class ContiguousConsumer(Consumer):
    """Faust's consumer, with another search, and with a word for what it has missed."""

    def __init__(self, *arguments: Any, on_retention_gap: OnRetentionGap, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._on_retention_gap = on_retention_gap
        self._positions: Following[Any] = Following()

    async def getmany(self, timeout: float) -> AsyncIterator[Any]:  # noqa: ASYNC109  # Faust's shape
        """Give what comes next in each partition; where something was passed over, go back to it."""
        self._positions.start_poll()
        async for place, message in super().getmany(timeout):
            if not self.app.topics.acks_enabled_for(place.topic):
                yield place, message
                continue
            turn = self._positions.decide(place, message.offset)
            if turn is Turn.TAKE:
                yield place, message
            elif turn is Turn.GO_BACK:
                await self._seek_back(place, self._positions.expected_offset(place))

    async def reread_skipped(self) -> None:
        """Go back to what was passed over where nothing comes behind it that would show it."""
        for place in self.assignment():
            if self.app.topics.acks_enabled_for(place.topic):
                position = await self._thread.position(place)
                await self._seek_back(place, self._positions.passed_over(place, position or 0))

    async def _seek_back(self, place: Any, offset: int | None) -> None:
        if offset is not None:
            _log.info("Read Again", topic=place.topic, partition=place.partition, offset=offset)
            await self.seek(place, offset)

    async def seek_to_committed(self) -> Mapping[Any, Any]:
        """Go to where the group is; where the log is gone from there, say so and commit where it begins."""
        committed = await super().seek_to_committed()
        read = [place for place in committed if self.app.topics.acks_enabled_for(place.topic)]
        holes = find_retention_gaps(committed, await self.earliest_offsets(*read))
        for gap in holes:
            self._on_retention_gap(gap)
        passed = {TP(*gap.partition): gap.first_available for gap in holes}
        if passed:
            await self._commit(passed)
        found = {**committed, **passed}
        self._positions.reset({place: found[place] for place in read})
        return found

    def _new_offset(self, tp: Any) -> int | None:
        acked, gaps = self._acked_index[tp], self._gap[tp]
        end = contiguous_end(
            acked, [(gap.begin, gap.end) for gap in gaps], committed=self._committed_offset[tp]
        )
        if end is not None:
            rest = sorted(offset for offset in acked if offset >= end)
            self._acked[tp][:] = rest
            self._acked_index[tp] = set(rest)
            gaps.chop(0, end)
        return end
