"""Snapshots of a state at intervals, read once for all who follow them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Final

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock, epoch_ms

INTERVAL_SECONDS: Final = 5.0

Snapshot = Mapping[str, Any]
ReadSnapshot = Callable[[], Awaitable[Snapshot]]


class SnapshotFeed:
    """Reads snapshots while there are followers."""

    def __init__(
        self,
        read: ReadSnapshot,
        *,
        clock: Clock,
        only_changes: bool = False,
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        """Set the source; `only_changes` leaves out snapshots that equal the one before."""
        self._read = read
        self._clock = clock
        self._only_changes = only_changes
        self._interval_seconds = interval_seconds
        self._latest: tuple[str, Snapshot] | None = None
        self._changed = asyncio.Event()
        self._followers = 0
        self._task: asyncio.Task[None] | None = None
        self._is_stopping = False

    def stop(self) -> None:
        """End all streams."""
        self._is_stopping = True
        self._notify()

    async def follow(self, *, heartbeat_seconds: float) -> AsyncGenerator[tuple[str, Snapshot] | None, None]:
        """Yield the present snapshot and each later one, with its id; None where nothing came for a while.

        A follower that is slow misses snapshots and gets the latest.
        """
        self._followers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._poll(), name="snapshots")
        seen = ""
        try:
            while not self._is_stopping:
                if self._latest is not None and self._latest[0] != seen:
                    seen = self._latest[0]
                    yield self._latest
                    continue
                try:
                    async with asyncio.timeout(heartbeat_seconds):
                        await self._changed.wait()
                except TimeoutError:
                    yield None
        finally:
            self._followers -= 1
            if not self._followers and self._task is not None:
                self._task.cancel()
                self._task, self._latest = None, None

    async def _poll(self) -> None:
        while True:
            try:
                snapshot = await self._read()
            except Unavailable as failure:
                snapshot = {"unavailable": failure.dependency}
            if self._latest is None or not self._only_changes or snapshot != self._latest[1]:
                self._latest = str(epoch_ms(self._clock)), snapshot
                self._notify()
            await self._clock.sleep(self._interval_seconds)

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
