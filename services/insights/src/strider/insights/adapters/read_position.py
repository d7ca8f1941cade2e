"""Which message of a partition is next, and where reading must go back, because something was passed over.

Faust drops what its client hands over while its flow is closed (at a start, at a rebalance), and goes
on behind it as if there were a hole in the log. A hole is believed only where reading again finds it again.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum, auto
from typing import Generic, TypeVar

P = TypeVar("P", bound=Hashable)


class Turn(Enum):
    """What to do with a message that was read."""

    TAKE = auto()
    SKIP = auto()
    """It was taken before, or is read again after what was passed over."""
    GO_BACK = auto()
    """Something before it was not handed over: read from there."""


class Following(Generic[P]):
    """Follows partitions, message by message."""

    def __init__(self) -> None:
        self._next: dict[P, int] = {}
        self._suspected_gaps: dict[P, tuple[int, int]] = {}
        """The offset that was missed, and the reading in which it was."""
        self._seen: dict[P, int] = {}
        """Where each was when it was looked at last."""
        self._already_reread: dict[P, int] = {}
        self._reading = 0

    def reset(self, offsets: Mapping[P, int | None]) -> None:
        """Begin where partitions were sought to; what is known of no offset begins with what comes."""
        self._next = {
            place: offset for place, offset in offsets.items() if offset is not None and offset >= 0
        }
        self._suspected_gaps.clear()
        self._seen.clear()
        self._already_reread.clear()

    def start_poll(self) -> None:
        """Note that the client is asked for more: what comes now is read from where it was sought to."""
        self._reading += 1

    def decide(self, place: P, offset: int) -> Turn:
        """Judge a message."""
        wanted = self._next.get(place, offset)
        if offset < wanted:
            return Turn.SKIP
        if offset > wanted and not self._is_confirmed_gap(place, wanted):
            return (
                Turn.SKIP
                if self._suspected_gaps.get(place) == (wanted, self._reading)
                else self._doubt(place, wanted)
            )
        self._next[place] = offset + 1
        return Turn.TAKE

    def expected_offset(self, place: P) -> int | None:
        """Say which offset is next."""
        return self._next.get(place)

    def passed_over(self, place: P, position: int) -> int | None:
        """Say where to read again: the client is beyond what is next, and two looks saw nothing move."""
        wanted = self._next.get(place)
        before, self._seen[place] = self._seen.get(place), -1 if wanted is None else wanted
        if (
            wanted is None
            or position <= wanted
            or before != wanted
            or self._already_reread.get(place) == wanted
        ):
            return None
        self._already_reread[place] = wanted  # once: a log may end with what is no message
        return wanted

    def _is_confirmed_gap(self, place: P, wanted: int) -> bool:
        missed, reading = self._suspected_gaps.get(place, (-1, -1))
        return missed == wanted and reading < self._reading

    def _doubt(self, place: P, wanted: int) -> Turn:
        self._suspected_gaps[place] = wanted, self._reading
        return Turn.GO_BACK
