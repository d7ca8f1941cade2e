"""What a shard's owner reckons about its working set between two answers: how far it is, and what time it is.

Pure. By this a script tells a store that has come back older than it was, and a clock that has jumped;
what follows from either is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

JUMP_MS: Final = 1_000
"""How far the one clock may be from where it is reckoned to be."""

VAGUE_SECONDS: Final = 0.25
"""An answer that took longer says less of the time than one before it."""


@dataclass(slots=True)
class Reckoning:
    """Of one shard, since it was taken."""

    answered: int = 0
    """Greatest number of a call that changed the header and whose answer came."""
    _read_ms: int = 0
    _asked_at: float = 0.0
    _heard_at: float = 0.0

    def hear(self, call: int) -> None:
        """Note the answer to a call that has left its number in the header."""
        self.answered = max(self.answered, call)

    def renew(self) -> None:
        """Note that the header begins anew; the time does not."""
        self.answered = 0

    def read(self, now_ms: int, *, asked_at: float, heard_at: float) -> None:
        """Take what the clock showed at some moment between two of our own."""
        is_vague = heard_at - asked_at > VAGUE_SECONDS
        if not is_vague or self._read_ms == 0 or self._heard_at - self._asked_at > VAGUE_SECONDS:
            self._read_ms, self._asked_at, self._heard_at = now_ms, asked_at, heard_at

    def bounds(self, at: float) -> tuple[int, int]:
        """Say between which times the clock must stand at a moment of ours; zeros where nobody knows."""
        if self._read_ms == 0:
            return 0, 0
        earliest = self._read_ms + round((at - self._heard_at) * 1000) - JUMP_MS
        latest = self._read_ms + round((at - self._asked_at) * 1000) + JUMP_MS
        return max(earliest, 0), latest
