"""Limit of requests per domain and proxy within a time window.

An additional limit beside the crawl delay of host groups, which it never raises: ten proxies do not multiply
the rate for a host, and a domain with many hosts is not flooded through one proxy. Pure: the time is an
argument.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MAX_WINDOWS: Final = 100_000
"""Maximum number of windows in memory; the oldest is dropped first, and has ended by then."""


class RateWindows:
    """Request counts by (domain, proxy), each with the start of its window."""

    def __init__(self, *, max_requests: int, seconds: float = 1.0) -> None:
        """Allow `max_requests` within `seconds`; 0 sets no limit."""
        self._max_requests = max_requests
        self._seconds = seconds
        self._counts: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def can_crawl(self, domain: str, proxy: str, *, now: float) -> bool:
        """Whether a domain may be requested through a proxy now."""
        return self.opens_at(domain, proxy, now=now) <= now

    def opens_at(self, domain: str, proxy: str, *, now: float) -> float:
        """Return when a domain may be requested through a proxy; now or earlier where it may be at once."""
        start, count = self._counts.get((domain, proxy), (now, 0))
        return start + self._seconds if self._max_requests and count >= self._max_requests else start

    def record_request(self, domain: str, proxy: str, *, now: float) -> None:
        """Count a request."""
        if not self._max_requests:
            return
        pair = (domain, proxy)
        start, count = self._counts.pop(pair, (now, 0))
        is_over = now - start >= self._seconds
        self._counts[pair] = (now, 1) if is_over else (start, count + 1)
        while len(self._counts) > MAX_WINDOWS:
            self._counts.popitem(last=False)
