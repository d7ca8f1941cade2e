"""Which proxy is next: of those in use, the one that was used longest ago.

While all are well that is round-robin. One that failed too often rests, is dialled now and then, and comes
back when it answers. Where none is left nothing is asked: a request that should go through a
proxy never goes without. Decides nothing about sites.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.core import Answer, Failed, Proxy, Standing
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.politeness.rate_window import RateWindows
from strider.runtime.observability.logging import logger

from .failures import Failure

PART: Final = "proxies"
"""The name under which readiness shows that no proxy is left."""

FIRST_PROBE_SECONDS: Final = 30.0
LAST_PROBE_SECONDS: Final = 1800.0
"""Between two tries to reach a proxy that was disabled, at first and at most."""

_OURS: Final = frozenset({ErrorClass.PROXY_UNREACHABLE, ErrorClass.PROXY_REFUSED, ErrorClass.PROXY_AUTH})

Knock = Callable[[Proxy], Awaitable[None]]
"""Connects to a proxy and shakes hands with it; raises Failure."""

_log = logger("proxies")


@dataclass(slots=True)
class Seat:
    """A proxy with its standing, which changes. `noted` is what was told about it last."""

    proxy: Proxy
    standing: Standing
    noted: Standing
    probe_seconds: float = FIRST_PROBE_SECONDS
    probing: asyncio.Task[None] | None = None


class Rotation:
    """The proxies of a process, the one that was used longest ago first."""

    def __init__(self, *, clock: Clock, windows: RateWindows, knock: Knock) -> None:
        self._clock = clock
        self._windows = windows
        self.knock = knock
        self._seats: OrderedDict[str, Seat] = OrderedDict()

    @property
    def seats(self) -> tuple[Seat, ...]:
        """All proxies, in the order in which they come."""
        return tuple(self._seats.values())

    def set(self, known: Iterable[tuple[Proxy, Standing]]) -> None:
        """Take over a list: new ones come first, those that are gone go, accounts may change."""
        wanted = {proxy.key: (proxy, standing) for proxy, standing in known}
        for key in self._seats.keys() - wanted.keys():
            self._stop(self._seats.pop(key))
        for key, (proxy, standing) in wanted.items():
            seat = self._seats.get(key)
            if seat is None:
                seat = self._seats[key] = Seat(proxy, standing, standing)
            seat.proxy = proxy
            if standing.is_active is not seat.noted.is_active:  # somebody else found out
                seat.standing = seat.standing.heard(standing)
                seat.noted = seat.noted.heard(standing)
            if not seat.standing.is_active:
                self._probe(seat)
        ordered = sorted(self._seats.items(), key=lambda item: item[1].standing.last_used_at)
        self._seats = OrderedDict(ordered)

    async def next(self, domain: str) -> Proxy:
        """Choose for a domain, when one may ask it; Unavailable where no proxy is left."""
        while True:
            now = self._clock.monotonic()
            opens_at: list[float] = []
            for key, seat in self._seats.items():
                if not seat.standing.is_active:
                    continue
                if self._windows.can_crawl(domain, key, now=now):
                    self._windows.record_request(domain, key, now=now)
                    seat.standing = seat.standing.used(now=self._now())
                    self._seats.move_to_end(key)
                    return seat.proxy
                opens_at.append(self._windows.opens_at(domain, key, now=now))
            if not opens_at:
                raise Unavailable(PART, f"none of {len(self._seats)} proxies is in use")
            await self._clock.sleep(min(opens_at) - now)

    def note(self, proxy: Proxy, came: Answer | Failed, *, seconds: float) -> None:
        """Count what came of a request through a proxy; a site's own trouble counts for nobody."""
        seat = self._seats.get(proxy.key)
        if seat is None:
            return
        if isinstance(came, Failed) and came.error in _OURS:
            seat.standing = seat.standing.failed(now=self._now())
            if not seat.standing.is_active:
                _log.warning("Proxy Disabled", proxy=proxy.name, failures=seat.standing.failure_count)
                self._probe(seat)
        elif came.head is not None:
            seat.standing = seat.standing.succeeded(now=self._now(), seconds=seconds)
            seat.probe_seconds = FIRST_PROBE_SECONDS

    async def close(self) -> None:
        """Stop looking after those that rest."""
        for seat in self._seats.values():
            self._stop(seat)

    def _probe(self, seat: Seat) -> None:
        if seat.probing is None or seat.probing.done():
            seat.probing = asyncio.get_running_loop().create_task(self._revive(seat))

    async def _revive(self, seat: Seat) -> None:
        """Knock at growing intervals until somebody opens."""
        while not seat.standing.is_active:
            await self._clock.sleep(seat.probe_seconds)
            seat.probe_seconds = min(LAST_PROBE_SECONDS, 2 * seat.probe_seconds)
            try:
                await self.knock(seat.proxy)
            except Failure as failure:
                _log.info("Proxy Still Down", proxy=seat.proxy.name, why=str(failure))
            else:
                seat.standing = seat.standing.revived()
                _log.info("Proxy Back", proxy=seat.proxy.name)

    def _stop(self, seat: Seat) -> None:
        if seat.probing is not None:
            seat.probing.cancel()

    def _now(self) -> float:
        return self._clock.now().timestamp()
