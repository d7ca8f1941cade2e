"""How many requests a domain gets through one proxy within a window of time.

An extra limit beside the clocks of groups, never a multiplier of them: who has ten proxies asks no host more
often, and a domain of many hosts is not flooded by one of them. Pure: the time is an argument.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MAX_WINDOWS: Final = 100_000
"""Pairs that are remembered; the one that began longest ago goes first, and is over by then."""


class RateWindows:
    """Counts of requests by (domain, proxy), each with the start of its window."""

    def __init__(self, *, max_requests: int, seconds: float = 1.0) -> None:
        """At most so many requests within so many seconds; 0 sets no limit."""
        self._most = max_requests
        self._seconds = seconds
        self._counts: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def can_crawl(self, domain: str, proxy: str, *, now: float) -> bool:
        """Say whether a domain may be asked through a proxy now."""
        return self.opens_at(domain, proxy, now=now) <= now

    def opens_at(self, domain: str, proxy: str, *, now: float) -> float:
        """Say when a domain may be asked through a proxy; now or earlier where it may be at once."""
        start, count = self._counts.get((domain, proxy), (now, 0))
        return start + self._seconds if self._most and count >= self._most else start

    def record_request(self, domain: str, proxy: str, *, now: float) -> None:
        """Count a request."""
        if not self._most:
            return
        pair = (domain, proxy)
        start, count = self._counts.pop(pair, (now, 0))
        is_over = now - start >= self._seconds
        self._counts[pair] = (now, 1) if is_over else (start, count + 1)
        while len(self._counts) > MAX_WINDOWS:
            self._counts.popitem(last=False)
