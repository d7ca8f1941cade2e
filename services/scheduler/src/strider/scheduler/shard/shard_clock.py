"""Clock of a shard: the server's clock, extrapolated between two readings."""

from __future__ import annotations

from strider.messaging.ports import Clock


class ShardClock:
    """The server's clock as known here: the latest reading, and the time that has passed since."""

    def __init__(self, clock: Clock, now_ms: int) -> None:
        self._clock = clock
        self.synchronize(now_ms)

    def synchronize(self, now_ms: int) -> None:
        """Apply a reading of the server's clock."""
        self._read_ms = now_ms
        self._read_at = self._clock.monotonic()

    def monotonic(self) -> float:
        """Return this process's monotonic time, which means nothing elsewhere."""
        return self._clock.monotonic()

    def now_ms(self) -> int:
        """Return the current time of the server's clock."""
        return self._read_ms + round((self._clock.monotonic() - self._read_at) * 1000)
