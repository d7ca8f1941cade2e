"""The owner's estimate of a shard between two replies: last call and current time.

Pure. By it a function detects a store that came back older than it was, and a clock jump; what follows from
either is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_CLOCK_ERROR_MS: Final = 1_000
"""How far the frontier's clock may be from its estimate."""

MAX_PRECISE_SECONDS: Final = 0.25
"""A slower reply is a worse measurement of the time than an earlier fast one."""


@dataclass(slots=True)
class OwnerEstimate:
    """Estimate for one shard, since it was taken over."""

    last_completed_call: int = 0
    """Greatest number of an answered call that changed the header."""
    _clock_ms: int = 0
    _sent_at: float = 0.0
    _received_at: float = 0.0

    def record_reply(self, call: int) -> None:
        """Record the reply to a call that stored its number in the header."""
        self.last_completed_call = max(self.last_completed_call, call)

    def reset(self) -> None:
        """Record that the header starts again; the time does not."""
        self.last_completed_call = 0

    def record_clock(self, now_ms: int, *, sent_at: float, received_at: float) -> None:
        """Record what the frontier's clock showed between two moments of our own clock."""
        is_vague = received_at - sent_at > MAX_PRECISE_SECONDS
        if not is_vague or self._clock_ms == 0 or self._received_at - self._sent_at > MAX_PRECISE_SECONDS:
            self._clock_ms, self._sent_at, self._received_at = now_ms, sent_at, received_at

    def clock_bounds(self, at: float) -> tuple[int, int]:
        """Return the bounds of the frontier's clock at a moment of our own; zeros where unknown."""
        if self._clock_ms == 0:
            return 0, 0
        earliest = self._clock_ms + round((at - self._received_at) * 1000) - MAX_CLOCK_ERROR_MS
        latest = self._clock_ms + round((at - self._sent_at) * 1000) + MAX_CLOCK_ERROR_MS
        return max(earliest, 0), latest
