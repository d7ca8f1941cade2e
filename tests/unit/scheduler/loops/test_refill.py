"""Refill: whole crawls with most entries parked in the log; nothing lost, nothing twice."""

from __future__ import annotations

import asyncio

import pytest

from strider.frontier.models import QueueLimits, ShardStats
from strider.messaging.inprocess import simulate
from strider.scheduler.loops.refill import pause_seconds, round_parts, should_refill, should_stop
from strider.scheduler.options import SchedulerOptions
from tests.unit.scheduler.simulation.checks import run_to_end
from tests.unit.scheduler.simulation.seeds import seeds
from tests.unit.scheduler.simulation.web import a_web
from tests.unit.scheduler.simulation.world import SHARDS, SimulatedWorld

NARROW = QueueLimits(entries_per_group=1, horizon_ms=1_500)


def a_narrow_world(seed: int) -> SimulatedWorld:
    options = SchedulerOptions(
        shards=SHARDS,
        user_agent="Strider/1",
        lease_seconds=30,
        queue_limits=NARROW,
        refill_interval_seconds=0.5,
        refill_keys_per_part=7,
    )
    return SimulatedWorld(a_web(seed), seed=seed, options=options)


async def most_parked(world: SimulatedWorld) -> int:
    """Watch until it is cancelled; gives the most that were parked at one time."""
    most = 0
    try:
        while True:
            figures = [world.frontier.stats_if_ready(shard) for shard in range(SHARDS)]
            most = max(most, sum(each.overflow + each.deferred for each in figures if each))
            await asyncio.sleep(0.25)
    except asyncio.CancelledError:
        return most


@seeds(3, of=6)
def test_a_crawl_that_waits_in_the_log_comes_to_its_end(seed: int) -> None:
    """One entry of a host in the working set, and the log read in parts of seven entries."""

    async def scenario() -> int:
        world = a_narrow_world(seed)
        await world.begin()
        scheduler = world.start()
        watch = asyncio.create_task(most_parked(world))
        await run_to_end(world, scheduler)
        watch.cancel()
        return await watch

    assert simulate(scenario()) > 3


@pytest.mark.parametrize("is_lost", [False, True], ids=["kept", "lost"])
@seeds(2, of=3)
def test_what_waits_in_the_log_survives_a_kill(seed: int, is_lost: bool) -> None:
    """Also where the working set goes with the scheduler: the log knows what was parked."""

    async def scenario() -> None:
        world = a_narrow_world(seed)
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(7 + seed)
        await scheduler.kill()
        if is_lost:
            world.lose_frontier()
        # What was under way and is parked by the rebuild is asked for again.
        await run_to_end(world, world.start(), spare=len(world.web.hosts) if is_lost else 0)

    simulate(scenario())


ROOM = QueueLimits(entries_per_group=100, horizon_ms=3_600_000, memory_percent=80, minimum_entries=10)


def figures(**more: int) -> ShardStats:
    empty = dict.fromkeys(("queued", "leased", "in_pipeline", "host_groups", "seen", "now_ms"), 0)
    return ShardStats(**(empty | {"queued": 500} | more))


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        pytest.param(figures(), False, id="nothing parked"),
        pytest.param(figures(overflow=9), False, id="all groups have enough"),
        pytest.param(figures(overflow=9, refillable_groups=1), True, id="a group has too little"),
        pytest.param(figures(overflow=9, refillable_groups=1, memory_percent=70), False, id="no capacity"),
        pytest.param(figures(overflow=9, refillable_groups=1, memory_percent=69), True, id="capacity"),
        pytest.param(
            figures(overflow=9, refillable_groups=1, memory_percent=99, queued=9), True, id="below the floor"
        ),
        pytest.param(figures(deferred=1, next_deferred_due_ms=300_001), False, id="sleeps"),
        pytest.param(figures(deferred=1, next_deferred_due_ms=300_000), True, id="wakes soon"),
    ],
)
def test_the_log_is_looked_through_where_something_may_be_queued(told: ShardStats, wanted: bool) -> None:
    assert should_refill(told, ROOM) is wanted


@pytest.mark.parametrize(
    ("told", "full"),
    [
        pytest.param(figures(memory_percent=75, queued=10), True, id="hardly any capacity"),
        pytest.param(figures(memory_percent=74, queued=10), False, id="capacity"),
        pytest.param(figures(memory_percent=99, queued=9), False, id="below the floor"),
    ],
)
def test_a_pass_ends_where_no_capacity_is_left(told: ShardStats, full: bool) -> None:
    assert should_stop(told, ROOM) is full
    assert not should_stop(told, QueueLimits())


def test_a_round_takes_as_many_parts_as_fit_into_memory() -> None:
    told = figures(seen=1_000_001, overflow=400_000)

    assert [round_parts(told, keys_a_part=many) for many in (100_000, 2_000_000)] == [11, 1]


@pytest.mark.parametrize(
    ("took", "queued", "empty", "rests"),
    [
        pytest.param(2.0, 0, 0, 0.0, id="nothing else to do"),
        pytest.param(2.0, 5, 0, 10.0, id="at least the pause"),
        pytest.param(20.0, 5, 0, 60.0, id="a quarter of the time at most"),
        pytest.param(2.0, 0, 2, 40.0, id="found nothing twice"),
        pytest.param(2.0, 0, 99, 300.0, id="found nothing for long"),
    ],
)
def test_looking_through_the_log_leaves_time_for_the_rest(
    took: float, queued: int, empty: int, rests: float
) -> None:
    assert pause_seconds(took, figures(queued=queued), empty_rounds=empty, least_seconds=10.0) == rests
