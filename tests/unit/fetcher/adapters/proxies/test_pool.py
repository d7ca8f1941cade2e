"""Which proxy is next, and what becomes of those that fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.adapters import FetchFailure, ProxyPool
from strider.fetcher.core import FailedFetch, FetchedResponse, Proxy, Standing
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess.virtual_clock import EventLoopClock, simulate
from strider.politeness.rate_window import RateWindows
from tests.unit.fetcher.builders import answer

PROXIES = tuple(Proxy("http", name, 1) for name in ("one", "two", "three"))
DEAD = FailedFetch(ErrorClass.PROXY_UNREACHABLE)


class Doors:
    """Proxies that open, or not, when somebody knocks."""

    def __init__(self, *, most: int = 0) -> None:
        self.clock = EventLoopClock()
        self.is_open = False
        self.knocks: list[float] = []
        self.rotation = ProxyPool(
            clock=self.clock, windows=RateWindows(max_requests=most), check_proxy=self._knock
        )
        self.rotation.replace_all((proxy, Standing()) for proxy in PROXIES)

    async def _knock(self, _proxy: Proxy) -> None:
        self.knocks.append(self.clock.monotonic())
        if not self.is_open:
            raise FetchFailure(ErrorClass.PROXY_UNREACHABLE, "nobody")

    async def take(self, count: int, came: FetchedResponse | FailedFetch | None = None) -> list[str]:
        taken = [await self.rotation.acquire("a.test") for _ in range(count)]
        for proxy in taken:
            if came is not None:
                self.rotation.record_result(proxy, came, seconds=0.1)
        return [proxy.host for proxy in taken]


def _simulated(act: Callable[[], Coroutine[Any, Any, None]]) -> None:
    simulate(act())


@pytest.mark.req("S0.3.2", "S0.3.3", "S1.15.8", "S4.14.4", "S4.12.32")
def test_the_one_that_was_used_longest_ago_is_next() -> None:
    async def act() -> None:
        doors = Doors()
        assert await doors.take(6) == ["one", "two", "three"] * 2
        two = PROXIES[1]
        for _ in range(11):
            doors.rotation.record_result(two, DEAD, seconds=0)
        assert await doors.take(4) == ["one", "three"] * 2
        doors.rotation.replace_all(
            [*((proxy, Standing()) for proxy in PROXIES), (Proxy("http", "new", 1), Standing())]
        )
        assert (await doors.take(1)) == ["new"]
        await doors.rotation.close()

    _simulated(act)


@pytest.mark.req("S4.14.5")
def test_a_disabled_proxy_is_knocked_at_and_comes_back() -> None:
    async def act() -> None:
        doors = Doors()
        await doors.take(33, DEAD)
        with pytest.raises(Unavailable, match="none of 3 proxies"):
            await doors.take(1)
        await asyncio.sleep(100)
        assert doors.knocks == [30.0] * 3 + [90.0] * 3
        doors.is_open = True
        await asyncio.sleep(120)

        assert sorted(await doors.take(3, answer())) == ["one", "three", "two"]
        assert [seat.health.failure_count for seat in doors.rotation.proxies] == [0, 0, 0]
        await doors.rotation.close()

    _simulated(act)


def test_a_sites_own_trouble_counts_for_nobody() -> None:
    async def act() -> None:
        doors = Doors()
        await doors.take(60, FailedFetch(ErrorClass.CONNECT_UNREACHABLE))

        counts = [(seat.health.failure_count, seat.health.success_count) for seat in doors.rotation.proxies]
        assert counts == [(0, 0)] * 3

    _simulated(act)


@pytest.mark.req("S4.5.2", "S4.5.5")
def test_a_domain_waits_where_it_had_enough_by_all_of_them() -> None:
    """Three proxies with two requests a second each: the seventh waits for the next second."""

    async def act() -> None:
        doors = Doors(most=2)
        await doors.take(6)
        before = doors.clock.monotonic()
        await doors.take(1)

        assert (before, doors.clock.monotonic()) == (0.0, 1.0)

    _simulated(act)
