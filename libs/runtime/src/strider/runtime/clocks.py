"""Sources of time and randomness.

The system's own for processes, and a seeded source so that a run can be repeated; virtual time is in
`strider.messaging.inprocess.virtual_clock`. Nothing else in the tree may use `time` or `random` for
decisions.
"""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return wall-clock time, for records and logs only."""
        return datetime.now(UTC)

    monotonic = staticmethod(time.monotonic)
    """Seconds that never run backwards, for intervals; read some twenty times a page, so not wrapped."""

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running loop."""
        await asyncio.sleep(seconds)


class SystemRandomness:
    """The machine's randomness, good enough for jitter."""

    def uniform(self, low: float, high: float) -> float:
        """Return a random number between the two."""
        return random.uniform(low, high)  # noqa: S311  # jitter, no secret hangs on it


class SeededRandomness:
    """Randomness that a seed repeats."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  # repeatable on purpose

    def uniform(self, low: float, high: float) -> float:
        """Return the seed's next number between the two."""
        return self._random.uniform(low, high)
