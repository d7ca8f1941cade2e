"""Runs whose closing message has no effect: launched again, or failed with the reason; none stays running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from strider.jobs.states import ExecutionState
from strider.messaging.inprocess import simulate
from strider.scheduler.adapters.jobs.metrics import RELAUNCHED
from strider.testing.owner import OWNER_KEY
from tests.unit.scheduler.simulation.checks import check_politeness, check_transitions

from .job_world import JobWorld, a_site, stop_all

SITES = ("www.a.test", "www.b.test")
STARTS = tuple(f"http://{name}/" for name in SITES)


def play(
    scenario: Callable[[JobWorld], Coroutine[Any, Any, None]],
    *,
    intake_key: str = OWNER_KEY,
    with_intake: bool = True,
) -> None:
    async def run() -> None:
        world = JobWorld(a_site(*SITES))
        world.intake_key = intake_key
        if not with_intake:
            world.may_take_seeds.clear()
        await world.begin()
        await scenario(world)

    simulate(run())


@pytest.mark.parametrize("lost", [{"closings": 1}, {"closings": 2}, {"closings": 1, "seeds": 2}])
def test_a_run_whose_closing_message_is_lost_is_launched_again_and_fetches_nothing_twice(
    lost: dict[str, int],
) -> None:
    async def scenario(world: JobWorld) -> None:
        for name, count in lost.items():
            setattr(world.lost, name, count)
        await world.add_job("job", *STARTS)
        first, second = world.start(), world.start()
        await world.until_finished("job-1", seconds=1_500)
        await asyncio.sleep(600)

        (execution,) = world.store.of("job")
        assert (execution.state, execution.relaunches) == (ExecutionState.COMPLETED, lost["closings"])
        assert execution.items_crawled == len(world.web.pages)
        assert world.fetches() == dict.fromkeys(world.web.pages, 1)
        assert [each.execution_id for each in world.ends()] == ["job-1"]
        check_politeness(world.web)
        check_transitions(world)
        await stop_all(first, second)

    play(scenario)


def test_a_run_that_cannot_be_closed_fails_with_the_reason() -> None:
    """Link-ingestion has another key: it refuses seeds and closing message."""

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", *STARTS, max_retries=0)
        scheduler = world.start()
        await world.until_finished("job-1", seconds=2_000)
        await world.until(lambda: len(world.ends()) == 1, seconds=120)
        await stop_all(scheduler)

        (execution,) = world.store.of("job")
        assert (execution.state, execution.relaunches) == (ExecutionState.FAILED, 2)
        for part in ("launched 3 times", "STRIDER_OWNER_KEY", "strider why URL"):
            assert part in execution.error_message
        assert world.store.jobs["job"].state == "failed"
        assert world.metrics.value(RELAUNCHED) == 2
        assert [each.state_after for each in world.ends()] == ["cancelled"]
        assert world.fetches() == {}

    play(scenario, intake_key="another key of thirty-two or more bytes")


def test_a_run_is_not_launched_again_while_link_ingestion_is_behind() -> None:
    """However long it is stopped: then nothing is lost yet."""

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", *STARTS)
        scheduler = world.start()
        await asyncio.sleep(3_600)
        (waiting,) = world.store.of("job")
        world.may_take_seeds.set()
        await world.until_finished("job-1")
        await stop_all(scheduler)

        assert (waiting.state, waiting.relaunches) == (ExecutionState.RUNNING, 0)
        (execution,) = world.store.of("job")
        assert (execution.state, execution.relaunches) == (ExecutionState.COMPLETED, 0)

    play(scenario, with_intake=False)
