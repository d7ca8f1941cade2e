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
from strider.fetcher.core import FailedFetch, FetchedResponse
from strider.messaging.ports import Clock
from strider.urls import host_of

KEEP_SECONDS: Final = 3600.0
MAX_CACHED_FILES: Final = 1_000
MAX_CACHED_BYTES: Final = 8 * 1024 * 1024
"""Of their bodies together, the latest always; a thousand of the longest would take half a gigabyte."""
HOST_DELAY_SECONDS: Final = 1.0
MAX_WAIT_SECONDS: Final = 10.0
"""Longest wait for a turn."""

SendRequest = Callable[[], Awaitable[FetchedResponse | FailedFetch]]


class CrossHostRobotsCache:
    """What other hosts answered, and when each may be asked next."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, FetchedResponse]] = OrderedDict()
        self._cached_bytes = 0
        self._next_allowed_at: OrderedDict[str, float] = OrderedDict()
        self._turns: dict[str, asyncio.Lock] = {}

    async def fetch(self, url: str, send: SendRequest) -> FetchedResponse | FailedFetch:
        """Give what is known of a URL, or ask for it when it is its turn."""
        turn = self._turns.setdefault(url, asyncio.Lock())
        try:
            async with turn:
                known = self._fresh(url)
                if known is not None:
                    return known
                return await self._asked(url, send)
        finally:
            if not turn.locked():
                self._turns.pop(url, None)

    def _fresh(self, url: str) -> FetchedResponse | None:
        until, answer = self._known.get(url, (0.0, None))
        return answer if self._clock.monotonic() < until else None

    async def _asked(self, url: str, send: SendRequest) -> FetchedResponse | FailedFetch:
        wait_seconds = self._reserve_slot(host_of(url))
        if wait_seconds > MAX_WAIT_SECONDS:
            return FailedFetch(
                ErrorClass.TOTAL_TIMEOUT, f"too many are sent to {host_of(url)} for their robots.txt"
            )
        await self._clock.sleep(wait_seconds)
        answer = await send()
        if isinstance(answer, FetchedResponse) and answer.head.status < 500:  # noqa: PLR2004  # a server's trouble passes
            self._keep(url, answer)
        return answer

    def _keep(self, url: str, response: FetchedResponse) -> None:
        if (before := self._known.pop(url, None)) is not None:
            self._cached_bytes -= len(before[1].body)
        self._known[url] = (self._clock.monotonic() + KEEP_SECONDS, response)
        self._cached_bytes += len(response.body)
        while len(self._known) > MAX_CACHED_FILES or (
            self._cached_bytes > MAX_CACHED_BYTES and len(self._known) > 1
        ):
            _, (_, gone) = self._known.popitem(last=False)
            self._cached_bytes -= len(gone.body)

    def _reserve_slot(self, host_name: str) -> float:
        """Take the next turn of a host where it comes soon enough; says how long to wait."""
        now = self._clock.monotonic()
        while self._next_allowed_at and next(iter(self._next_allowed_at.values())) < now:
            self._next_allowed_at.popitem(last=False)
        at = max(now, self._next_allowed_at.get(host_name, now))
        if at - now <= MAX_WAIT_SECONDS:
            self._next_allowed_at[host_name] = at + HOST_DELAY_SECONDS
            self._next_allowed_at.move_to_end(host_name)
        return at - now
