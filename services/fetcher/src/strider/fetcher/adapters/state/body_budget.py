"""Memory budget of bodies that were read and not yet published.

A reader beyond the budget waits, and with it (by flow control) its server. Only the one that has held bytes
for the longest continues: one has to finish before the others can. Before a request starts there must be
room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from strider.messaging.errors import Unavailable

READINESS_PART = "memory"
"""Name under which readiness reports that too many bodies are in memory."""
MIN_RESERVE_DIVISOR: Final = 8
MAX_RESERVE_DIVISOR: Final = 2
"""Fractions of the budget, at least and at most, that are reserved for what arrives while readers stop."""
BYTES_PER_READER: Final = 128 * 1024
"""Bytes of one body that may arrive between the check of the budget and the stop of its reader."""


class BodyHold:
    """The bytes of one body in the budget; released at the latest when it is garbage-collected."""

    __slots__ = ("__weakref__", "_budget", "size_bytes")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self.size_bytes = 0

    def add(self, size_bytes: int) -> Awaitable[None] | None:
        """Hold more bytes; returns what has to be awaited if the budget is exceeded."""
        self._budget.grow(self, size_bytes)
        return self.wait_if_over()

    def wait_if_over(self) -> Awaitable[None] | None:
        """Return what has to be awaited before reading on, if the budget is exceeded."""
        return self._budget.wait_until_allowed(self) if self._budget.is_over else None

    def release(self) -> None:
        """Return all bytes to the budget."""
        if self.size_bytes:
            self._budget.shrink(self)

    def __del__(self) -> None:
        self.release()


class BodyBudget:
    """The bodies of one process."""

    def __init__(
        self, total_bytes: int, *, wait_seconds: float = 20.0, bytes_per_reader: int = BYTES_PER_READER
    ) -> None:
        self._total_bytes = total_bytes
        self._bytes_per_reader = bytes_per_reader
        self._wait_seconds = wait_seconds
        self._held_bytes = 0
        self._holders: dict[int, None] = {}
        """By identity, the oldest first."""
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def held_bytes(self) -> int:
        """Bytes that are held now."""
        return self._held_bytes

    @property
    def is_over(self) -> bool:
        """Whether the budget is exceeded; the reserve lets all current readers still receive a little."""
        total = self._total_bytes
        kept_free = max(total // MIN_RESERVE_DIVISOR, len(self._holders) * self._bytes_per_reader)
        return self._held_bytes > total - min(kept_free, total // MAX_RESERVE_DIVISOR)

    def open_hold(self) -> BodyHold:
        """Return a hold for a new body."""
        return BodyHold(self)

    async def wait_for_capacity(self) -> None:
        """Wait until another body may be read; Unavailable if that takes too long."""
        if not self.is_over:
            return
        try:
            async with asyncio.timeout(self._wait_seconds):
                while self.is_over:
                    await self._wait_for_change()
        except TimeoutError:
            raise Unavailable(
                READINESS_PART, f"{self._held_bytes} bytes of bodies wait to be published"
            ) from None

    async def wait_until_allowed(self, hold: BodyHold) -> None:
        """Wait until there is room, or this hold is the oldest."""
        while self.is_over and next(iter(self._holders), None) != id(hold):
            await self._wait_for_change()

    def grow(self, hold: BodyHold, size_bytes: int) -> None:
        """Add bytes of a hold."""
        hold.size_bytes += size_bytes
        self._held_bytes += size_bytes
        self._holders.setdefault(id(hold))

    def shrink(self, hold: BodyHold) -> None:
        """Remove the bytes of a hold, and wake the waiters."""
        self._held_bytes -= hold.size_bytes
        hold.size_bytes = 0
        self._holders.pop(id(hold), None)
        waiting, self._waiters = self._waiters, set()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def _wait_for_change(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)
