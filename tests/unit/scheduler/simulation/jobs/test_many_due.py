"""Many jobs that are due at once: each is launched once, in batches, and delays no other crawl."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from strider.jobs.states import ExecutionState
from strider.messaging.inprocess import simulate
from strider.scheduler.options import JobOptions
from tests.unit.scheduler.simulation.checks import check_politeness

from .job_world import JobWorld, a_site, stop_all

BATCH = 20
JOBS = 90
CRAWLED = "www.crawled.test"


@pytest.mark.req("S1.7.1", "S1.6.5", part="many jobs that are due at once, simulated")
def test_many_jobs_due_at_once_are_launched_in_batches_and_delay_no_other_crawl() -> None:
    """A recurring job of another site continues, and so does the recovery of a stale lock."""
    names = [f"www.due{number}.test" for number in range(JOBS)]

    async def scenario() -> None:
        web = a_site(*names, pages=1)
        other = a_site(CRAWLED, pages=60)
        web.hosts.update(other.hosts)
        web.pages.update(other.pages)
        world = JobWorld(web, jobs=JobOptions(launch_batch=BATCH, poll_seconds=10, recovery_seconds=5))
        await world.begin()
        await world.add_job(CRAWLED, interval_minutes=5, adaptive_scheduling=False)
        first, second = world.start(), world.start()
        await world.until(lambda: len(world.fetches()) >= 5)
        began = world.clock.monotonic()
        for name in names:
            await world.add_job(name)
        await world.until_finished(f"{CRAWLED}-1", *(f"{name}-1" for name in names))
        await world.until_finished(f"{CRAWLED}-2")
        took = world.clock.monotonic() - began
        await stop_all(first, second)

        due = [each for name in names for each in world.store.of(name)]
        assert [each.state for each in due] == [ExecutionState.COMPLETED] * JOBS
        assert max(world.store.batches) == BATCH
        assert sum(world.store.batches) == len(world.store.executions)
        visits = [each for each in web.log if each.host == CRAWLED and each.began > began]
        assert max(later.began - earlier.began for earlier, later in pairwise(visits[:50])) < 4
        assert {world.fetches()[f"http://{name}/"] for name in names} == {1}
        assert took < 900
        check_politeness(web)

    simulate(scenario())


def test_a_pass_launches_one_batch_of_due_jobs_and_one_of_stale_locks() -> None:
    """However many there are: the loop is back at its beginning after them."""

    async def scenario() -> None:
        names = [f"www.due{number}.test" for number in range(3 * BATCH)]
        world = JobWorld(a_site(*names, pages=1), jobs=JobOptions(launch_batch=BATCH, poll_seconds=1_000))
        await world.begin()
        scheduler = world.start()
        await world.until(lambda: world.last_started is not None and world.store.polls == 1)
        assert world.last_started is not None
        loops = world.last_started._job_loops
        assert loops is not None
        for name in names:
            await world.add_job(name)
        left = await world.store.claim_due(now_ms=world.store.time_ms(), limit=BATCH, token="stopped")
        await asyncio.sleep(500)
        results = [await loops.poll.run_once(), await loops.poll.run_once(), await loops.poll.run_once()]
        launched = [each for each in world.store.executions.values() if each.launched_at_ms is not None]
        await stop_all(scheduler)

        assert results == [True, True, False]
        assert world.store.batches == [BATCH] * 3
        assert len(left) == BATCH
        assert len(launched) == 3 * BATCH

    simulate(scenario())
