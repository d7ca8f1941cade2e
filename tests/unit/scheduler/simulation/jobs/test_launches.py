"""A job's run is launched once, whatever is killed, stopped or away in between."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from strider.contracts.generated.events import SeedSubmitted
from strider.jobs.states import ExecutionState, JobAction
from strider.messaging.inprocess import simulate
from strider.scheduler import log_events
from strider.scheduler.options import JobOptions
from tests.unit.scheduler.simulation.checks import check_politeness, check_transitions
from tests.unit.scheduler.simulation.seeds import seeds

from .job_world import JobWorld, a_site, stop_all
from .memory_store import StopPoint

SITES = ("www.a.test", "www.b.test", "www.c.test")
STARTS = tuple(f"http://{name}/" for name in SITES)
STEPS = 12
"""Claimed; crawl spec, seeds and closing message before, in between and after; marked: before and after."""

RECOVERY_SECONDS = 300.0
"""S1.6.5: how long a job may be stuck."""


def play(
    scenario: Callable[[JobWorld], Coroutine[Any, Any, None]], *, pages: int = 3, **settings: Any
) -> None:
    async def run() -> None:
        world = JobWorld(a_site(*SITES, pages=pages), **settings)
        await world.begin()
        await scenario(world)

    simulate(run())


async def check_single_run(world: JobWorld, job_id: str = "job") -> None:
    """One run, whose pages were fetched once, and nothing happens after its end."""
    await asyncio.sleep(600)
    (execution,) = world.store.of(job_id)
    assert execution.state is ExecutionState.COMPLETED
    assert execution.items_crawled == execution.items_indexed == len(world.web.pages)
    assert world.fetches() == dict.fromkeys(world.web.pages, 1)
    assert [each.execution_id for each in world.ends()] == [execution.execution_id]
    assert world.store.jobs[job_id].state == "completed"
    check_politeness(world.web)
    check_transitions(world)


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_a_scheduler_that_is_killed_at_any_step_of_a_launch_has_launched_once(step: int) -> None:
    """Another one takes the lock over, and publishes the same again."""

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", *STARTS)
        world.stop = stop = StopPoint(step)
        first = world.start()
        await stop.reached.wait()
        await asyncio.sleep(20)  # what is published already is crawled
        await first.kill()
        killed_at = world.clock.monotonic()
        second = world.start()
        await world.until_finished("job-1")
        took = world.clock.monotonic() - killed_at
        await check_single_run(world)
        await stop_all(second)

        assert took < RECOVERY_SECONDS + 30

    play(scenario)


@pytest.mark.parametrize("step", [1, 4, 7, 8, 11])
def test_a_scheduler_that_was_stopped_in_a_launch_does_no_harm_when_it_continues(step: int) -> None:
    """SIGSTOP of the holder of a lock (F29), longer than the lock counts."""

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", *STARTS)
        world.stop = stop = StopPoint(step)
        first = world.start()
        await stop.reached.wait()
        second = world.start()
        await asyncio.sleep(RECOVERY_SECONDS + 60)
        stop.released.set()
        await world.until_finished("job-1")
        await check_single_run(world)
        await stop_all(first, second)

    play(scenario)


def test_a_repeat_of_an_earlier_launch_fetches_nothing_in_a_later_run() -> None:
    """Its seeds have a lower number than the entries that they name."""

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", *STARTS, interval_minutes=5, adaptive_scheduling=False)
        world.stop = stop = StopPoint(8)  # the seeds are published, and the run is not closed
        first = world.start()
        await stop.reached.wait()
        second = world.start()
        await world.until_finished("job-2")
        before = world.fetches()
        stop.released.set()
        await asyncio.sleep(60)
        after = world.fetches()
        await stop_all(first, second)

        assert set(before) == set(world.web.pages)
        assert all(after[url] <= 2 for url in STARTS)
        assert after == before
        assert sorted(each.execution_id for each in world.ends())[:2] == ["job-1", "job-2"]

    play(scenario)


@seeds(2, of=6)
def test_many_jobs_are_launched_once_by_several_schedulers_that_come_and_go(seed: int) -> None:
    async def scenario(world: JobWorld) -> None:
        names = [f"job{number}" for number in range(12)]
        chance = random.Random(seed)
        for name in names:
            await world.save_source(name, *STARTS)
            world.store.add(job_id=name, source_id=name, url=STARTS[0])
        alive = []
        for _ in range(6):
            world.stop = StopPoint(chance.randint(1, 60))
            alive.append(world.start())
            await asyncio.sleep(chance.uniform(5, 60))
            if len(alive) > 1:
                await alive.pop(chance.randrange(len(alive))).kill()
        last = world.start()
        for each in alive:
            await each.kill()
        await world.until_finished(*(f"{name}-1" for name in names), seconds=20_000)
        await stop_all(last)

        assert {each.state for each in world.store.executions.values()} == {ExecutionState.COMPLETED}
        assert len(world.store.executions) == len(names)
        # Every job has fetched every page once.
        assert world.fetches() == dict.fromkeys(world.web.pages, len(names))
        assert sorted(each.execution_id for each in world.ends()) == sorted(f"{name}-1" for name in names)

    play(scenario, seed=seed)


def test_a_launch_waits_while_postgresql_is_away_and_crawling_continues() -> None:
    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", *STARTS)
        scheduler = world.start()
        await world.until(lambda: len(world.web.log) >= 4)
        world.store.is_away = True
        await world.until(lambda: len(world.ends()) == 1)
        await asyncio.sleep(600)
        states = {each.state for each in world.store.executions.values()}
        world.store.is_away = False
        await world.until_finished("job-1", seconds=30)
        await check_single_run(world)
        await stop_all(scheduler)

        assert states == {ExecutionState.RUNNING}

    play(scenario)


@pytest.mark.parametrize("jump_ms", [-3_600_000, 3_600_000, 30 * 86_400_000])
def test_a_jump_of_the_clock_runs_nothing_twice(jump_ms: int) -> None:
    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", *STARTS)
        world.stop = stop = StopPoint(5)
        first = world.start()
        await stop.reached.wait()
        world.store.shift_ms = jump_ms
        second = world.start()
        await asyncio.sleep(60)
        stop.released.set()
        world.store.shift_ms = 0
        await world.until_finished("job-1")
        await check_single_run(world)
        await stop_all(first, second)

    play(scenario)


def test_a_job_whose_result_was_stored_by_a_wrong_clock_runs_again_when_the_clock_is_right() -> None:
    """S1.15.3: not only after the month by which the clock was wrong."""

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", *STARTS, interval_minutes=5, adaptive_scheduling=False)
        scheduler = world.start()
        await world.until(lambda: len(world.fetches()) >= 2)
        world.store.shift_ms = 30 * 86_400_000
        await world.until_finished("job-1")
        world.store.shift_ms = 0
        await world.until_finished("job-2", seconds=600)
        await stop_all(scheduler)

    play(scenario)


def test_a_cancelled_job_stops_fetching_and_ends_its_run() -> None:
    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", *STARTS)
        scheduler = world.start()
        await world.until(lambda: len(world.fetches()) >= 2)
        world.store.act("job", JobAction.CANCEL)
        cancelled_at = world.clock.monotonic()
        await world.until_finished("job-1")
        await asyncio.sleep(60)
        await stop_all(scheduler)

        (execution,) = world.store.of("job")
        assert execution.state is ExecutionState.CANCELLED
        assert world.store.jobs["job"].state == "cancelled"
        late = [each for each in world.web.log if each.began > cancelled_at + 7]
        assert late == []
        assert len(world.fetches()) < len(world.web.pages)

    play(scenario)


@pytest.mark.parametrize("step", [1, 11], ids=["claimed", "published"])
def test_a_job_that_is_cancelled_while_a_killed_scheduler_launches_it_ends_its_run(step: int) -> None:
    """The next owner of the lock cannot know whether the run was published, so it cancels it."""
    options = JobOptions(stale_lock_seconds=20, recovery_seconds=5)

    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", *STARTS)
        world.stop = stop = StopPoint(step)
        first = world.start()
        await stop.reached.wait()
        await first.kill()
        world.store.act("job", JobAction.CANCEL)
        second = world.start()
        await world.until_finished("job-1", seconds=300)
        await asyncio.sleep(300)
        await stop_all(second)

        (execution,) = world.store.of("job")
        assert execution.state is ExecutionState.CANCELLED
        assert [each.state_after for each in world.ends()] == ["cancelled"]
        assert len(world.fetches()) < len(world.web.pages)

    play(scenario, pages=100, jobs=options)


def _faulty_jobs(world: JobWorld) -> list[tuple[str, str]]:
    """Add jobs that cannot be launched; return each with what its sentence must name."""
    url = STARTS[0]
    once = {"url": url, "max_retries": 0}
    world.store.add(job_id="none", **once)
    world.store.add(job_id="unknown", source_id="nothing", **once)
    world.store.add(job_id="disabled", source_id="off", **once)
    for job_id, settings in (
        ("setting", {"depth": 3}),
        ("number", {"max_depth": 99}),
        ("header", {"headers": {"Cookie": "x"}}),
        ("scheme", {"schemes": ["https"]}),
    ):
        job = world.store.add(job_id=job_id, source_id="on", url=url)
        # no new job can have these settings; rows of PostgreSQL can, by other hands or another version
        world.store.jobs[job_id] = replace(job, crawl_settings=settings)
    world.store.add(job_id="address", source_id="bad-url", url="http://www.a.test/", max_retries=0)
    return [
        ("none", "source_id"),
        ("unknown", "'nothing'"),
        ("disabled", "is disabled"),
        ("setting", "crawl_settings.depth"),
        ("number", "crawl_settings.max_depth"),
        ("header", "Cookie"),
        ("scheme", "3 refused_scheme http"),
        ("address", "start_urls"),
    ]


def test_a_job_that_cannot_be_launched_fails_with_a_sentence_and_delays_no_other() -> None:
    """S1.15.1: also in the batch of jobs that can be launched. What no retry changes is not retried.

    The log of its run has the sentence.
    """

    async def scenario(world: JobWorld) -> None:
        faults = _faulty_jobs(world)
        await world.save_source("off", *STARTS, enabled=False)
        await world.save_source("on", *STARTS)
        await world.save_source("bad-url", STARTS[0], "http://[1")
        await world.add_job("good", *STARTS)
        scheduler = world.start()
        with capture_logs() as lines:
            await world.until_finished("good-1", *(f"{name}-1" for name, _ in faults))
        await stop_all(scheduler)

        found = [each for each in lines if each["event"] == log_events.JOB_NOT_LAUNCHED.text]
        sentences = {(each["job_id"], each["execution_id"]): each["why"] for each in found}
        for name, part in faults:
            assert part in sentences[name, f"{name}-1"]
            (execution,) = world.store.of(name)
            assert execution.state is ExecutionState.FAILED
            assert part in execution.error_message, execution.error_message
            # a disabled source may be enabled again, and its jobs run then
            assert world.store.jobs[name].state == ("paused" if name == "disabled" else "failed")
        assert {seed.job_id for seed in world.seeds()} == {"good"}

    play(scenario)


def test_a_source_that_was_saved_just_before_its_job_is_found() -> None:
    """Its topic is read to the end before a source counts as missing."""

    async def scenario(world: JobWorld) -> None:
        scheduler = world.start()
        await asyncio.sleep(9.5)
        await world.add_job("job", *STARTS)
        await world.until_finished("job-1", seconds=120)
        await check_single_run(world)
        await stop_all(scheduler)

        seed: SeedSubmitted = world.seeds()[0]
        assert (seed.seed_id, seed.source_id, seed.execution_id) == ("job/1", "job", "job-1")

    play(scenario)
