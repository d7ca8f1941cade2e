"""Jobs on a real Kafka, PostgreSQL and Valkey: killed schedulers, outages, results."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from strider.jobs.states import ExecutionState, JobAction
from strider.scheduler import log_events
from strider.storage import keys
from strider.testing.faulty_tcp_proxy import faulty_tcp_proxy
from tests.processes.waiting import until

from .job_servers import JobServers, check_single_runs, job_servers

JOBS = 40


@pytest.fixture
async def servers(
    kafka_bootstrap: str, redis_url: str, database: str, tmp_path: Path
) -> AsyncIterator[JobServers]:
    async with job_servers(kafka_bootstrap, redis_url, database, tmp_path) as servers:
        yield servers


@pytest.mark.req("S1.6.1", "S1.6.2", "S1.6.3", "S1.6.5", "S1.7.2", "S1.15.3")
async def test_schedulers_that_are_killed_while_they_launch_run_every_job_once(servers: JobServers) -> None:
    """Two at a time, killed at random moments, over locks that become stale after some seconds."""
    chance = random.Random(7)
    jobs = await servers.add_jobs(servers.serve_sites(JOBS))
    alive = [servers.start(), servers.start()]
    for _ in range(4):
        await until(
            lambda: any(each.events(log_events.JOB_LAUNCHED.text) for each in alive),
            what="something is launched",
            tell=alive[0].last_words,
            seconds=60,
        )
        await asyncio.sleep(chance.uniform(0, 0.5))  # a moment of the launch, which none is known of
        alive.pop(chance.randrange(len(alive))).kill()
        alive.append(servers.start())
    await servers.until_all(jobs, ExecutionState.COMPLETED)

    await check_single_runs(servers, jobs)


@pytest.mark.req("S1.6.4", "S1.6.5")
@pytest.mark.fault("F29", part="a scheduler that holds locks of jobs")
async def test_a_stopped_scheduler_is_replaced_and_does_no_harm_when_it_continues(
    servers: JobServers,
) -> None:
    jobs = await servers.add_jobs(servers.serve_sites(JOBS))
    first = servers.start()
    await first.until_logged(log_events.JOB_LAUNCHED.text)
    first.freeze()
    second = servers.start()
    await servers.until_all(jobs, ExecutionState.COMPLETED)
    first.thaw()
    await asyncio.sleep(2)  # what it publishes now would be fetched at once

    await check_single_runs(servers, jobs)
    assert second.exit_code is None


@pytest.mark.req("S1.7.3", "S0.2.8", "S0.2.9", "S0.2.10", "S0.2.11", "S1.8.2", "S5.1.2")
async def test_the_adaptive_state_is_in_redis_and_comes_back_after_a_wipe(servers: JobServers) -> None:
    (site,) = servers.serve_sites(1)
    (job,) = await servers.add_jobs([site], interval_minutes=30)
    scheduler = servers.start()
    for number in (1, 2):
        await servers.store.act(job, JobAction.FORCE_RUN, now_ms=await servers.store.now_ms())
        await servers.until_all([job], ExecutionState.COMPLETED, runs=number)
    redis, key = servers.crawl.redis, keys.ADAPTIVE_STATE(site)
    before = await redis.command("HGETALL", key)
    assert await redis.command("DEL", key) == 1

    async def is_back() -> bool:
        return bool(await redis.command("HGETALL", key) == before)

    await scheduler.until(is_back, what="restores the copy")
    stored = await servers.store.get(job)
    assert key == f"crawler:adaptive:{site}"
    assert (before[b"unchanged_count"], before[b"current_interval"]) == (b"1", b"3600")
    assert before[b"last_hash"]
    assert int(before[b"last_change_at"]) > 0  # when it had its first hash
    assert stored is not None
    assert (stored.state, stored.current_interval_seconds) == ("scheduled", 3600)


@pytest.mark.req("S1.5.3", "S1.7.4", "S1.15.1")
async def test_a_job_without_a_source_fails_with_a_sentence_and_can_be_retried(servers: JobServers) -> None:
    (site,) = servers.serve_sites(1)
    (job,) = await servers.add_jobs([site], max_retries=0)
    await servers.store.change(
        job, {"source_id": "nothing"}, version=None, now_ms=await servers.store.now_ms()
    )
    servers.start()
    (failed,) = await servers.until_all([job], ExecutionState.FAILED)
    await servers.store.change(job, {"source_id": site}, version=None, now_ms=await servers.store.now_ms())
    await servers.store.act(job, JobAction.RETRY, now_ms=await servers.store.now_ms())
    await servers.until_all([job], ExecutionState.COMPLETED)

    assert "there is no source 'nothing'" in failed.error_message


async def test_a_run_whose_messages_were_refused_is_launched_again(servers: JobServers) -> None:
    """A scheduler with another key than link-ingestion's is replaced by one with the right key."""
    jobs = await servers.add_jobs(servers.serve_sites(2))
    first = servers.start(settings={"STRIDER_OWNER_KEY": "another-key-0123456789-0123456789"})
    await first.until(lambda: len(first.events(log_events.JOB_LAUNCHED.text)) == len(jobs), what="launches")
    first.kill()
    second = servers.start(settings={"SCHEDULER_JOB_RELAUNCH_SECONDS": "1"})
    await servers.until_all(jobs, ExecutionState.COMPLETED)

    await check_single_runs(servers, jobs)
    assert len(second.events(log_events.JOB_LAUNCHED_AGAIN.text)) >= len(jobs)


@pytest.mark.fault("F15", part="under a crawl with jobs")
async def test_without_postgresql_crawling_continues_and_results_follow(
    servers: JobServers, database: str
) -> None:
    """Readiness stays green, and says that PostgreSQL is away."""
    address = urlsplit(database)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 5432) as (proxy, port):
        account = address.netloc.rpartition("@")[0]
        behind = urlunsplit(address._replace(netloc=f"{account}@127.0.0.1:{port}"))
        jobs = await servers.add_jobs(servers.serve_sites(5))
        scheduler = servers.start(settings={"POSTGRES_DSN": behind})
        await scheduler.until(
            lambda: len(scheduler.events(log_events.JOB_LAUNCHED.text)) == len(jobs), what="launches"
        )
        proxy.drops_everything = True
        proxy.cut()
        await scheduler.until_logged(log_events.JOBS_PAUSED.text)

        async def have_ended() -> bool:
            return len(await servers.ends()) == len(jobs)

        await scheduler.until(have_ended, what="ends all runs")

        async def is_reported() -> bool:
            status, report = await scheduler.readiness()
            assert status == 200
            return not report["dependencies"]["postgres"]["ok"]

        await scheduler.until(is_reported, what="reports PostgreSQL")
        proxy.drops_everything = False
        proxy.cut()
        await servers.until_all(jobs, ExecutionState.COMPLETED)

        await check_single_runs(servers, jobs)


@pytest.mark.req("S1.7.5", "S1.18.1", "S1.18.2", "S1.18.3")
async def test_metrics_of_jobs_are_served(servers: JobServers) -> None:
    jobs = await servers.add_jobs(servers.serve_sites(3))
    scheduler = servers.start()
    await servers.until_all(jobs, ExecutionState.COMPLETED)

    async def are_counted() -> bool:
        completed = await scheduler.metric("strider_job_executions", state="completed")
        return completed == len(jobs) == await scheduler.metric("strider_jobs", state="completed")

    await scheduler.until(are_counted, what="counts jobs")
    assert await scheduler.metric("strider_job_launches_total") == len(jobs)
    assert await scheduler.metric("strider_job_success_ratio") == 1
    assert await scheduler.metric("strider_job_distribution_score") == 1
    assert await scheduler.metric("strider_job_stale_locks_cleared_total") == 0
