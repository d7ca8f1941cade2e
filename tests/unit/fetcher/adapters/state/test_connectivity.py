"""Whose network is down: the site's or ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from structlog.testing import capture_logs

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.adapters import ConnectivityMonitor, ConnectivityOptions
from strider.fetcher.core import may_be_local_outage
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess.virtual_clock import EventLoopClock, simulate

ENDPOINTS = ("one.test:443", "two.test:53")


class Internet:
    """Endpoints that can be reached or not, and count who comes."""

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

    def uplink(self, endpoints: tuple[str, ...] = ENDPOINTS) -> ConnectivityMonitor:
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
def test_one_endpoint_in_reach_is_enough(reachable: set[str], is_down: bool) -> None:
    """A reliable host may be down too, and that must stop nobody."""

    async def act(internet: Internet) -> None:
        internet.reachable = reachable
        uplink = internet.uplink()

        assert (await uplink.is_down(), uplink.is_offline, internet.changes) == (
            is_down,
            is_down,
            int(is_down),
        )
        await uplink.close()

    _simulated(act)


def test_endpoints_that_hang_cost_two_seconds_together() -> None:
    """The verdict must come before the lease of the failure ends."""

    async def act(internet: Internet) -> None:
        internet.hangs = True
        uplink = internet.uplink()

        assert await uplink.is_down()
        assert internet.clock.monotonic() == 2.0
        await uplink.close()

    _simulated(act)


def test_without_endpoints_nobody_is_asked_and_nothing_is_ours() -> None:
    async def act(internet: Internet) -> None:
        uplink = internet.uplink(())

        assert (await uplink.is_down(), internet.dials) == (False, [])
        await uplink.require()

    _simulated(act)


def test_many_failures_make_one_look_a_second() -> None:
    """Endpoints are other people's machines; a storm of dead sites must not become one of ours."""

    async def act(internet: Internet) -> None:
        internet.reachable = set(ENDPOINTS[:1])
        uplink = internet.uplink(ENDPOINTS[:1])
        async with asyncio.TaskGroup() as group:
            for number in range(300):
                group.create_task(_later(number / 100, uplink.is_down))

        assert [round(at) for at, _ in internet.dials] == [0, 1, 2, 3]

    _simulated(act)


def test_an_answer_from_the_internet_spares_the_look_and_one_from_here_does_not() -> None:
    async def act(internet: Internet) -> None:
        internet.reachable = set(ENDPOINTS)
        uplink = internet.uplink()
        for address in ("93.184.216.34:443", "[2606:2800:220:1::1]:80"):
            uplink.record_response(address)
            assert not await uplink.is_down()
        assert internet.dials == []

        uplink.record_response("127.0.0.1:80")
        assert (await uplink.is_down(), len(internet.dials)) == (False, 2)

    _simulated(act)


@pytest.mark.req("S2.1.7", "S2.1.8")
def test_an_outage_is_told_every_thirty_seconds_and_ends_by_itself() -> None:
    async def act(internet: Internet) -> None:
        uplink = internet.uplink()
        with capture_logs() as lines:
            assert await uplink.is_down()
            with pytest.raises(Unavailable, match=r"we are offline: none of one.test:443, two.test:53"):
                await uplink.require()
            await asyncio.sleep(100)
            with pytest.raises(Unavailable):
                await uplink.require()
            internet.reachable = {"one.test:443"}
            await uplink.require()

        told = [line["event"] for line in lines]
        assert told == ["Network Down", *["Waiting for Network"] * 3, "Network Back"]
        assert (uplink.is_offline, internet.changes) == (False, 2)
        await uplink.close()

    _simulated(act)


def test_who_waits_for_the_network_is_let_go_when_the_process_ends() -> None:
    async def act(internet: Internet) -> None:
        uplink = internet.uplink()
        await uplink.is_down()
        await asyncio.sleep(2)
        waiting = asyncio.create_task(uplink.require())
        await asyncio.sleep(1)
        uplink.shut_down()
        await waiting

        assert (internet.clock.monotonic() < 4, await uplink.is_down()) == (True, False)
        await uplink.close()

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
def test_only_what_silence_would_look_like_raises_doubt(error: ErrorClass, is_ours: bool) -> None:
    """Whoever refuses or answers nonsense is there."""
    assert may_be_local_outage(error) is is_ours


async def _later(seconds: float, call: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    await asyncio.sleep(seconds)
    assert not await call()
