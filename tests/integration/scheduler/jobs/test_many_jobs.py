"""Jobs at full size on real servers: 2,000 due at once among kills, and a holder of locks that is stopped."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from strider.messaging.errors import Unavailable
from strider.scheduler import log_events
from strider.scheduler.options import JobOptions
from tests.figures import record_figure
from tests.processes.services import Service
from tests.processes.waiting import until

from .job_servers import JobServers, check_single_runs, job_servers

JOBS = 2_000
SCHEDULERS = 4
KILLS = 8
END_SECONDS = 2_400.0
RECOVERY_SECONDS = 300
"""S1.6.5: how long a job may be stuck."""

LARGE_BATCHES = {"SCHEDULER_JOB_LAUNCH_BATCH": "50"}
DEFAULTS = JobOptions()
DEFAULT_SETTINGS = {
    "SCHEDULER_JOB_POLL_SECONDS": f"{DEFAULTS.poll_seconds}s",
    "SCHEDULER_JOB_RECOVERY_SECONDS": f"{DEFAULTS.recovery_seconds}s",
    "SCHEDULER_JOB_STALE_LOCK_SECONDS": f"{DEFAULTS.stale_lock_seconds:g}",
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3_600)]


@pytest.fixture
async def servers(
    kafka_bootstrap: str, redis_url: str, database: str, tmp_path: Path
) -> AsyncIterator[JobServers]:
    async with job_servers(kafka_bootstrap, redis_url, database, tmp_path) as servers:
        yield servers


async def wait_for_count(
    count: Callable[[], Awaitable[int]], least: int, *, what: str, tell: Service
) -> None:
    """Wait until so many are counted; a busy database counts later."""

    async def are_counted() -> bool:
        await asyncio.sleep(0.5)
        assert tell.exit_code is None, tell.last_words()
        try:
            return await count() >= least
        except Unavailable:
            return False

    await until(are_counted, what=f"{least} {what}", tell=tell.last_words, seconds=END_SECONDS)


async def wait_for_launches(servers: JobServers, count: int, *, tell: Service) -> None:
    await wait_for_count(servers.launched, count, what="launches", tell=tell)


async def wait_for_ends(servers: JobServers, count: int, *, tell: Service) -> None:
    await wait_for_count(servers.ended, count, what="ended runs", tell=tell)
    servers.crawl.pipeline.check()


@pytest.mark.req("S1.6.3", "S1.15.3", part="four schedulers, 2,000 due jobs, kills")
async def test_2000_due_jobs_run_once_among_four_schedulers_that_are_killed(servers: JobServers) -> None:
    """After each eighth of the launches one is killed and replaced; locks are stale after seconds."""
    chance = random.Random(18)
    jobs = await servers.add_jobs(servers.serve_sites(JOBS))
    alive = [servers.start(settings=LARGE_BATCHES) for _ in range(SCHEDULERS)]
    for kill in range(KILLS):
        await wait_for_launches(servers, kill * JOBS // KILLS + 1, tell=alive[0])
        await asyncio.sleep(chance.uniform(0, 0.5))  # a moment of the launch, which none is known of
        alive.pop(chance.randrange(len(alive))).kill()
        alive.append(servers.start(settings=LARGE_BATCHES))
    await wait_for_ends(servers, JOBS, tell=alive[0])

    double = sum(count - 1 for count in servers.fetches().values())
    record_figure(
        f"{JOBS} due jobs, {SCHEDULERS} schedulers: kills={KILLS} pages fetched twice={double} "
        f"ends={(await servers.ends()).total()}"
    )
    await check_single_runs(servers, jobs)


@pytest.mark.req("S1.6.4", "S1.6.5", part="with the default settings")
@pytest.mark.fault("F29", part="a scheduler that holds locks of jobs, with the default settings")
async def test_jobs_of_a_stopped_scheduler_are_launched_within_five_minutes(servers: JobServers) -> None:
    jobs = await servers.add_jobs(servers.serve_sites(60))
    first = servers.start()
    held = 0
    while not held:
        await first.until_logged(log_events.JOB_LAUNCHED.text)
        first.freeze()
        held = (await servers.store.metrics(now_ms=await servers.store.now_ms())).launching
        if not held:
            first.thaw()
    second = servers.start(settings=DEFAULT_SETTINGS)
    await wait_for_launches(servers, len(jobs), tell=second)
    first.thaw()
    await wait_for_ends(servers, len(jobs), tell=second)
    executions = await servers.executions(jobs)
    stuck = max((each.launched_at_ms or 0) - each.started_at_ms for each in executions) / 1000

    record_figure(f"a stopped scheduler that held {held} locks: longest stuck={stuck:.0f}s")
    assert stuck <= RECOVERY_SECONDS
    await check_single_runs(servers, jobs)
