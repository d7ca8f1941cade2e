"""Jobs on real servers: schedulers and link-ingestion as processes, a simulated web behind them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from strider.contracts.generated.events import JobEvent, SourceSaved
from strider.contracts.generated.topics import JOB_EVENTS, SOURCES
from strider.jobs.models import JobExecution, NewJob
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.states import ExecutionState
from strider.messaging.effects import Publish
from strider.storage.postgres import Postgres, PostgresOptions
from strider.testing.owner import OWNER_SETTINGS
from tests.integration.scheduler.scheduler_process import SHARDS, CrawlOnServers
from tests.processes.services import Service, Yard
from tests.unit.scheduler.simulation.web import Host, Page, Web

STALE_SECONDS = 4


class JobServers:
    """A database of jobs, and the processes that run them."""

    def __init__(self, crawl: CrawlOnServers, dsn: str, directory: Path) -> None:
        self.crawl = crawl
        self.name = crawl.name
        self._postgres = Postgres(PostgresOptions(dsn, max_connections=4))
        self.store = PostgresJobStore(self._postgres)
        self._yard = Yard(crawl.bootstrap, directory, shards=SHARDS)
        self._settings = {
            "POSTGRES_DSN": dsn,
            "REDIS_URL": crawl.redis_url,
            **OWNER_SETTINGS,
            "STRIDER_HOST_DELAY": "0",
            "SCHEDULER_JOB_POLL_SECONDS": "0.3s",
            "SCHEDULER_JOB_LAUNCH_BATCH": "7",
            "SCHEDULER_JOB_RECOVERY_SECONDS": "1s",
            "SCHEDULER_JOB_STALE_LOCK_SECONDS": str(STALE_SECONDS),
            "SCHEDULER_JOB_RECONCILE_SECONDS": "1s",
            "SCHEDULER_JOB_METRICS_SECONDS": "1s",
        }

    def start(self, service: str = "scheduler", settings: Mapping[str, str] | None = None) -> Service:
        """Start a process of a service."""
        return self._yard.start(("-m", f"strider.{service}"), {**self._settings, **(settings or {})})

    async def close(self) -> None:
        self._yard.close()
        await self._postgres.close()

    def serve_sites(self, count: int) -> list[str]:
        """Replace the simulated web by sites of one page each; return their names."""
        names = [f"www.{self.name}-{number}.test" for number in range(count)]
        pages = {url: Page(url) for url in (f"http://{name}/" for name in names)}
        self.crawl.web = self.crawl.pipeline.web = Web({name: Host(name) for name in names}, pages, ())
        return names

    async def add_jobs(self, names: list[str], **changes: Any) -> list[str]:
        """Save a source and a job for each of these sites; return the ids of the jobs."""
        sources = [SourceSaved(name, name, f"http://{name}/") for name in names]
        await self.crawl.pipeline.publisher.publish([Publish(SOURCES, source) for source in sources])
        now_ms = await self.store.now_ms()
        for source in sources:
            job = NewJob(job_id=f"job.{source.name}", source_id=source.source_id, url=source.url, **changes)
            await self.store.create(job, now_ms=now_ms)
        return [f"job.{name}" for name in names]

    async def executions(self, jobs: list[str]) -> list[JobExecution]:
        """Return all executions of these jobs."""
        return [each for job in jobs for each in (await self.store.executions(job)).executions]

    async def until_all(self, jobs: list[str], state: str, *, runs: int = 1) -> list[JobExecution]:
        """Wait until each of these jobs has so many executions in this state; return all executions."""

        async def are_ended() -> list[JobExecution]:
            found = await self.executions(jobs)
            ended = Counter(each.job_id for each in found if each.state == state)
            return found if all(ended[job] >= runs for job in jobs) else []

        found: list[JobExecution] = await self.crawl.until(are_ended)
        return found

    async def launched(self) -> int:
        """Count executions that were launched."""
        return await self._count("launched_at IS NOT NULL")

    async def ended(self) -> int:
        """Count executions that have ended."""
        return await self._count("status <> 'running'")

    async def _count(self, condition: str) -> int:
        (row,) = await self._postgres.fetch(f"SELECT count(*) AS found FROM job_executions WHERE {condition}")
        return int(row["found"])

    def fetches(self) -> Counter[str]:
        """Return how often each page was fetched."""
        return Counter(each.url for each in self.crawl.web.log if not each.url.endswith("/robots.txt"))

    async def ends(self) -> Counter[str]:
        """Return how often each run of these jobs has ended on the topic."""
        events: list[JobEvent] = await self.crawl.events(JOB_EVENTS)
        ended = [each.execution_id for each in events if each.what == "run_completed"]
        return Counter(each for each in ended if each.startswith(f"job.www.{self.name}"))


async def check_single_runs(servers: JobServers, jobs: list[str]) -> None:
    """Every job ran once, and every page was fetched once."""
    executions = await servers.executions(jobs)
    assert {each.state for each in executions} == {ExecutionState.COMPLETED}
    assert sorted(each.execution_id for each in executions) == sorted(f"{job}-1" for job in jobs)
    assert {each.items_crawled for each in executions} == {1}
    assert servers.fetches() == dict.fromkeys(servers.crawl.web.pages, 1)
    assert await servers.ends() == dict.fromkeys((f"{job}-1" for job in jobs), 1)


@asynccontextmanager
async def job_servers(bootstrap: str, redis_url: str, dsn: str, directory: Path) -> AsyncIterator[JobServers]:
    """Start the simulated web and link-ingestion; schedulers are started by the test."""
    crawl = CrawlOnServers(bootstrap, redis_url, seed=5)
    servers = JobServers(crawl, dsn, directory)
    servers.serve_sites(0)
    try:
        await crawl.begin()
        await servers.start("link_ingestion").until_ready()
        yield servers
    finally:
        await servers.close()
        await crawl.close()
        await asyncio.sleep(0)
