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
from strider.fetcher.adapters.http.error_mapping import FetchFailure
from strider.fetcher.core import FailedFetch, FetchedResponse, Proxy, Standing
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.politeness.rate_window import RateWindows
from strider.runtime.observability.logging import logger

READINESS_PART: Final = "proxies"
"""The name under which readiness shows that no proxy is left."""

MIN_PROBE_SECONDS: Final = 30.0
MAX_PROBE_SECONDS: Final = 1800.0
"""Between two tries to reach a proxy that was disabled, at first and at most."""

_OURS: Final = frozenset({ErrorClass.PROXY_UNREACHABLE, ErrorClass.PROXY_REFUSED, ErrorClass.PROXY_AUTH})

CheckProxy = Callable[[Proxy], Awaitable[None]]
"""Connects to a proxy and shakes hands with it; raises Failure."""

_log = logger("proxies")


@dataclass(slots=True)
class PooledProxy:
    """A proxy with its standing, which changes. `noted` is what was told about it last."""

    proxy: Proxy
    health: Standing
    recorded_health: Standing
    next_probe_seconds: float = MIN_PROBE_SECONDS
    probe_task: asyncio.Task[None] | None = None


class ProxyPool:
    """The proxies of a process, the one that was used longest ago first."""

    def __init__(self, *, clock: Clock, windows: RateWindows, check_proxy: CheckProxy) -> None:
        self._clock = clock
        self._windows = windows
        self.check_proxy = check_proxy
        self._proxies: OrderedDict[str, PooledProxy] = OrderedDict()

    @property
    def proxies(self) -> tuple[PooledProxy, ...]:
        """All proxies, in the order in which they come."""
        return tuple(self._proxies.values())

    def replace_all(self, proxies: Iterable[tuple[Proxy, Standing]]) -> None:
        """Take over a list: new ones come first, those that are gone go, accounts may change."""
        wanted = {proxy.key: (proxy, standing) for proxy, standing in proxies}
        for key in self._proxies.keys() - wanted.keys():
            self._stop(self._proxies.pop(key))
        for key, (proxy, standing) in wanted.items():
            seat = self._proxies.get(key)
            if seat is None:
                seat = self._proxies[key] = PooledProxy(proxy, standing, standing)
            seat.proxy = proxy
            if standing.is_active is not seat.recorded_health.is_active:  # somebody else found out
                seat.health = seat.health.with_status_of(standing)
                seat.recorded_health = seat.recorded_health.with_status_of(standing)
            if not seat.health.is_active:
                self._probe(seat)
        ordered = sorted(self._proxies.items(), key=lambda item: item[1].health.last_used_at)
        self._proxies = OrderedDict(ordered)

    async def acquire(self, domain: str) -> Proxy:
        """Choose for a domain, when one may ask it; Unavailable where no proxy is left."""
        while True:
            now = self._clock.monotonic()
            opens_at: list[float] = []
            for key, seat in self._proxies.items():
                if not seat.health.is_active:
                    continue
                if self._windows.can_crawl(domain, key, now=now):
                    self._windows.record_request(domain, key, now=now)
                    seat.health = seat.health.marked_used(now=self._now())
                    self._proxies.move_to_end(key)
                    return seat.proxy
                opens_at.append(self._windows.opens_at(domain, key, now=now))
            if not opens_at:
                raise Unavailable(READINESS_PART, f"none of {len(self._proxies)} proxies is in use")
            await self._clock.sleep(min(opens_at) - now)

    def record_result(self, proxy: Proxy, result: FetchedResponse | FailedFetch, *, seconds: float) -> None:
        """Count what came of a request through a proxy; a site's own trouble counts for nobody."""
        seat = self._proxies.get(proxy.key)
        if seat is None:
            return
        if isinstance(result, FailedFetch) and result.error_class in _OURS:
            seat.health = seat.health.after_failure(now=self._now())
            if not seat.health.is_active:
                _log.warning("Proxy Disabled", proxy=proxy.display_url, failures=seat.health.failure_count)
                self._probe(seat)
        elif result.head is not None:
            seat.health = seat.health.after_success(now=self._now(), seconds=seconds)
            seat.next_probe_seconds = MIN_PROBE_SECONDS

    async def close(self) -> None:
        """Stop looking after those that rest."""
        for seat in self._proxies.values():
            self._stop(seat)

    def _probe(self, seat: PooledProxy) -> None:
        if seat.probe_task is None or seat.probe_task.done():
            seat.probe_task = asyncio.get_running_loop().create_task(self._probe_until_up(seat))

    async def _probe_until_up(self, seat: PooledProxy) -> None:
        """Knock at growing intervals until somebody opens."""
        while not seat.health.is_active:
            await self._clock.sleep(seat.next_probe_seconds)
            seat.next_probe_seconds = min(MAX_PROBE_SECONDS, 2 * seat.next_probe_seconds)
            try:
                await self.check_proxy(seat.proxy)
            except FetchFailure as failure:
                _log.info("Proxy Still Down", proxy=seat.proxy.display_url, why=str(failure))
            else:
                seat.health = seat.health.reenabled()
                _log.info("Proxy Back", proxy=seat.proxy.display_url)

    def _stop(self, seat: PooledProxy) -> None:
        if seat.probe_task is not None:
            seat.probe_task.cancel()

    def _now(self) -> float:
        return self._clock.now().timestamp()
