"""Cookie jars of runs: read before a request, written after its answer, kept by registrable domain.

A domain's cookies stand in one hash, a field each, so that two answers of a moment take nothing from
each other. Requests without a jar, which is the rule, cost nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from strider.contracts.generated.events import FetchRequested
from strider.fetcher.core import (
    Cookie,
    FailedFetch,
    FetchedResponse,
    build_cookie_header,
    parse_set_cookies,
    update_jar,
)
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.urls import domain_of

MAX_JARS: Final = 10_000
"""Jars in memory, each of one run and domain; the one used longest ago goes first."""

_log = logger("cookies")


class CookieJarStore(Protocol):
    """Keeps cookies by jar and domain."""

    async def load(self, jar: str, domain: str) -> Sequence[Cookie]:
        """Give a jar's cookies of a domain; raises Unavailable."""

    async def update(
        self, jar: str, domain: str, *, added: Sequence[Cookie], removed: Sequence[Cookie]
    ) -> None:
        """Add some, take others away; raises Unavailable."""


class CookieJars:
    """Puts cookies on requests, and takes them from answers."""

    def __init__(self, store: CookieJarStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def dressed(self, request: FetchRequested) -> tuple[FetchRequested, Sequence[Cookie]]:
        """Give a request its cookies, and the jar that they came from; raises Unavailable."""
        jar = await self._store.load(request.cookie_jar, domain_of(request.url))
        header = build_cookie_header(jar, url=request.url, now=self._now())
        if not header:
            return request, jar
        pairs = list(zip(request.header_names, request.header_values, strict=False))
        # There is one line of them (RFC 6265, 5.4), whoever else names some.
        own = [value for name, value in pairs if name.lower() == "cookie"]
        others = [pair for pair in pairs if pair[0].lower() != "cookie"]
        pairs = [*others, ("Cookie", "; ".join((*own, header)))]
        names, values = (tuple(part) for part in zip(*pairs, strict=True))
        return replace(request, header_names=names, header_values=values), jar

    async def store_cookies(
        self, request: FetchRequested, result: FetchedResponse | FailedFetch, jar: Sequence[Cookie]
    ) -> bool:
        """Keep what an answer sets; says whether that changed the jar. A store that is down costs no page."""
        head = result.head
        if head is None or "set-cookie" not in head.headers:
            return False
        pairs = zip(head.header_names, head.header_values, strict=True)
        sent = [value for name, value in pairs if name.lower() == "set-cookie"]
        now = self._now()
        after = update_jar(jar, parse_set_cookies(sent, url=request.url, now=now), now=now)
        added = [cookie for cookie in after if cookie not in jar]
        keys = {cookie.key for cookie in after}
        gone = [cookie for cookie in jar if cookie.key not in keys]
        if not added and not gone:
            return False
        try:
            await self._store.update(request.cookie_jar, domain_of(request.url), added=added, removed=gone)
        except Unavailable as failure:
            _log.warning("Cookies Not Kept", why=failure.detail)
            return False
        return True

    def _now(self) -> float:
        return self._clock.now().timestamp()


class MemoryCookieJars:
    """Jars of one process."""

    def __init__(self) -> None:
        self._jars: OrderedDict[tuple[str, str], dict[tuple[str, str, str], Cookie]] = OrderedDict()

    async def load(self, jar: str, domain: str) -> Sequence[Cookie]:
        """Give a jar's cookies of a domain."""
        return tuple(self._jars.get((jar, domain), {}).values())

    async def update(
        self, jar: str, domain: str, *, added: Sequence[Cookie], removed: Sequence[Cookie]
    ) -> None:
        """Add some, take others away."""
        cookies = self._jars.setdefault((jar, domain), {})
        self._jars.move_to_end((jar, domain))
        for cookie in removed:
            cookies.pop(cookie.key, None)
        cookies.update((cookie.key, cookie) for cookie in added)
        while len(self._jars) > MAX_JARS:
            self._jars.popitem(last=False)
