"""Offset that may be committed: the one after the contiguous prefix of completed messages.

Pure. One tracker for each partition and assignment. Offsets may have holes (compaction, transaction markers),
so contiguous means: nothing that was read before it is incomplete.
"""

from __future__ import annotations

from collections import deque


class OffsetTracker:
    """Offsets in the order in which they were read, and those completed out of order."""

    __slots__ = ("_completed_early", "_incomplete", "_position")

    def __init__(self) -> None:
        self._incomplete: deque[int] = deque()
        self._completed_early: set[int] = set()
        self._position: int | None = None

    def add(self, offset: int) -> None:
        """Add an offset that was read; offsets must rise, or too much would be committed."""
        if self._incomplete and offset <= self._incomplete[-1]:
            raise ValueError(f"offset {offset} was read after {self._incomplete[-1]}")
        self._incomplete.append(offset)

    def complete(self, offset: int) -> None:
        """Mark an offset as completed."""
        if offset != self._incomplete[0]:
            self._completed_early.add(offset)
            return
        self._incomplete.popleft()
        while self._incomplete and self._incomplete[0] in self._completed_early:
            offset = self._incomplete.popleft()
            self._completed_early.discard(offset)
        self._position = offset + 1

    def skip_to(self, offset: int) -> None:
        """Skip offsets that are not read (transaction markers, a lost range), once all before is completed.

        What is read from now on lies behind them.
        """
        if not self._incomplete:
            self._position = offset
        else:
            self.add(offset - 1)
            self._completed_early.add(offset - 1)

    def restart_at(self, offset: int) -> None:
        """Begin again at any offset, in a log that is another one; everything must be completed."""
        if self._incomplete:
            raise ValueError(f"offset {self._incomplete[0]} is not completed")
        self._position = offset

    @property
    def position(self) -> int | None:
        """Offset to commit: the next one to read after a crash. None before the first was completed."""
        return self._position

    @property
    def first_incomplete(self) -> int | None:
        """First offset that is not completed; None where all are."""
        return self._incomplete[0] if self._incomplete else None

    @property
    def redelivery_span(self) -> int:
        """Messages from the first incomplete one on; a crash also repeats what completed since a commit."""
        return len(self._incomplete)
