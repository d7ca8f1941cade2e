"""Virtual time: an hour in no time, in the same steps each time."""

from __future__ import annotations

import asyncio
import math
import time

import pytest

from strider.messaging.inprocess import DeadlockError, EventLoopClock, simulate
from strider.messaging.inprocess import virtual_clock as virtualtime


def test_sleeping_takes_no_time() -> None:
    async def scenario() -> tuple[float, str]:
        clock = EventLoopClock()
        await clock.sleep(7 * 24 * 3600)
        return clock.monotonic(), clock.now().isoformat()

    began = time.monotonic()
    answer = simulate(scenario())

    assert answer == (604_800.0, "2026-01-08T00:00:00+00:00")
    assert time.monotonic() - began < 5


def test_sleepers_wake_in_the_order_of_their_moments() -> None:
    async def scenario() -> list[float]:
        woken: list[float] = []

        async def sleep(seconds: float) -> None:
            await asyncio.sleep(seconds)
            woken.append(asyncio.get_running_loop().time())

        await asyncio.gather(*(sleep(seconds) for seconds in (5, 0.5, 3600, 0.25, 5)))
        return woken

    assert simulate(scenario()) == pytest.approx([0.25, 0.5, 5, 5, 3600])


def test_timeouts_follow_it() -> None:
    async def scenario() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(900):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert simulate(scenario()) == pytest.approx(900)


def test_a_wait_that_nothing_can_end_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that hangs for ever shows nothing."""
    monkeypatch.setattr(virtualtime, "EXTERNAL_EVENT_WAIT_SECONDS", 0.05)

    async def scenario() -> None:
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match="no timer is set"):
        simulate(scenario())


def test_a_thread_can_still_end_a_wait() -> None:
    async def scenario() -> int:
        return await asyncio.to_thread(lambda: 7)

    assert simulate(scenario()) == 7


def test_what_rounding_leaves_of_a_wait_passes_as_well() -> None:
    """Two that each wait for a moment just ahead, by turns, must not keep the clock from reaching it."""

    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(48.5)
        moment = math.nextafter(loop.time(), math.inf)

        async def until_then() -> None:
            for _ in range(100):
                if loop.time() >= moment:
                    return
                await asyncio.sleep(moment - loop.time())
                await asyncio.sleep(0)
            pytest.fail("time stands still")

        async def beside() -> None:
            await asyncio.sleep(0)
            await until_then()

        await asyncio.gather(until_then(), beside(), until_then())
        return loop.time()

    assert simulate(scenario()) == pytest.approx(48.5)
