"""Cache and rate limit for a robots.txt to which another host redirects.

A thousand parked domains may redirect to one file of one host, whose delay is kept by none of their groups.
Its response is cached for an hour for all of them; other files of that host are requested once a second, or
fail if the wait would be too long.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.core import FailedFetch, FetchedResponse, FetchResult
from strider.messaging.ports import Clock
from strider.urls import host_of

CACHE_SECONDS: Final = 3600.0
MAX_CACHED_FILES: Final = 1_000
MAX_CACHED_BYTES: Final = 8 * 1024 * 1024
"""Of all cached bodies together, the latest always included; a thousand of the largest would take half a
gigabyte.
"""
HOST_DELAY_SECONDS: Final = 1.0
MAX_WAIT_SECONDS: Final = 10.0
"""Maximum wait for a slot of a host."""

SendRequest = Callable[[], Awaitable[FetchResult]]


class CrossHostRobotsCache:
    """Responses of other hosts, and when each host may be requested next."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._cache: OrderedDict[str, tuple[float, FetchedResponse]] = OrderedDict()
        self._cached_bytes = 0
        self._next_allowed_at: OrderedDict[str, float] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}

    async def fetch(self, url: str, send: SendRequest) -> FetchResult:
        """Return the cached response for a URL, or send the request in the host's next slot."""
        lock = self._locks.setdefault(url, asyncio.Lock())
        try:
            async with lock:
                cached = self._cached(url)
                if cached is not None:
                    return cached
                return await self._fetch_paced(url, send)
        finally:
            if not lock.locked():
                self._locks.pop(url, None)

    def _cached(self, url: str) -> FetchedResponse | None:
        until, response = self._cache.get(url, (0.0, None))
        return response if self._clock.monotonic() < until else None

    async def _fetch_paced(self, url: str, send: SendRequest) -> FetchResult:
        wait_seconds = self._reserve_slot(host_of(url))
        if wait_seconds > MAX_WAIT_SECONDS:
            return FailedFetch(
                ErrorClass.TOTAL_TIMEOUT, f"too many hosts redirect to {host_of(url)} for their robots.txt"
            )
        await self._clock.sleep(wait_seconds)
        response = await send()
        if isinstance(response, FetchedResponse) and response.head.status < 500:  # noqa: PLR2004  # server errors are temporary
            self._store(url, response)
        return response

    def _store(self, url: str, response: FetchedResponse) -> None:
        if (before := self._cache.pop(url, None)) is not None:
            self._cached_bytes -= len(before[1].body)
        self._cache[url] = (self._clock.monotonic() + CACHE_SECONDS, response)
        self._cached_bytes += len(response.body)
        while len(self._cache) > MAX_CACHED_FILES or (
            self._cached_bytes > MAX_CACHED_BYTES and len(self._cache) > 1
        ):
            _, (_, evicted) = self._cache.popitem(last=False)
            self._cached_bytes -= len(evicted.body)

    def _reserve_slot(self, host_name: str) -> float:
        """Reserve the next slot of a host if it is soon enough; returns how long to wait, in seconds."""
        now = self._clock.monotonic()
        while self._next_allowed_at and next(iter(self._next_allowed_at.values())) < now:
            self._next_allowed_at.popitem(last=False)
        at = max(now, self._next_allowed_at.get(host_name, now))
        if at - now <= MAX_WAIT_SECONDS:
            self._next_allowed_at[host_name] = at + HOST_DELAY_SECONDS
            self._next_allowed_at.move_to_end(host_name)
        return at - now
