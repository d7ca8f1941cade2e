"""Connectivity: whether the site's network is down, or ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from structlog.testing import capture_logs

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher import log_events
from strider.fetcher.adapters.state.connectivity import ConnectivityMonitor, ConnectivityOptions
from strider.fetcher.core import may_be_local_outage
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess.virtual_clock import EventLoopClock, simulate

ENDPOINTS = ("one.test:443", "two.test:53")


class Internet:
    """Endpoints that can be reached or not, and count connections."""

    def __init__(self) -> None:
        self.reachable: set[str] = set()
        self.hangs = False
        self.dials: list[tuple[float, str]] = []
        self.changes = 0
        self.clock = EventLoopClock()

    async def dial(self, place: str) -> None:
        self.dials.append((self.clock.monotonic(), place))
        await asyncio.sleep(3600 if self.hangs else 0.01)
        if place not in self.reachable:
            raise OSError(101, "Network is unreachable")

    def monitor(self, endpoints: tuple[str, ...] = ENDPOINTS) -> ConnectivityMonitor:
        return ConnectivityMonitor(
            ConnectivityOptions(endpoints), clock=self.clock, dial=self.dial, on_change=self._changed
        )

    def _changed(self) -> None:
        self.changes += 1


def _simulated(act: Callable[[Internet], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await act(Internet())

    simulate(run())


@pytest.mark.req("S2.1.6")
@pytest.mark.parametrize(
    ("reachable", "is_down"),
    [
        pytest.param(set(ENDPOINTS), False, id="all"),
        pytest.param({"two.test:53"}, False, id="one"),
        pytest.param(set(), True, id="none"),
    ],
)
def test_one_reachable_endpoint_is_enough(reachable: set[str], is_down: bool) -> None:
    """A reliable host may be down too, and must not pause fetching."""

    async def act(internet: Internet) -> None:
        internet.reachable = reachable
        monitor = internet.monitor()

        assert (await monitor.is_outage(), monitor.is_offline, internet.changes) == (
            is_down,
            is_down,
            int(is_down),
        )
        await monitor.close()

    _simulated(act)


def test_endpoints_that_hang_cost_two_seconds_together() -> None:
    """The result must come before the lease of the failed request ends."""

    async def act(internet: Internet) -> None:
        internet.hangs = True
        monitor = internet.monitor()

        assert await monitor.is_outage()
        assert internet.clock.monotonic() == 2.0
        await monitor.close()

    _simulated(act)


def test_without_endpoints_nothing_is_checked() -> None:
    async def act(internet: Internet) -> None:
        monitor = internet.monitor(())

        assert (await monitor.is_outage(), internet.dials) == (False, [])
        await monitor.require_online()

    _simulated(act)


def test_many_failures_cause_one_check_a_second() -> None:
    """The endpoints are not ours; many dead sites must not cause many checks."""

    async def act(internet: Internet) -> None:
        internet.reachable = set(ENDPOINTS[:1])
        monitor = internet.monitor(ENDPOINTS[:1])
        async with asyncio.TaskGroup() as group:
            for number in range(300):
                group.create_task(_later(number / 100, monitor.is_outage))

        assert [round(at) for at, _ in internet.dials] == [0, 1, 2, 3]

    _simulated(act)


def test_a_response_from_the_internet_replaces_a_check_and_a_local_one_does_not() -> None:
    async def act(internet: Internet) -> None:
        internet.reachable = set(ENDPOINTS)
        monitor = internet.monitor()
        for address in ("93.184.216.34:443", "[2606:2800:220:1::1]:80"):
            monitor.record_response(address)
            assert not await monitor.is_outage()
        assert internet.dials == []

        monitor.record_response("127.0.0.1:80")
        assert (await monitor.is_outage(), len(internet.dials)) == (False, 2)

    _simulated(act)


@pytest.mark.req("S2.1.7", "S2.1.8")
def test_an_outage_is_logged_every_thirty_seconds_and_ends_by_itself() -> None:
    async def act(internet: Internet) -> None:
        monitor = internet.monitor()
        with capture_logs() as lines:
            assert await monitor.is_outage()
            with pytest.raises(Unavailable, match=r"offline: none of one.test:443, two.test:53"):
                await monitor.require_online()
            await asyncio.sleep(100)
            with pytest.raises(Unavailable):
                await monitor.require_online()
            internet.reachable = {"one.test:443"}
            await monitor.require_online()

        told = [line["event"] for line in lines]
        assert told == [
            log_events.NETWORK_LOST.text,
            *[log_events.NETWORK_STILL_LOST.text] * 3,
            log_events.NETWORK_RECOVERED.text,
        ]
        assert (monitor.is_offline, internet.changes) == (False, 2)
        await monitor.close()

    _simulated(act)


def test_waiters_for_the_network_are_released_at_shutdown() -> None:
    async def act(internet: Internet) -> None:
        monitor = internet.monitor()
        await monitor.is_outage()
        await asyncio.sleep(2)
        waiting = asyncio.create_task(monitor.require_online())
        await asyncio.sleep(1)
        monitor.shut_down()
        await waiting

        assert (internet.clock.monotonic() < 4, await monitor.is_outage()) == (True, False)
        await monitor.close()

    _simulated(act)


@pytest.mark.parametrize(
    ("error", "is_ours"),
    [
        pytest.param(ErrorClass.DNS_FAILED, True, id="dns"),
        pytest.param(ErrorClass.CONNECT_UNREACHABLE, True, id="unreachable"),
        pytest.param(ErrorClass.HEAD_TIMEOUT, True, id="timeout"),
        pytest.param(ErrorClass.CONNECT_REFUSED, False, id="refused"),
        pytest.param(ErrorClass.TLS_EXPIRED, False, id="tls"),
        pytest.param(ErrorClass.BAD_HEADER, False, id="protocol"),
    ],
)
def test_only_errors_like_an_outage_are_checked(error: ErrorClass, is_ours: bool) -> None:
    """An endpoint that refuses or responds with anything is there."""
    assert may_be_local_outage(error) is is_ours


async def _later(seconds: float, call: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    await asyncio.sleep(seconds)
    assert not await call()
