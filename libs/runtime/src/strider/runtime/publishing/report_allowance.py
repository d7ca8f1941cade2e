"""Limit on the bad messages of a public topic that are reported one by one.

Pure. A bad message may have one byte, and its dead letter, its row and its log line have two thousand. So
only the first of each second are reported on their own; the others of a batch become one dead letter for
their range, and the next log line counts the lines that were left out. Their bytes are in the topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SECONDS: Final = 1.0
LETTERS: Final = 10
"""Bad messages that are reported on their own in each second: enough to see what a sender does wrong."""


@dataclass(slots=True)
class ReportAllowance:
    """Counts the reports of the current second. Time is an argument."""

    _began_at: float = -SECONDS
    _taken: int = 0
    _unlogged: int = 0

    def take(self, now: float) -> bool:
        """Whether one more message is reported on its own."""
        if now - self._began_at >= SECONDS:
            self._began_at, self._taken = now, 0
        self._taken += 1
        return self._taken <= LETTERS

    def leave_out(self) -> None:
        """Count a log line that was left out."""
        self._unlogged += 1

    def pop_unlogged(self) -> int:
        """Return how many log lines were left out since the last one."""
        unlogged, self._unlogged = self._unlogged, 0
        return unlogged
