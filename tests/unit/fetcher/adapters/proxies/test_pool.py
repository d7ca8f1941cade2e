"""Which proxy is next, and what happens to those that fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.adapters import FetchFailure
from strider.fetcher.adapters.proxies.pool import ProxyPool
from strider.fetcher.core import FailedFetch, FetchedResponse, Proxy, ProxyHealth
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess.virtual_clock import EventLoopClock, simulate
from strider.politeness.rate_window import RateWindows
from tests.unit.fetcher.builders import a_response

PROXIES = tuple(Proxy("http", name, 1) for name in ("one", "two", "three"))
DEAD = FailedFetch(ErrorClass.PROXY_UNREACHABLE)


class ProxyChecks:
    """Proxies that accept a check, or not."""

    def __init__(self, *, most: int = 0) -> None:
        self.clock = EventLoopClock()
        self.is_open = False
        self.check_times: list[float] = []
        self.pool = ProxyPool(
            clock=self.clock, windows=RateWindows(max_requests=most), check_proxy=self._check_proxy
        )
        self.pool.replace_all((proxy, ProxyHealth()) for proxy in PROXIES)

    async def _check_proxy(self, _proxy: Proxy) -> None:
        self.check_times.append(self.clock.monotonic())
        if not self.is_open:
            raise FetchFailure(ErrorClass.PROXY_UNREACHABLE, "nobody")

    async def take(self, count: int, came: FetchedResponse | FailedFetch | None = None) -> list[str]:
        taken = [await self.pool.acquire("a.test") for _ in range(count)]
        for proxy in taken:
            if came is not None:
                self.pool.record_result(proxy, came, seconds=0.1)
        return [proxy.host for proxy in taken]


def _simulated(act: Callable[[], Coroutine[Any, Any, None]]) -> None:
    simulate(act())


@pytest.mark.req("S0.3.2", "S0.3.3", "S1.15.8", "S4.14.4", "S4.12.32")
def test_the_least_recently_used_proxy_is_next() -> None:
    async def act() -> None:
        checks = ProxyChecks()
        assert await checks.take(6) == ["one", "two", "three"] * 2
        two = PROXIES[1]
        for _ in range(11):
            checks.pool.record_result(two, DEAD, seconds=0)
        assert await checks.take(4) == ["one", "three"] * 2
        checks.pool.replace_all(
            [*((proxy, ProxyHealth()) for proxy in PROXIES), (Proxy("http", "new", 1), ProxyHealth())]
        )
        assert (await checks.take(1)) == ["new"]
        await checks.pool.close()

    _simulated(act)


@pytest.mark.req("S4.14.5")
def test_a_disabled_proxy_is_checked_and_enabled_again() -> None:
    async def act() -> None:
        checks = ProxyChecks()
        await checks.take(33, DEAD)
        with pytest.raises(Unavailable, match="none of 3 proxies"):
            await checks.take(1)
        await asyncio.sleep(100)
        assert checks.check_times == [30.0] * 3 + [90.0] * 3
        checks.is_open = True
        await asyncio.sleep(120)

        assert sorted(await checks.take(3, a_response())) == ["one", "three", "two"]
        assert [seat.health.failure_count for seat in checks.pool.proxies] == [0, 0, 0]
        await checks.pool.close()

    _simulated(act)


def test_failures_of_a_site_do_not_count_against_the_proxy() -> None:
    async def act() -> None:
        checks = ProxyChecks()
        await checks.take(60, FailedFetch(ErrorClass.CONNECT_UNREACHABLE))

        counts = [(seat.health.failure_count, seat.health.success_count) for seat in checks.pool.proxies]
        assert counts == [(0, 0)] * 3

    _simulated(act)


@pytest.mark.req("S4.5.2", "S4.5.5")
def test_a_domain_waits_when_every_proxy_has_reached_its_rate() -> None:
    """Three proxies with two requests a second each: the seventh request waits for the next second."""

    async def act() -> None:
        checks = ProxyChecks(most=2)
        await checks.take(6)
        before = checks.clock.monotonic()
        await checks.take(1)

        assert (before, checks.clock.monotonic()) == (0.0, 1.0)

    _simulated(act)
