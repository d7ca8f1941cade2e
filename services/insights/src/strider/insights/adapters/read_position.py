"""Decide per partition which message is next, and where reading must seek back.

Faust drops messages that its client fetches while its flow is closed (at a start, at a rebalance), and
continues behind them as if there were a gap in the log. A gap is accepted only where reading again finds it
again.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum, auto
from typing import Generic, TypeVar

P = TypeVar("P", bound=Hashable)


class ReadDecision(Enum):
    """Decision about a message that was read."""

    ACCEPT = auto()
    SKIP = auto()
    """It was accepted before, or belongs to a reading that follows skipped messages."""
    SEEK_BACK = auto()
    """Messages before it were skipped: read from there."""


class ReadPositions(Generic[P]):
    """Tracks the next offset of each partition."""

    def __init__(self) -> None:
        self._expected: dict[P, int] = {}
        self._suspected_gaps: dict[P, tuple[int, int]] = {}
        """The missing offset, and the poll in which it was missing."""
        self._expected_at_last_check: dict[P, int] = {}
        """The expected offset of each partition at the last check."""
        self._already_reread: dict[P, int] = {}
        self._poll = 0

    def reset(self, offsets: Mapping[P, int | None]) -> None:
        """Start from these offsets; a partition without one starts with its first message."""
        self._expected = {tp: offset for tp, offset in offsets.items() if offset is not None and offset >= 0}
        self._suspected_gaps.clear()
        self._expected_at_last_check.clear()
        self._already_reread.clear()

    def advance(self, tp: P, offset: int) -> None:
        """Continue at an offset: what lies before it cannot be read."""
        self._expected[tp] = offset
        self._suspected_gaps.pop(tp, None)

    def start_poll(self) -> None:
        """Note a new poll: its messages are read from where the consumer was sought to."""
        self._poll += 1

    def decide(self, tp: P, offset: int) -> ReadDecision:
        """Decide about a message."""
        expected = self._expected.get(tp, offset)
        if offset < expected:
            return ReadDecision.SKIP
        if offset > expected and not self._is_confirmed_gap(tp, expected):
            return (
                ReadDecision.SKIP
                if self._suspected_gaps.get(tp) == (expected, self._poll)
                else self._suspect_gap(tp, expected)
            )
        self._expected[tp] = offset + 1
        return ReadDecision.ACCEPT

    def expected_offset(self, tp: P) -> int | None:
        """Return the next offset of a partition."""
        return self._expected.get(tp)

    def skipped_offset(self, tp: P, position: int) -> int | None:
        """Return the offset to read again, where the position is beyond it and two checks saw no progress."""
        expected = self._expected.get(tp)
        before, self._expected_at_last_check[tp] = (
            self._expected_at_last_check.get(tp),
            -1 if expected is None else expected,
        )
        if (
            expected is None
            or position <= expected
            or before != expected
            or self._already_reread.get(tp) == expected
        ):
            return None
        self._already_reread[tp] = expected  # once: a log may end with records that are not messages
        return expected

    def _is_confirmed_gap(self, tp: P, expected: int) -> bool:
        missed, reading = self._suspected_gaps.get(tp, (-1, -1))
        return missed == expected and reading < self._poll

    def _suspect_gap(self, tp: P, expected: int) -> ReadDecision:
        self._suspected_gaps[tp] = expected, self._poll
        return ReadDecision.SEEK_BACK
