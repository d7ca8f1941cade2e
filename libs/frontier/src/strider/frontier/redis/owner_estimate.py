"""What a shard's owner reckons about its working set between two answers: how far it is, and what time it is.

Pure. By this a script tells a store that has come back older than it was, and a clock that has jumped;
what follows from either is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_CLOCK_ERROR_MS: Final = 1_000
"""How far the one clock may be from where it is reckoned to be."""

MAX_PRECISE_SECONDS: Final = 0.25
"""An answer that took longer says less of the time than one before it."""


@dataclass(slots=True)
class OwnerEstimate:
    """Of one shard, since it was taken."""

    last_answered_call: int = 0
    """Greatest number of a call that changed the header and whose answer came."""
    _read_ms: int = 0
    _sent_at: float = 0.0
    _heard_at: float = 0.0

    def record_answer(self, call: int) -> None:
        """Note the answer to a call that has left its number in the header."""
        self.last_answered_call = max(self.last_answered_call, call)

    def reset(self) -> None:
        """Note that the header begins anew; the time does not."""
        self.last_answered_call = 0

    def record_clock(self, now_ms: int, *, sent_at: float, received_at: float) -> None:
        """Take what the clock showed at some moment between two of our own."""
        is_vague = received_at - sent_at > MAX_PRECISE_SECONDS
        if not is_vague or self._read_ms == 0 or self._heard_at - self._sent_at > MAX_PRECISE_SECONDS:
            self._read_ms, self._sent_at, self._heard_at = now_ms, sent_at, received_at

    def clock_bounds(self, at: float) -> tuple[int, int]:
        """Say between which times the clock must stand at a moment of ours; zeros where nobody knows."""
        if self._read_ms == 0:
            return 0, 0
        earliest = self._read_ms + round((at - self._heard_at) * 1000) - MAX_CLOCK_ERROR_MS
        latest = self._read_ms + round((at - self._sent_at) * 1000) + MAX_CLOCK_ERROR_MS
        return max(earliest, 0), latest
