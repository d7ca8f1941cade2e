"""What is said to all schedulers -> whoever takes it in: first up to now, and then on for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.politeness.retry_policy import INFRASTRUCTURE_RETRY, RandomSource
from strider.runtime.observability.logging import logger

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_log = logger("scheduler")


class Words(Protocol[T_co]):
    """A log that everybody reads whole."""

    async def poll(self) -> Sequence[T_co]:
        """Wait a little for what comes next; raises Unavailable."""

    async def read_to_end(self) -> Sequence[T_co]:
        """Give all that had been said by now and was not given yet; raises Unavailable."""


class TopicFollower(Generic[T]):
    """Has words taken in, one lot at a time."""

    def __init__(
        self,
        feed: Words[T],
        apply: Callable[[Sequence[T]], Awaitable[None]],
        *,
        waits: str,
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        """Make one; `waits` is what the log of the process calls it when nothing can be heard."""
        self._words = feed
        self._take = apply
        self._waits = waits
        self._clock = clock
        self._chance = chance
        self._one_at_a_time = asyncio.Lock()

    async def catch_up(self) -> None:
        """Take all that was said by now; raises Unavailable."""
        async with self._one_at_a_time:
            await self._take(await self._words.read_to_end())

    async def run(self) -> None:
        """Go on for ever."""
        failures = 0
        while True:
            try:
                async with self._one_at_a_time:
                    await self._take(await self._words.poll())
                failures = 0
                await asyncio.sleep(0)  # who wants to catch up comes first
            except Unavailable as failure:
                failures += 1
                _log.warning(self._waits, why=str(failure))
                await self._clock.sleep(INFRASTRUCTURE_RETRY.wait_seconds(failures, self._chance) or 1.0)
