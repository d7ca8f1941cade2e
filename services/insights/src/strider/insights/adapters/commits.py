"""Which offset Faust may commit: the end of what is done without a hole.

Faust reads for a moment before it seeks to where the group is, takes what it has read for a hole then,
and has it twice among what is done. Its own search for the end stops at every number that comes
twice, so that it commits one message in some seconds: a process that is killed then reads hours again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from faust.transport.drivers.aiokafka import Consumer


def end_of_done(
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


class ContiguousConsumer(Consumer):
    """Faust's consumer, with another search."""

    def _new_offset(self, tp: Any) -> int | None:
        acked, gaps = self._acked_index[tp], self._gap[tp]
        end = end_of_done(acked, [(gap.begin, gap.end) for gap in gaps], committed=self._committed_offset[tp])
        if end is not None:
            rest = sorted(offset for offset in acked if offset >= end)
            self._acked[tp][:] = rest
            self._acked_index[tp] = set(rest)
            gaps.chop(0, end)
        return end
