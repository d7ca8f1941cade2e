"""Follow a broadcast topic: catch up to its end offset, then tail it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock, Randomness
from strider.runtime.observability.log_events import LogEvent
from strider.runtime.observability.logging import logger
from strider.runtime.retry import Backoff

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_log = logger("crawl")


class EventFeed(Protocol[T_co]):
    """Feed of a topic that is read whole."""

    async def poll(self) -> Sequence[T_co]:
        """Return the next values, after a short wait; raises Unavailable."""

    async def read_to_end(self) -> Sequence[T_co]:
        """Return all values up to the current end that were not returned yet; raises Unavailable."""


class TopicFollower(Generic[T]):
    """Applies the values of a feed, one batch at a time."""

    def __init__(
        self,
        feed: EventFeed[T],
        apply: Callable[[Sequence[T]], Awaitable[None]],
        *,
        paused_event: LogEvent,
        clock: Clock,
        chance: Randomness,
    ) -> None:
        """Create the follower; `paused_event` is logged while the feed is unavailable."""
        self._feed = feed
        self._apply = apply
        self._paused_event = paused_event
        self._backoff = Backoff(clock=clock, chance=chance)
        self._one_at_a_time = asyncio.Lock()

    async def catch_up(self) -> None:
        """Apply everything published up to now; raises Unavailable."""
        async with self._one_at_a_time:
            await self._apply(await self._feed.read_to_end())

    async def run(self) -> None:
        """Apply new values until cancelled."""
        while True:
            await self._backoff.until_available(self._apply_new, on_failure=self._report)
            await asyncio.sleep(0)  # lets a waiting `catch_up` go first

    async def _apply_new(self) -> None:
        async with self._one_at_a_time:
            await self._apply(await self._feed.poll())

    def _report(self, failure: Unavailable) -> None:
        _log.emit(self._paused_event, why=str(failure))
