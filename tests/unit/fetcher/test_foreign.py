"""Other hosts' robots.txt files: a thousand parked domains must not hit the one host that they point to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from strider.fetcher.adapters.foreign import MOST_BYTES_KEPT, ForeignRobots
from strider.fetcher.core import Answer, Failed
from strider.messaging.inprocess import EventLoopClock, simulate
from strider.messaging.ports import Clock

from .test_leases import Hand
from .values import answer


class Site:
    """A host that counts what it is asked, and when."""

    def __init__(self, clock: Clock, status: int = 200) -> None:
        self.clock = clock
        self.asked_at: list[float] = []
        self.status = status

    async def __call__(self) -> Answer | Failed:
        self.asked_at.append(self.clock.monotonic())
        return answer(b"x", status=self.status)


async def test_what_was_answered_serves_everyone_for_an_hour() -> None:
    clock = Hand()
    site, foreign = Site(clock), ForeignRobots(clock)
    url = "https://parking.test/robots.txt"

    found = await asyncio.gather(*(foreign.answer(url, site) for _ in range(50)))

    assert (found, len(site.asked_at)) == ([answer(b"x")] * 50, 1)
    clock.seconds += 3601
    await foreign.answer(url, site)
    assert len(site.asked_at) == 2


def test_other_files_of_the_host_wait_for_their_turn_or_give_up() -> None:
    clock = EventLoopClock()
    site, foreign = Site(clock), ForeignRobots(clock)
    urls = [f"https://parking.test/robots.txt?d={number}" for number in range(30)]

    async def ask_all() -> list[Answer | Failed]:
        return await asyncio.gather(*(foreign.answer(url, site) for url in urls))

    found = simulate(ask_all())

    assert [at - site.asked_at[0] for at in site.asked_at] == pytest.approx(range(11), abs=0.01)
    given_up = [each for each in found if isinstance(each, Failed)]
    assert {each.error for each in given_up} == {"total_timeout"}
    assert len(given_up) == 19


async def test_a_servers_trouble_is_not_remembered() -> None:
    """It passes; an hour without rules would close a thousand sites."""
    clock = Hand()
    site, foreign = Site(clock, status=503), ForeignRobots(clock)

    for _ in range(2):
        await foreign.answer("https://a.test/robots.txt", site)

    assert len(site.asked_at) == 2
    assert site.asked_at[1] - site.asked_at[0] >= 1.0


async def test_the_longest_files_are_not_kept_by_the_thousand() -> None:
    """Whoever owns many domains could otherwise fill the memory with half a gigabyte."""
    clock = Hand()
    foreign = ForeignRobots(clock)
    asked: list[int] = []

    def ask(number: int) -> Callable[[], Awaitable[Answer | Failed]]:
        async def asking() -> Answer | Failed:
            asked.append(number)
            return answer(b"x" * 500_000)

        return asking

    for number in [*range(40), 39, 0]:
        await foreign.answer(f"https://h{number}.test/robots.txt", ask(number))

    assert asked == [*range(40), 0]
    assert foreign._kept_bytes <= MOST_BYTES_KEPT
