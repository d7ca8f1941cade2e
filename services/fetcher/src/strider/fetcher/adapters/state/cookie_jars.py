"""Cookie jars of runs: added to requests, updated from responses, stored by domain.

The cookies of a domain are one hash with a field each, so that two simultaneous responses overwrite nothing
of each other. Requests without a jar, which is the default, cost nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from strider.contracts.generated.events import FetchRequested
from strider.fetcher import log_events
from strider.fetcher.core import (
    Cookie,
    FetchResult,
    build_cookie_header,
    parse_set_cookies,
    update_jar,
)
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.urls import domain_of

MAX_JARS: Final = 10_000
"""Jars in memory, each of one run and domain; the least recently used is dropped first."""

_log = logger("cookies")


class CookieJarStore(Protocol):
    """Stores cookies by jar and domain."""

    async def load(self, jar: str, domain: str) -> Sequence[Cookie]:
        """Return a jar's cookies of a domain; raises Unavailable."""

    async def update(
        self, jar: str, domain: str, *, added: Sequence[Cookie], removed: Sequence[Cookie]
    ) -> None:
        """Add and remove cookies; raises Unavailable."""


class CookieJars:
    """Adds cookies to requests, and stores those that responses set."""

    def __init__(self, store: CookieJarStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def with_cookies(self, request: FetchRequested) -> tuple[FetchRequested, Sequence[Cookie]]:
        """Return a request with its cookies, and the jar they came from; raises Unavailable."""
        jar = await self._store.load(request.cookie_jar, domain_of(request.url))
        header = build_cookie_header(jar, url=request.url, now=self._now())
        if not header:
            return request, jar
        pairs = list(zip(request.header_names, request.header_values, strict=False))
        # A request has one Cookie header (RFC 6265, 5.4), even if the run sets one too.
        own = [value for name, value in pairs if name.lower() == "cookie"]
        others = [pair for pair in pairs if pair[0].lower() != "cookie"]
        pairs = [*others, ("Cookie", "; ".join((*own, header)))]
        names, values = (tuple(part) for part in zip(*pairs, strict=True))
        return replace(request, header_names=names, header_values=values), jar

    async def store_cookies(
        self, request: FetchRequested, result: FetchResult, jar: Sequence[Cookie]
    ) -> bool:
        """Store the cookies that a response sets; returns whether the jar has changed.

        A store that is unavailable costs the cookies, not the page.
        """
        head = result.head
        if head is None or "set-cookie" not in head.headers:
            return False
        pairs = zip(head.header_names, head.header_values, strict=True)
        set_cookie_lines = [value for name, value in pairs if name.lower() == "set-cookie"]
        now = self._now()
        after = update_jar(jar, parse_set_cookies(set_cookie_lines, url=request.url, now=now), now=now)
        added = [cookie for cookie in after if cookie not in jar]
        keys = {cookie.key for cookie in after}
        removed = [cookie for cookie in jar if cookie.key not in keys]
        if not added and not removed:
            return False
        try:
            await self._store.update(request.cookie_jar, domain_of(request.url), added=added, removed=removed)
        except Unavailable as failure:
            _log.emit(log_events.COOKIES_NOT_STORED, why=failure.detail)
            return False
        return True

    def _now(self) -> float:
        return self._clock.now().timestamp()


class MemoryCookieJars:
    """Jars in the memory of one process."""

    def __init__(self) -> None:
        self._jars: OrderedDict[tuple[str, str], dict[tuple[str, str, str], Cookie]] = OrderedDict()

    async def load(self, jar: str, domain: str) -> Sequence[Cookie]:
        """Return a jar's cookies of a domain."""
        return tuple(self._jars.get((jar, domain), {}).values())

    async def update(
        self, jar: str, domain: str, *, added: Sequence[Cookie], removed: Sequence[Cookie]
    ) -> None:
        """Add and remove cookies."""
        cookies = self._jars.setdefault((jar, domain), {})
        self._jars.move_to_end((jar, domain))
        for cookie in removed:
            cookies.pop(cookie.key, None)
        cookies.update((cookie.key, cookie) for cookie in added)
        while len(self._jars) > MAX_JARS:
            self._jars.popitem(last=False)
