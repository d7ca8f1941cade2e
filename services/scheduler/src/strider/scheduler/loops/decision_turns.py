"""Limit the leases of a pass by the time of its decisions, and let other shards run.

What a decision costs is in the hands of the site (its robots.txt) and of the sender (its URLs), and a URL
that is denied waits for no crawl delay. Decisions of one shard therefore yield to those of other shards, and
a pass takes no more leases than it decides about in a moment: the flows and hosts of the shard take turns
(`frontier_part_turns.lua` of `strider.frontier`), and their turns would else come seconds later.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final

from strider.frontier.models import Lease
from strider.messaging.ports import Clock

SECONDS_PER_YIELD: Final = 0.005
"""Time of decisions after which other tasks run (other shards, heartbeats)."""

SECONDS_PER_PASS: Final = 0.01
"""Time of decisions that a pass may take."""


class DecisionTurns:
    """Leases of the passes of one shard, by the time that their decisions take."""

    def __init__(self, *, most: int, clock: Clock) -> None:
        """`most` is the limit of a pass whose decisions cost little."""
        self._most = most
        self._clock = clock
        self.limit = most
        """Leases that the next pass may take."""

    async def of(self, leases: Sequence[Lease]) -> AsyncIterator[Lease]:
        """Yield the leases of a pass to decide about each; learn from it how many the next may have."""
        seconds, began = 0.0, self._clock.monotonic()
        for lease in leases:
            yield lease
            passed = self._clock.monotonic() - began
            if passed > SECONDS_PER_YIELD:
                seconds += passed
                await asyncio.sleep(0)
                began = self._clock.monotonic()
        self.learn(len(leases), seconds + self._clock.monotonic() - began)

    def learn(self, count: int, seconds: float) -> None:
        """Set the limit by the time of a pass: a longer one lowers it at once, a shorter one doubles it."""
        if seconds > SECONDS_PER_PASS:
            self.limit = max(1, int(count * SECONDS_PER_PASS / seconds))
        else:
            self.limit = min(self._most, 2 * self.limit)
