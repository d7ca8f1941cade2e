"""What follows from a run: its result, retries, and the adaptive interval of its source."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

from strider.contracts.generated.topics import ADAPTIVE_STATE
from strider.jobs.states import ExecutionState, JobAction
from strider.messaging.inprocess import simulate
from strider.scheduler.loops.jobs.adaptive_states import CHECKED_TOGETHER
from tests.unit.scheduler.simulation.web import Page

from .job_world import JobWorld, a_site, stop_all

SITE = "www.site.test"
HOME = f"http://{SITE}/"
MINUTE = 60


def play(scenario: Callable[[JobWorld], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def run() -> None:
        web = settings.pop("web", None) or a_site(SITE, pages=1)
        world = JobWorld(web, **settings)
        await world.begin()
        await scenario(world)

    simulate(run())


def starts(world: JobWorld, job_id: str = "job") -> list[int]:
    """Return when the executions of a job began, in minutes after the first."""
    began = [each.started_at_ms for each in world.store.of(job_id)]
    return [round((each - began[0]) / 60_000) for each in began]


async def run_recurring(world: JobWorld, runs: int, **changes: Any) -> None:
    """Let a job of ten minutes run so often."""
    await world.add_job("job", HOME, interval_minutes=10, **changes)
    scheduler = world.start()
    await world.until_finished(f"job-{runs}", seconds=1_000_000)
    await stop_all(scheduler)


def test_a_recurring_job_whose_source_does_not_change_runs_less_and_less_often() -> None:
    """S0.2.4, S0.2.12: 10, 10, 20, 40 minutes; the phase stays."""

    async def scenario(world: JobWorld) -> None:
        await run_recurring(world, 5)

        gaps = [after - before for before, after in zip(starts(world), starts(world)[1:], strict=False)]
        assert gaps[1:] == [20, 40, 80]
        assert world.store.jobs["job"].current_interval_seconds == 160 * MINUTE
        (state,) = {each.source_id: each for each in world.published(ADAPTIVE_STATE)}.values()
        assert (state.unchanged_count, state.last_execution_id) == (4, "job-5")
        assert world.copies.states["job"] == state
        assert {each.state for each in world.store.of("job")} == {ExecutionState.COMPLETED}

    play(scenario)


def test_a_change_brings_the_interval_back_to_the_baseline() -> None:
    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", HOME, interval_minutes=10)
        scheduler = world.start()
        await world.until_finished("job-3", seconds=1_000_000)
        calm = world.store.jobs["job"].current_interval_seconds
        world.pipeline.texts[HOME] = "other"
        await world.until_finished("job-4", seconds=1_000_000)
        await stop_all(scheduler)

        assert calm == 40 * MINUTE
        assert world.store.jobs["job"].current_interval_seconds == 10 * MINUTE

    play(scenario)


def test_a_job_without_adaptation_keeps_its_interval() -> None:
    """S0.2.14."""

    async def scenario(world: JobWorld) -> None:
        await run_recurring(world, 4, adaptive_scheduling=False)

        assert world.store.jobs["job"].current_interval_seconds == 10 * MINUTE
        assert world.published(ADAPTIVE_STATE) == []

    play(scenario)


def test_the_state_of_a_source_outlives_schedulers_and_redis() -> None:
    """The topic is its record: a new owner continues the count, and fills Redis."""

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", HOME, interval_minutes=10)
        for runs in (2, 4):
            scheduler = world.start()
            await world.until_finished(f"job-{runs}", seconds=1_000_000)
            await scheduler.kill()
            world.copies.wipe()
            world.lose_frontier()
        last = world.start()
        await world.until(lambda: "job" in world.copies.states, seconds=120)
        await stop_all(last)

        assert world.copies.states["job"].unchanged_count == 3
        assert world.store.jobs["job"].current_interval_seconds == 80 * MINUTE

    play(scenario)


def test_the_state_of_a_removed_source_is_deleted_from_topic_and_copies() -> None:
    """Within an hour, by its owner; a killed owner leaves it to the next one. Other states stay."""

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", HOME, interval_minutes=10)
        await world.add_job("other", HOME, interval_minutes=1_000)
        first = world.start()
        await world.until_finished("job-2", "other-1", seconds=1_000_000)
        await world.remove_source("job")
        world.store.act("job", JobAction.CANCEL)
        await first.kill()
        second = world.start()
        await world.until(lambda: "job" not in world.copies.states, seconds=7_300)
        await asyncio.sleep(60)
        kept = await world.adaptive_states()
        await stop_all(second)

        assert set(kept) == set(world.copies.states) == {"other"}

    play(scenario)


def test_wiped_copies_come_back_without_a_restart() -> None:
    """S5.1.2."""

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", HOME, interval_minutes=1_000)
        scheduler = world.start()
        await world.until_finished("job-1", seconds=1_000_000)
        before = dict(world.copies.states)
        world.copies.wipe()
        await asyncio.sleep(60)
        await stop_all(scheduler)

        assert before
        assert world.copies.states == before

    play(scenario)


def test_copies_that_are_deleted_one_by_one_come_back_before_the_next_run() -> None:
    """Their shards' markers are still there; of many sources some are looked for in each pass."""
    sites = [f"www.site{number}.test" for number in range(CHECKED_TOGETHER + 20)]

    async def scenario(world: JobWorld) -> None:
        for site in sites:
            await world.add_job(site, interval_minutes=10_000)
        scheduler = world.start()
        await world.until_finished(*(f"{site}-1" for site in sites), seconds=1_000_000)
        recorded = len(world.published(ADAPTIVE_STATE))
        world.copies.states.clear()
        await asyncio.sleep(60)
        after = dict(world.copies.states)
        compared = {each.source_id for each in world.published(ADAPTIVE_STATE)[recorded:]}
        await stop_all(scheduler)

        assert set(after) == set(sites)
        assert len(compared) < CHECKED_TOGETHER / 4  # of the others no run has ended since

    play(scenario, web=a_site(*sites, pages=1))


def test_a_scheduler_killed_between_state_and_result_counts_a_run_once() -> None:
    """The state knows its last run: its repeat decides the same."""

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", HOME, interval_minutes=10)
        scheduler = world.start()
        await world.until_finished("job-1", seconds=1_000_000)
        await world.until(lambda: "job-2" in world.store.executions, seconds=1_000_000)
        finish, world.store.finish = world.store.finish, _never  # type: ignore[method-assign]
        await world.until(lambda: len(world.published(ADAPTIVE_STATE)) == 2)
        await scheduler.kill()
        world.store.finish = finish  # type: ignore[method-assign]
        second = world.start()
        await world.until_finished("job-2")
        await stop_all(second)

        assert world.store.jobs["job"].current_interval_seconds == 20 * MINUTE
        assert len(world.published(ADAPTIVE_STATE)) == 2

    play(scenario)


async def _never(*_: Any, **__: Any) -> Any:
    await asyncio.Event().wait()


def test_a_run_without_a_page_fails_is_retried_and_leaves_the_interval() -> None:
    """C-13, C-20, S0.2.15: 60, 120, 240 s, then the job has failed."""
    web = a_site(SITE, pages=1, **{HOME: {"how": "missing"}})

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", HOME, interval_minutes=10, max_retries=3, retry_backoff_seconds=60)
        scheduler = world.start()
        await world.until_finished("job-4", seconds=100_000)
        await asyncio.sleep(1_000)
        await stop_all(scheduler)

        executions = world.store.of("job")
        assert [each.state for each in executions] == [ExecutionState.FAILED] * 4
        assert "no start page could be fetched" in executions[0].error_message
        assert executions[0].error_message.endswith(": 1 not_found")
        waits = [
            (after.started_at_ms - (before.completed_at_ms or 0)) / 1000
            for before, after in pairwise(executions)
        ]
        assert all(wait >= least for wait, least in zip(waits, (60, 120, 240), strict=True))
        assert all(wait <= least + 15 for wait, least in zip(waits, (60, 120, 240), strict=True))
        assert world.store.jobs["job"].state == "failed"
        assert world.published(ADAPTIVE_STATE) == []

    play(scenario, web=web)


def test_a_start_page_that_fails_neither_rewards_nor_punishes() -> None:
    """Of two start pages one cannot be loaded in the third run."""
    other = f"http://{SITE}/other"
    web = a_site(SITE, pages=1)
    web.pages[other] = Page(other)

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", HOME, other, interval_minutes=10)
        scheduler = world.start()
        await world.until_finished("job-2", seconds=1_000_000)
        before = world.store.jobs["job"].current_interval_seconds
        world.web.pages[other] = Page(other, how="missing")
        await world.until_finished("job-3", seconds=1_000_000)
        during = world.store.jobs["job"].current_interval_seconds
        world.web.pages[other] = Page(other)
        await world.until_finished("job-4", seconds=1_000_000)
        await stop_all(scheduler)

        assert (before, during) == (20 * MINUTE, 20 * MINUTE)
        assert world.store.jobs["job"].current_interval_seconds == 40 * MINUTE

    play(scenario, web=web)
