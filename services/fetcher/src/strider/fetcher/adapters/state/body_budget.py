"""How many bytes of bodies there are at a time, read and not yet spoken.

A reader that goes over the budget waits, and with it (by the connection's flow control) its server.
Only who has held bytes for the longest goes on all the same: somebody must come to an end for the
others to go on. Before a request is begun there has to be room at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from strider.messaging.errors import Unavailable

READINESS_PART = "memory"
"""The name under which readiness shows that too many bodies are in hand."""
MIN_RESERVE_DIVISOR: Final = 8
MAX_RESERVE_DIVISOR: Final = 2
"""So large a part of the budget, at least and at most, is for what comes while readers are stopping."""
BYTES_PER_READER: Final = 128 * 1024
"""What comes of one body between the look at the budget and the moment that its reader has stopped."""


class Holding:
    """The bytes of one body. Whoever forgets to give them back has done so when it is gone."""

    __slots__ = ("__weakref__", "_budget", "size_bytes")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self.size_bytes = 0

    def add(self, size_bytes: int) -> Awaitable[None] | None:
        """Hold more; gives what must be waited for where that is too much."""
        self._budget.grow(self, size_bytes)
        return self.wait_if_over()

    def wait_if_over(self) -> Awaitable[None] | None:
        """Give what must be waited for before more is read, where there is too much in hand."""
        return self._budget.wait_until_allowed(self) if self._budget.is_over else None

    def release(self) -> None:
        """Give everything back."""
        if self.size_bytes:
            self._budget.shrink(self)

    def __del__(self) -> None:
        self.release()


class BodyBudget:
    """The bodies in hand of one process."""

    def __init__(
        self, total_bytes: int, *, patience_seconds: float = 20.0, bytes_per_reader: int = BYTES_PER_READER
    ) -> None:
        self._total_bytes = total_bytes
        self._bytes_per_reader = bytes_per_reader
        self._wait_seconds = patience_seconds
        self._held = 0
        self._holders: dict[int, None] = {}
        """By identity, the oldest first."""
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def held_bytes(self) -> int:
        """What is in hand now."""
        return self._held

    @property
    def is_over(self) -> bool:
        """Whether there is more in hand than there should be: all who read now may still get a little."""
        total = self._total_bytes
        kept_free = max(total // MIN_RESERVE_DIVISOR, len(self._holders) * self._bytes_per_reader)
        return self._held > total - min(kept_free, total // MAX_RESERVE_DIVISOR)

    def open_hold(self) -> Holding:
        """Begin with a body."""
        return Holding(self)

    async def wait_for_room(self) -> None:
        """Wait until another body may be begun; Unavailable says that it takes too long."""
        if not self.is_over:
            return
        try:
            async with asyncio.timeout(self._wait_seconds):
                while self.is_over:
                    await self._change()
        except TimeoutError:
            raise Unavailable(READINESS_PART, f"{self._held} bytes of bodies wait to be taken") from None

    async def wait_until_allowed(self, holding: Holding) -> None:
        """Wait until there is room, or nobody holds bytes for longer."""
        while self.is_over and next(iter(self._holders), None) != id(holding):
            await self._change()

    def grow(self, holding: Holding, size_bytes: int) -> None:
        """Count bytes in."""
        holding.size_bytes += size_bytes
        self._held += size_bytes
        self._holders.setdefault(id(holding))

    def shrink(self, holding: Holding) -> None:
        """Count bytes out, and let whoever waits look again."""
        self._held -= holding.size_bytes
        holding.size_bytes = 0
        self._holders.pop(id(holding), None)
        waiting, self._waiting = self._waiting, set()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def _change(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)
