"""Which offset may be committed: the one after the contiguous prefix of what is done.

Pure. One tracker per partition and assignment. Offsets may have holes (compaction, transaction
markers), so contiguous means: nothing that was taken before it is still open.
"""

from __future__ import annotations

from collections import deque


class OffsetTracker:
    """Offsets in the order in which they were taken, and those that are done out of order."""

    __slots__ = ("_ahead", "_open", "_position")

    def __init__(self) -> None:
        self._open: deque[int] = deque()
        self._completed_early: set[int] = set()
        self._position: int | None = None

    def add(self, offset: int) -> None:
        """Note an offset that was read; they must rise, or the prefix would say too much."""
        if self._open and offset <= self._open[-1]:
            raise ValueError(f"offset {offset} was read after {self._open[-1]}")
        self._open.append(offset)

    def complete(self, offset: int) -> None:
        """Note that everything which follows from an offset is done."""
        if offset != self._open[0]:
            self._completed_early.add(offset)
            return
        self._open.popleft()
        while self._open and self._open[0] in self._completed_early:
            offset = self._open.popleft()
            self._completed_early.discard(offset)
        self._position = offset + 1

    def skip_to(self, offset: int) -> None:
        """Note that there is nothing to read before an offset (transaction markers, say), if all is done."""
        if not self._open:
            self._position = offset

    @property
    def position(self) -> int | None:
        """Offset to commit: the next one to read after a crash now. None before the first was done."""
        return self._position

    @property
    def first_open(self) -> int | None:
        """First offset that is not done; None where all are."""
        return self._open[0] if self._open else None

    @property
    def span(self) -> int:
        """How many messages would come again after a crash now: those behind the first open one too."""
        return len(self._open)
