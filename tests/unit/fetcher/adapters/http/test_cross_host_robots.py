"""Other hosts' robots.txt files: a thousand parked domains must not overload the host they redirect to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from strider.fetcher.adapters.http.cross_host_robots import MAX_CACHED_BYTES, CrossHostRobotsCache
from strider.fetcher.core import FailedFetch, FetchedResponse
from strider.messaging.inprocess import EventLoopClock, simulate
from strider.messaging.ports import Clock
from tests.unit.fetcher.builders import ManualClock, a_response


class Site:
    """A host that counts its requests and their times."""

    def __init__(self, clock: Clock, status: int = 200) -> None:
        self.clock = clock
        self.asked_at: list[float] = []
        self.status = status

    async def __call__(self) -> FetchedResponse | FailedFetch:
        self.asked_at.append(self.clock.monotonic())
        return a_response(b"x", status=self.status)


async def test_a_response_is_cached_for_an_hour() -> None:
    clock = ManualClock()
    site, foreign = Site(clock), CrossHostRobotsCache(clock)
    url = "https://parking.test/robots.txt"

    found = await asyncio.gather(*(foreign.fetch(url, site) for _ in range(50)))

    assert (found, len(site.asked_at)) == ([a_response(b"x")] * 50, 1)
    clock.seconds += 3601
    await foreign.fetch(url, site)
    assert len(site.asked_at) == 2


def test_other_files_of_the_host_wait_for_a_slot_or_fail() -> None:
    clock = EventLoopClock()
    site, foreign = Site(clock), CrossHostRobotsCache(clock)
    urls = [f"https://parking.test/robots.txt?d={number}" for number in range(30)]

    async def ask_all() -> list[FetchedResponse | FailedFetch]:
        return await asyncio.gather(*(foreign.fetch(url, site) for url in urls))

    found = simulate(ask_all())

    assert [at - site.asked_at[0] for at in site.asked_at] == pytest.approx(range(11), abs=0.01)
    given_up = [each for each in found if isinstance(each, FailedFetch)]
    assert {each.error_class for each in given_up} == {"total_timeout"}
    assert len(given_up) == 19


async def test_server_errors_are_not_cached() -> None:
    """The error is temporary; caching it would close a thousand sites for an hour."""
    clock = ManualClock()
    site, foreign = Site(clock, status=503), CrossHostRobotsCache(clock)

    for _ in range(2):
        await foreign.fetch("https://a.test/robots.txt", site)

    assert len(site.asked_at) == 2
    assert site.asked_at[1] - site.asked_at[0] >= 1.0


async def test_the_cache_has_a_size_limit() -> None:
    """The owner of many domains could otherwise fill the memory with half a gigabyte."""
    clock = ManualClock()
    foreign = CrossHostRobotsCache(clock)
    asked: list[int] = []

    def ask(number: int) -> Callable[[], Awaitable[FetchedResponse | FailedFetch]]:
        async def asking() -> FetchedResponse | FailedFetch:
            asked.append(number)
            return a_response(b"x" * 500_000)

        return asking

    for number in [*range(40), 39, 0]:
        await foreign.fetch(f"https://h{number}.test/robots.txt", ask(number))

    assert asked == [*range(40), 0]
    assert foreign._cached_bytes <= MAX_CACHED_BYTES
