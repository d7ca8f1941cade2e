"""The one clock of a shard, as its owner reckons it between two readings. Knows no store."""

from __future__ import annotations

from strider.messaging.ports import Clock


class ShardClock:
    """The one clock, as far as it is known here: the latest reading, and what has passed since."""

    def __init__(self, clock: Clock, now_ms: int) -> None:
        self._clock = clock
        self.synchronize(now_ms)

    def synchronize(self, now_ms: int) -> None:
        """Take a reading."""
        self._read_ms = now_ms
        self._read_at = self._clock.monotonic()

    def monotonic(self) -> float:
        """Say what passes here; it means nothing elsewhere."""
        return self._clock.monotonic()

    def now_ms(self) -> int:
        """Say what the one clock shows about now."""
        return self._read_ms + round((self._clock.monotonic() - self._read_at) * 1000)
