"""Live logs: one reader of Redis for each run that is followed, shared by all who follow it.

The reader keeps the last entries, and each follower has a position among them; so a follower costs a position
and what its connection buffers. One that reads so slowly that its next entry is no longer there is dropped,
and may come back with its last position: Redis has more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from strider.api import log_events
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.storage.run_logs.models import BEGINNING, LogEntry, LogState, position_key
from strider.storage.run_logs.reader import RunLogReader

KEPT_ENTRIES: Final = 1_000
"""Entries that a follower may be behind."""

BATCH_ENTRIES: Final = 50
"""Entries that a follower gets at a time."""

POLL_SECONDS: Final = 0.25
RETRY_SECONDS: Final = 1.0

HEARTBEAT_SECONDS: Final = 15.0

_log = logger("api")


class StreamEnd(StrEnum):
    """Reason for the end of a stream."""

    ENDED = "end"
    """The run has ended, and all lines were sent."""
    DROPPED = "dropped"
    """The client reads too slowly."""
    CLOSING = "closing"
    """The API stops, or the stream is as old as one may become; a client connects again."""


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """Entries for a follower; none where nothing came for a while; or the end."""

    position: str
    """How far the log was read."""
    entries: Sequence[LogEntry] = ()
    end: StreamEnd | None = None


class _SharedLog:
    """The last entries of one log."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.entries: deque[LogEntry] = deque()
        self.complete_after: tuple[int, int] | None = None
        """All entries after this position are here; None before the log was looked at."""
        self.has_ended = False
        self.followers = 0
        self.task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    def covers(self, position: str) -> bool:
        """Whether all entries after a position are here."""
        return self.complete_after is not None and position_key(position) >= self.complete_after

    def start(self, position: str, *, has_ended: bool) -> None:
        """Begin after a position."""
        self.complete_after, self.has_ended = position_key(position), has_ended
        self.notify()

    def add(self, entries: Sequence[LogEntry]) -> None:
        """Add entries, in place of the oldest."""
        for entry in entries:
            self.entries.append(entry)
            self.has_ended = entry.is_end
            if len(self.entries) > KEPT_ENTRIES:
                self.complete_after = position_key(self.entries.popleft().position)
        self.notify()

    def after(self, position: str) -> list[LogEntry]:
        """Return the next entries after a position."""
        found: list[LogEntry] = []
        place = position_key(position)
        for entry in reversed(self.entries):
            if position_key(entry.position) <= place:
                break
            found.append(entry)
        return found[: -BATCH_ENTRIES - 1 : -1]

    def notify(self) -> None:
        """Wake the followers."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def wait(self, seconds: float) -> bool:
        """Wait for a change; False where there is none for so long."""
        if self.task is not None and self.task.done():
            self.task.result()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True


class LiveLogs:
    """Follows logs of runs."""

    def __init__(self, reader: RunLogReader, *, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._shared: dict[str, _SharedLog] = {}
        self._is_stopping = False

    def stop(self) -> None:
        """End all streams."""
        self._is_stopping = True
        for shared in self._shared.values():
            shared.notify()

    async def last_position(self, run: str) -> str:
        """Return the position of the last entry; that of the beginning where there is none."""
        last = await self._reader.last_entry(run)
        return BEGINNING if last is None else last.position

    async def follow(self, run: str, *, after: str = BEGINNING) -> AsyncGenerator[StreamBatch, None]:
        """Yield the entries after a position, then new ones as they come, until the run ends.

        An empty batch says that nothing came for a while. Raises Unavailable before the first batch only.
        """
        shared = self._join(run)
        try:
            position = after
            async with aclosing(self._catch_up(shared, after)) as stored:
                async for batch in stored:
                    position = batch.position
                    yield batch
                    if batch.end is not None:
                        return
            async with aclosing(self._follow_live(shared, position)) as live:
                async for batch in live:
                    yield batch
        finally:
            self._leave(shared)

    async def _catch_up(self, shared: _SharedLog, position: str) -> AsyncGenerator[StreamBatch, None]:
        """Yield stored entries until the shared ones continue them."""
        while not self._is_stopping:
            page = await self._reader.page(shared.run, after=position, count=BATCH_ENTRIES)
            if page is not None:
                position = page.position
                yield StreamBatch(position, [entry for entry in page.entries if not entry.is_end])
                if not page.is_last:
                    continue
                if page.state is LogState.ARCHIVED:
                    yield StreamBatch(position, end=StreamEnd.ENDED)
            if shared.covers(position):
                return
            if shared.complete_after is None:
                await shared.wait(HEARTBEAT_SECONDS)
                yield StreamBatch(position)
        yield StreamBatch(position, end=StreamEnd.CLOSING)

    async def _follow_live(self, shared: _SharedLog, position: str) -> AsyncGenerator[StreamBatch, None]:
        while True:
            if self._is_stopping:
                yield StreamBatch(position, end=StreamEnd.CLOSING)
                return
            if not shared.covers(position):
                yield StreamBatch(position, end=StreamEnd.DROPPED)
                return
            fresh = shared.after(position)
            if fresh:
                position = fresh[-1].position
                yield StreamBatch(position, [entry for entry in fresh if not entry.is_end])
            elif shared.has_ended:
                yield StreamBatch(position, end=StreamEnd.ENDED)
                return
            elif not await shared.wait(HEARTBEAT_SECONDS):
                yield StreamBatch(position)

    def _join(self, run: str) -> _SharedLog:
        shared = self._shared.get(run)
        if shared is None:
            shared = self._shared[run] = _SharedLog(run)
            shared.task = asyncio.create_task(self._read(shared), name=f"live log of {run[:80]}")
        shared.followers += 1
        return shared

    def _leave(self, shared: _SharedLog) -> None:
        shared.followers -= 1
        if not shared.followers:
            del self._shared[shared.run]
            assert shared.task is not None
            shared.task.cancel()

    async def _read(self, shared: _SharedLog) -> None:
        """Read what is new, until cancelled."""
        position: str | None = None
        while True:
            try:
                if position is None:
                    last = await self._reader.last_entry(shared.run)
                    position = BEGINNING if last is None else last.position
                    shared.start(position, has_ended=last is not None and last.is_end)
                page = await self._reader.live_page(shared.run, after=position)
                if page is not None:
                    position = page.position
                    if page.entries:
                        shared.add(page.entries)
                    if not page.is_last:
                        continue
            except Unavailable as failure:
                _log.emit(log_events.LIVE_LOG_PAUSED, why=str(failure))
                await self._clock.sleep(RETRY_SECONDS)
                continue
            await self._clock.sleep(POLL_SECONDS)
