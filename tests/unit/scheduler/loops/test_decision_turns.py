"""Expensive decisions of one shard let those of others run, and make its passes shorter."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from strider.frontier.models import Lease
from strider.scheduler.loops.decision_turns import SECONDS_PER_PASS, SECONDS_PER_YIELD, DecisionTurns
from tests.unit.scheduler.builders import an_entry

MOST = 200
LEASES = [Lease(f"0-1-{number}", an_entry(), 0, 1) for number in range(MOST)]


@dataclass
class WorkClock:
    """Time that passes by work alone."""

    seconds: float = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


async def run_pass(turns: DecisionTurns, clock: WorkClock, *, seconds_each: float) -> list[int]:
    """Decide about as many leases as the pass may take; return how many were decided at each turn of another
    task.
    """
    decided, seen = 0, []

    async def run_others() -> None:
        while True:
            seen.append(decided)
            await asyncio.sleep(0)

    others = asyncio.create_task(run_others())
    async for _ in turns.of(LEASES[: turns.limit]):
        clock.seconds += seconds_each
        decided += 1
    others.cancel()
    return seen


@pytest.mark.fault("C1", part="denied URLs that are expensive to decide about")
async def test_expensive_decisions_yield_and_shorten_the_next_passes() -> None:
    clock = WorkClock()
    turns = DecisionTurns(most=MOST, clock=clock)

    seen = await run_pass(turns, clock, seconds_each=SECONDS_PER_YIELD * 1.01)

    assert seen == list(range(1, MOST + 1))
    assert turns.limit == int(SECONDS_PER_PASS / (SECONDS_PER_YIELD * 1.01))
    began = clock.seconds
    await run_pass(turns, clock, seconds_each=SECONDS_PER_YIELD * 1.01)
    assert clock.seconds - began <= SECONDS_PER_PASS


async def test_a_decision_that_is_longer_than_a_pass_is_one_of_a_pass() -> None:
    clock = WorkClock()
    turns = DecisionTurns(most=MOST, clock=clock)

    await run_pass(turns, clock, seconds_each=SECONDS_PER_PASS * 3)

    assert turns.limit == 1


async def test_cheap_decisions_need_no_turn_of_others_and_get_the_whole_pass_back() -> None:
    clock = WorkClock()
    turns = DecisionTurns(most=MOST, clock=clock)
    await run_pass(turns, clock, seconds_each=SECONDS_PER_PASS)

    limits = []
    while turns.limit < MOST:
        assert await run_pass(turns, clock, seconds_each=SECONDS_PER_YIELD / MOST) == []
        limits.append(turns.limit)

    assert limits == [2, 4, 8, 16, 32, 64, 128, MOST]
