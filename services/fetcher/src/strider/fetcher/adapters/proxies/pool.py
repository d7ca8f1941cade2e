"""Pool of proxies: the next one is the least recently used of those that are enabled.

As long as all are healthy that is round-robin. One that failed too often is disabled, checked at growing
intervals, and enabled when a check succeeds. If none is left, nothing is sent: a request that should go
through a proxy never goes without one.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher import log_events
from strider.fetcher.adapters.http.error_mapping import FetchFailure
from strider.fetcher.core import FailedFetch, FetchResult, Proxy, ProxyHealth
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.politeness.rate_window import RateWindows
from strider.politeness.retry_policy import RetryPolicy
from strider.runtime.observability.logging import logger

READINESS_PART: Final = "proxies"
"""Name under which readiness reports that no proxy is left."""

PROBE_POLICY: Final = RetryPolicy(
    retries=inf, first_seconds=30, factor=2, cap_seconds=1800, jitter_seconds=0, deadline_seconds=inf
)
"""Waits before the checks of a disabled proxy."""

_PROXY_ERRORS: Final = frozenset(
    {ErrorClass.PROXY_UNREACHABLE, ErrorClass.PROXY_REFUSED, ErrorClass.PROXY_AUTH}
)

CheckProxy = Callable[[Proxy], Awaitable[None]]
"""Connects to a proxy and completes its handshake; raises FetchFailure."""

_log = logger("proxies")


@dataclass(slots=True)
class PooledProxy:
    """A proxy with its health, and the health that was recorded in the table last."""

    proxy: Proxy
    health: ProxyHealth
    recorded_health: ProxyHealth
    probes: int = 0
    """Checks since the last success."""
    probe_task: asyncio.Task[None] | None = None


class ProxyPool:
    """The proxies of a process, least recently used first."""

    def __init__(self, *, clock: Clock, windows: RateWindows, check_proxy: CheckProxy) -> None:
        self._clock = clock
        self._windows = windows
        self.check_proxy = check_proxy
        self._proxies: OrderedDict[str, PooledProxy] = OrderedDict()

    @property
    def proxies(self) -> tuple[PooledProxy, ...]:
        """All proxies, in the order of their next use."""
        return tuple(self._proxies.values())

    def replace_all(self, proxies: Iterable[tuple[Proxy, ProxyHealth]]) -> None:
        """Replace the list: new proxies come first, missing ones are removed, passwords may change."""
        entries_by_key = {proxy.key: (proxy, health) for proxy, health in proxies}
        for key in self._proxies.keys() - entries_by_key.keys():
            self._stop_probe(self._proxies.pop(key))
        for key, (proxy, health) in entries_by_key.items():
            pooled = self._proxies.get(key)
            if pooled is None:
                pooled = self._proxies[key] = PooledProxy(proxy, health, health)
            pooled.proxy = proxy
            if health.is_active is not pooled.recorded_health.is_active:  # another process found out
                pooled.health = pooled.health.with_status_of(health)
                pooled.recorded_health = pooled.recorded_health.with_status_of(health)
            if not pooled.health.is_active:
                self._start_probe(pooled)
        ordered = sorted(self._proxies.items(), key=lambda item: item[1].health.last_used_at)
        self._proxies = OrderedDict(ordered)

    async def acquire(self, domain: str) -> Proxy:
        """Return a proxy for a domain, waiting for its rate limit; Unavailable if none is enabled."""
        while True:
            now = self._clock.monotonic()
            opens_at: list[float] = []
            for key, pooled in self._proxies.items():
                if not pooled.health.is_active:
                    continue
                if self._windows.can_crawl(domain, key, now=now):
                    self._windows.record_request(domain, key, now=now)
                    pooled.health = pooled.health.marked_used(now=self._now())
                    self._proxies.move_to_end(key)
                    return pooled.proxy
                opens_at.append(self._windows.opens_at(domain, key, now=now))
            if not opens_at:
                raise Unavailable(READINESS_PART, f"none of {len(self._proxies)} proxies is enabled")
            await self._clock.sleep(min(opens_at) - now)

    def record_result(self, proxy: Proxy, result: FetchResult, *, seconds: float) -> None:
        """Record the result of a request through a proxy; failures of the site do not count."""
        pooled = self._proxies.get(proxy.key)
        if pooled is None:
            return
        if isinstance(result, FailedFetch) and result.error_class in _PROXY_ERRORS:
            pooled.health = pooled.health.after_failure(now=self._now())
            if not pooled.health.is_active:
                _log.emit(
                    log_events.PROXY_DISABLED, proxy=proxy.display_url, failures=pooled.health.failure_count
                )
                self._start_probe(pooled)
        elif result.head is not None:
            pooled.health = pooled.health.after_success(now=self._now(), seconds=seconds)
            pooled.probes = 0

    async def close(self) -> None:
        """Stop checking disabled proxies."""
        for pooled in self._proxies.values():
            self._stop_probe(pooled)

    def _start_probe(self, pooled: PooledProxy) -> None:
        if pooled.probe_task is None or pooled.probe_task.done():
            pooled.probe_task = asyncio.get_running_loop().create_task(self._probe_until_up(pooled))

    async def _probe_until_up(self, pooled: PooledProxy) -> None:
        """Check a proxy at growing intervals until it can be used."""
        while not pooled.health.is_active:
            pooled.probes += 1
            await self._clock.sleep(PROBE_POLICY.base_seconds(pooled.probes))
            try:
                await self.check_proxy(pooled.proxy)
            except FetchFailure as failure:
                _log.emit(log_events.PROXY_CHECK_FAILED, proxy=pooled.proxy.display_url, why=str(failure))
            else:
                pooled.health = pooled.health.reenabled()
                _log.emit(log_events.PROXY_RECOVERED, proxy=pooled.proxy.display_url)

    def _stop_probe(self, pooled: PooledProxy) -> None:
        if pooled.probe_task is not None:
            pooled.probe_task.cancel()

    def _now(self) -> float:
        return self._clock.now().timestamp()
