"""A robots.txt that another host points to: asked once an hour, and no host more than once a second.

A thousand parked domains point to one file of one host, whose own clock nobody else keeps here. What
it answered serves all of them; other files of that host wait for their turn, or give up where that
would take too long.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.core import Answer, Failed
from strider.messaging.ports import Clock
from strider.urls import host_of

KEEP_SECONDS: Final = 3600.0
MOST_KEPT: Final = 1_000
MOST_BYTES_KEPT: Final = 8 * 1024 * 1024
"""Of their bodies together, the latest always; a thousand of the longest would take half a gigabyte."""
PACE_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 10.0
"""Longest wait for a turn."""

Ask = Callable[[], Awaitable[Answer | Failed]]


class ForeignRobots:
    """What other hosts answered, and when each may be asked next."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._kept_bytes = 0
        self._free_at: OrderedDict[str, float] = OrderedDict()
        self._turns: dict[str, asyncio.Lock] = {}

    async def answer(self, url: str, ask: Ask) -> Answer | Failed:
        """Give what is known of a URL, or ask for it when it is its turn."""
        turn = self._turns.setdefault(url, asyncio.Lock())
        try:
            async with turn:
                known = self._fresh(url)
                if known is not None:
                    return known
                return await self._asked(url, ask)
        finally:
            if not turn.locked():
                self._turns.pop(url, None)

    def _fresh(self, url: str) -> Answer | None:
        until, answer = self._known.get(url, (0.0, None))
        return answer if self._clock.monotonic() < until else None

    async def _asked(self, url: str, ask: Ask) -> Answer | Failed:
        wait_seconds = self._reserve(host_of(url))
        if wait_seconds > PATIENCE_SECONDS:
            return Failed(
                ErrorClass.TOTAL_TIMEOUT, f"too many are sent to {host_of(url)} for their robots.txt"
            )
        await self._clock.sleep(wait_seconds)
        answer = await ask()
        if isinstance(answer, Answer) and answer.head.status < 500:  # noqa: PLR2004  # a server's trouble passes
            self._keep(url, answer)
        return answer

    def _keep(self, url: str, answer: Answer) -> None:
        if (before := self._known.pop(url, None)) is not None:
            self._kept_bytes -= len(before[1].body)
        self._known[url] = (self._clock.monotonic() + KEEP_SECONDS, answer)
        self._kept_bytes += len(answer.body)
        while len(self._known) > MOST_KEPT or (self._kept_bytes > MOST_BYTES_KEPT and len(self._known) > 1):
            _, (_, gone) = self._known.popitem(last=False)
            self._kept_bytes -= len(gone.body)

    def _reserve(self, name: str) -> float:
        """Take the next turn of a host where it comes soon enough; says how long to wait."""
        now = self._clock.monotonic()
        while self._free_at and next(iter(self._free_at.values())) < now:
            self._free_at.popitem(last=False)
        at = max(now, self._free_at.get(name, now))
        if at - now <= PATIENCE_SECONDS:
            self._free_at[name] = at + PACE_SECONDS
            self._free_at.move_to_end(name)
        return at - now
