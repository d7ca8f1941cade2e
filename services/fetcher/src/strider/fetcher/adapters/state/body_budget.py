"""Memory budget of bodies that were read and not yet published.

One half of the budget is divided among all readers: a body that fits into its part is read whatever else
there is. What is beyond that comes from the other half, in shares by sender (`strider.runtime.shares`). A
reader whose share is used up waits, and with it (by flow control) its server; of each group of senders only
the one that has held shared bytes for the longest continues, as one has to finish before the others can. A
body that holds what others of its share wait for, and hardly grows, is ended: its server sends it as slowly
as it may.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakValueDictionary

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.consumer.start_order import PLACE_DIVISORS
from strider.runtime.shares import SharePath, Shares

READINESS_PART = "memory"
"""Name under which readiness reports that too many bodies are in memory."""
DEFAULT_READERS: Final = 256
PATIENCE_SECONDS: Final = 5.0
"""How long readers wait before a body that hardly grows is ended for them."""
MIN_GROWTH_BYTES: Final = 320 * 1024
"""Least growth in that time of a body for which others wait: 64 KB a second."""


class BodyHold:
    """The bytes of one body in the budget; released at the latest when it is garbage-collected."""

    __slots__ = (
        "__weakref__",
        "_budget",
        "end_as_slow",
        "grown_at",
        "grown_bytes",
        "is_waiting",
        "path",
        "shared_bytes",
        "size_bytes",
    )

    def __init__(self, budget: BodyBudget, path: SharePath) -> None:
        self._budget = budget
        self.path = path
        self.size_bytes = 0
        self.shared_bytes = 0
        """Those beyond its reader's own part."""
        self.grown_at, self.grown_bytes = 0.0, 0
        """When it had last grown by as much as is required, in monotonic seconds, and its size then."""
        self.is_waiting = False
        self.end_as_slow: Callable[[], None] | None = None
        """Ends the request; None while its body is not being read."""

    def add(self, size_bytes: int) -> Awaitable[None] | None:
        """Hold more bytes; returns what has to be awaited if the share is used up."""
        self._budget.grow(self, size_bytes)
        return self.wait_if_over()

    def wait_if_over(self) -> Awaitable[None] | None:
        """Return what has to be awaited before reading on, if the share is used up."""
        return self._budget.wait_until_allowed(self) if self._budget.must_wait(self) else None

    def release(self) -> None:
        """Return all bytes to the budget."""
        if self.size_bytes:
            self._budget.shrink(self)

    def __del__(self) -> None:
        self.release()


class BodyBudget:
    """The bodies of one process."""

    def __init__(
        self,
        total_bytes: int,
        *,
        clock: Clock,
        readers: int = DEFAULT_READERS,
        wait_seconds: float = 20.0,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._total_bytes = total_bytes
        self._clock = clock
        self._bytes_per_reader = total_bytes // (2 * readers)
        self._shares = Shares(total_bytes - readers * self._bytes_per_reader, divisors=PLACE_DIVISORS)
        self._wait_seconds = wait_seconds
        self._patience_seconds = patience_seconds
        self._held_bytes = 0
        self._holders: WeakValueDictionary[int, BodyHold] = WeakValueDictionary()
        """Holds with shared bytes by identity, the oldest first."""
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def held_bytes(self) -> int:
        """Bytes that are held now."""
        return self._held_bytes

    def open_hold(self, path: SharePath = ()) -> BodyHold:
        """Return a hold for a new body, in the share of a sender."""
        return BodyHold(self, path)

    async def wait_for_capacity(self) -> None:
        """Wait until another body may be read; Unavailable if bodies are not published for too long."""
        if self._held_bytes < self._total_bytes:
            return
        try:
            async with asyncio.timeout(self._wait_seconds):
                while self._held_bytes >= self._total_bytes:
                    await self._wait_for_change()
        except TimeoutError:
            raise Unavailable(
                READINESS_PART, f"{self._held_bytes} bytes of bodies wait to be published"
            ) from None

    def must_wait(self, hold: BodyHold) -> bool:
        """Whether the share of a hold is used up, and others have to finish first."""
        if not hold.shared_bytes or self._shares.free_for(hold.path) > 0:
            return False
        group = hold.path[:1]
        oldest = next((each for each in self._holders.values() if each.path[:1] == group), None)
        return oldest is not hold

    async def wait_until_allowed(self, hold: BodyHold) -> None:
        """Wait until there is room, or this hold is the oldest of its group."""
        hold.is_waiting = True
        try:
            while self.must_wait(hold):
                try:
                    async with asyncio.timeout(self._patience_seconds):
                        await self._wait_for_change()
                except TimeoutError:
                    self._end_slowest(hold.path)
        finally:
            hold.is_waiting = False
            hold.grown_at, hold.grown_bytes = self._clock.monotonic(), hold.size_bytes

    def grow(self, hold: BodyHold, size_bytes: int) -> None:
        """Add bytes of a hold."""
        now = self._clock.monotonic()
        if not hold.size_bytes:
            hold.grown_at = now
        hold.size_bytes += size_bytes
        self._held_bytes += size_bytes
        if hold.size_bytes - hold.grown_bytes >= MIN_GROWTH_BYTES:
            hold.grown_at, hold.grown_bytes = now, hold.size_bytes
        shared_bytes = max(hold.size_bytes - self._bytes_per_reader, 0)
        if shared_bytes > hold.shared_bytes:
            self._shares.take(hold.path, shared_bytes - hold.shared_bytes)
            hold.shared_bytes = shared_bytes
            self._holders.setdefault(id(hold), hold)

    def shrink(self, hold: BodyHold) -> None:
        """Remove the bytes of a hold, and wake the waiters."""
        self._held_bytes -= hold.size_bytes
        if hold.shared_bytes:
            self._shares.give_back(hold.path, hold.shared_bytes)
            self._holders.pop(id(hold), None)
        hold.size_bytes = hold.shared_bytes = 0
        waiting, self._waiters = self._waiters, set()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _end_slowest(self, path: SharePath) -> None:
        """End the body that has hardly grown for the longest time, of those for which a path waits."""
        levels = range(len(path) + 1)
        full = next((size for size in levels if self._shares.free_for(path[:size]) <= 0), None)
        if full is None:
            return  # something was released just now
        grown_before = self._clock.monotonic() - self._patience_seconds
        slow = [
            hold
            for hold in self._holders.values()
            if hold.path[:full] == path[:full]
            and hold.end_as_slow is not None
            and not hold.is_waiting
            and hold.grown_at <= grown_before
        ]
        slowest = min(slow, key=lambda hold: hold.grown_at, default=None)
        if slowest is not None and slowest.end_as_slow is not None:
            slowest.end_as_slow()

    async def _wait_for_change(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)
