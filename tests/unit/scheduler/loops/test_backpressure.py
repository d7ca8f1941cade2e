"""Shards release what the last count allows; while the lag is unknown, credits run out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from structlog.testing import capture_logs

from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import EventLoopClock, simulate
from strider.scheduler import log_events
from strider.scheduler.core.release.backpressure import LagGate, SpentCredits
from strider.scheduler.loops.backpressure import BackpressureMonitor
from strider.scheduler.ports import NoSchedulerMeter

PARSER = LagGate("parser", "pages-fetched", is_per_shard=False)


class Counted:
    """Backlogs that a test sets."""

    def __init__(self, waiting: int | None) -> None:
        self.now: int | None = waiting

    async def count_unread(self) -> Mapping[LagGate, Sequence[int]]:
        if self.now is None:
            raise Unavailable("kafka", "nobody answers")
        return {PARSER: (self.now,)}


def a_monitor(backlogs: Counted | None, *, most: int = 100) -> BackpressureMonitor:
    return BackpressureMonitor(
        backlogs, shards=2, max_lag=most, meter=NoSchedulerMeter(), clock=EventLoopClock()
    )


def test_nothing_is_released_before_the_first_count() -> None:
    async def scenario() -> None:
        gating, spent = a_monitor(Counted(20)), SpentCredits()
        before = gating.credits_left(0, spent)
        counting = asyncio.create_task(gating.run())
        await asyncio.sleep(0.1)
        spent.add(30, now=EventLoopClock().monotonic())

        assert (before, gating.credits_left(0, spent), gating.credits_left(1, SpentCredits())) == (0, 10, 40)
        counting.cancel()

    simulate(scenario())


def test_who_cannot_be_counted_gets_no_more_than_the_last_count_left() -> None:
    """A pipeline of unknown lag may be as full as it can be."""

    async def scenario() -> None:
        counted, spent = Counted(0), SpentCredits()
        gating = a_monitor(counted)
        counting = asyncio.create_task(gating.run())
        await asyncio.sleep(0.1)
        counted.now = None
        spent.add(50, now=EventLoopClock().monotonic())
        await asyncio.sleep(100)
        stuck = gating.credits_left(0, spent)
        counted.now = 10
        await asyncio.sleep(2)

        assert (stuck, gating.credits_left(0, spent)) == (0, 45)
        counting.cancel()

    simulate(scenario())


def test_without_a_limit_or_a_broker_the_gate_is_open() -> None:
    assert a_monitor(None).credits_left(0, SpentCredits()) is None
    assert a_monitor(Counted(10**9), most=0).credits_left(0, SpentCredits()) is None


def test_the_group_that_holds_releases_back_is_logged_once_and_so_is_the_end() -> None:
    async def scenario() -> None:
        counted = Counted(0)
        counting = asyncio.create_task(a_monitor(counted).run())
        with capture_logs() as logs:
            for unread in (99, 100, 250, 7, 3):
                counted.now = unread
                await asyncio.sleep(3)
        counting.cancel()

        assert [(line["event"], line["unread"], line.get("group")) for line in logs] == [
            (log_events.BACKPRESSURE_ON.text, 100, "parser"),
            (log_events.BACKPRESSURE_OFF.text, 7, None),
        ]

    simulate(scenario())
