"""Jobs in numbers: what a poll of 100,000 reads, and how soon those that are due at once are launched.

The schedulers are processes on a real broker and a real database; the time to a launch includes the interval
of the poll. While they launch, the health page of the scheduler is requested: it is answered by the same
event loop as everything else, so the longest wait for it is the longest time for which nothing else ran.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import asyncpg

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import SOURCES
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.postgres.claims import DUE_QUERY
from strider.jobs.postgres.rows import time_of
from strider.messaging.effects import Publish
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.runtime.clocks import SystemClock
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.options import JobOptions
from strider.storage.migrations import upgrade
from strider.storage.postgres import Postgres, PostgresOptions
from strider.testing.stack import create_database
from tests.e2e.pipeline import SHARDS, Ring, Servers
from tests.processes.services import Service
from tests.processes.waiting import until

from .measure import Row

NOW_MS: Final = 1_763_640_000_000
JOBS: Final = 100_000
BATCH: Final = JobOptions().launch_batch
POLL_ROUNDS: Final = 21
LAUNCH_SECONDS: Final = 900.0
SOURCES_AT_ONCE: Final = 500

_MANY: Final = """
    INSERT INTO jobs (id, url, status, interval_minutes, schedule_enabled, current_interval_seconds,
                      next_run_at, phase_at, slot, created_at, updated_at)
    SELECT 'job-' || number, 'https://example.com/', 'scheduled', 1440, true, 86400,
           $1::timestamptz + number * interval '800 ms', $1::timestamptz + number * interval '800 ms',
           (number * 800 / 900000) % 96, $1, $1
      FROM generate_series(1, $2) AS number
"""

_DUE: Final = """
    INSERT INTO jobs (id, url, source_id, status, schedule_enabled, max_retries, next_run_at,
                      created_at, updated_at)
    SELECT $1 || number, 'http://' || $2 || number || '/', $1 || number, 'pending', false, 0,
           now(), now(), now()
      FROM generate_series(1, $3) AS number
"""

_PROGRESS: Final = """
    SELECT count(e.launched_at) AS launched, count(*) FILTER (WHERE e.status <> 'running') AS ended,
           count(*) AS executions, count(DISTINCT e.job_id) AS jobs,
           extract(epoch FROM max(e.launched_at - e.scheduled_for)) AS latest,
           extract(epoch FROM max(e.completed_at - e.scheduled_for)) AS last_end
      FROM job_executions AS e WHERE e.job_id LIKE $1 || '%'
"""


def measure(directory: Path, *, rounds: int, short: bool) -> list[Row]:
    """Measure polls, then launches."""
    servers = Servers.start(directory / "jobs", counts_statements=False, starts_fast=False)
    try:
        return [
            *asyncio.run(_polls(create_database(servers.postgres.address), rounds=rounds)),
            *asyncio.run(_launches(servers, directory / "jobs", short=short)),
        ]
    finally:
        servers.close()


async def _polls(dsn: str, *, rounds: int) -> list[Row]:
    """Measure polls of many jobs: none due, and as many due as a batch takes."""
    await upgrade(dsn)
    connection = await asyncpg.connect(dsn)
    await connection.execute(_MANY, time_of(NOW_MS), JOBS)
    await connection.execute("VACUUM ANALYZE jobs")
    idle, full = [], []
    for _ in range(POLL_ROUNDS):
        idle.append(await _query_ms(connection, NOW_MS))
        full.append(await _query_ms(connection, NOW_MS + 10_000_000))
    await connection.close()
    postgres = Postgres(PostgresOptions(dsn, max_connections=2))
    store, claims = PostgresJobStore(postgres), []
    for number in range(rounds):
        began = time.perf_counter()
        claimed = await store.claim_due(now_ms=NOW_MS + 10_000_000, limit=BATCH, token=str(number))
        claims.append((time.perf_counter() - began) * 1000)
        assert len(claimed) == BATCH
    await postgres.close()
    about = f"{JOBS:,} jobs"
    return [
        Row(f"poll query, {about}, none due: time in the server", statistics.median(idle), "ms", 5.0),
        Row(f"poll query, {about}, {BATCH} taken: time in the server", statistics.median(full), "ms", 5.0),
        Row(f"claim of {BATCH} jobs, with their executions", statistics.median(claims), "ms", None),
    ]


async def _query_ms(connection: asyncpg.Connection[asyncpg.Record], now_ms: int) -> float:
    query = f"EXPLAIN (ANALYZE, TIMING off, FORMAT json) {DUE_QUERY} FOR UPDATE SKIP LOCKED"
    (found,) = json.loads(await connection.fetchval(query, time_of(now_ms), BATCH))
    return float(found["Execution Time"])


async def _launches(servers: Servers, directory: Path, *, short: bool) -> list[Row]:
    """Measure what is due at once: runs that end with nothing, then more whose hosts never answer."""
    few, many = (100, 1_000) if short else (1_000, 10_000)
    logs = directory / "logs"
    logs.mkdir()
    ring = Ring(servers, logs)
    try:
        # It alone refuses the seeds as private, so that runs are launched, and end without a fetcher.
        ring.start("link-ingestion", {"STRIDER_ALLOW_PRIVATE": "false"})
        ring.start("scheduler")
        for service in ring.services.values():
            await service.until_ready()
        return [
            *await _due_at_once(ring, few, name="refused-", host="127.0.0.1:", ends=True),
            *await _due_at_once(ring, many, name="waiting-", host="www.host.test:", ends=False),
        ]
    finally:
        ring.close()


async def _due_at_once(ring: Ring, count: int, *, name: str, host: str, ends: bool) -> list[Row]:
    await _save_sources(ring, count, name=name, host=host)
    connection = await asyncpg.connect(ring.servers.dsn)
    found: asyncpg.Record | None = None

    async def is_done() -> bool:
        nonlocal found
        await asyncio.sleep(0.5)
        found = await connection.fetchrow(_PROGRESS, name)
        return found is not None and found["ended" if ends else "launched"] == count

    try:
        async with _longest_wait(ring.services["scheduler"]) as longest_wait:
            await connection.execute(_DUE, name, host, count)
            await until(is_done, what=f"{count} jobs", tell=ring.tell, seconds=LAUNCH_SECONDS)
    finally:
        await connection.close()
    assert found is not None
    assert found["executions"] == found["jobs"] == count, found
    about = f"{count:,} jobs due at once"
    rows = [
        Row(f"{about}: the last one is launched after", float(found["latest"]), "s", 60.0),
        Row(f"{about}: longest wait for the scheduler's event loop", longest_wait(), "s", None),
    ]
    if ends:
        rows.append(Row(f"{about}: the last result is stored after", float(found["last_end"]), "s", None))
    return rows


async def _save_sources(ring: Ring, count: int, *, name: str, host: str) -> None:
    bus = KafkaBus(KafkaConnection(bootstrap_servers=(ring.servers.kafka.address,)))
    codec = Codec(SchemaStore.bundled())
    publisher = EventPublisher(bus, codec, service="bench", shards=SHARDS, clock=SystemClock())
    for first in range(1, count + 1, SOURCES_AT_ONCE):
        numbers = range(first, min(first + SOURCES_AT_ONCE, count + 1))
        sources = [SourceSaved(f"{name}{n}", f"{name}{n}", f"http://{host}{n}/") for n in numbers]
        await publisher.publish([Publish(SOURCES, source) for source in sources])
    await publisher.close()
    await bus.close()


@asynccontextmanager
async def _longest_wait(service: Service) -> AsyncIterator[Callable[[], float]]:
    """Request the health page of a service again and again; yields the longest wait so far."""
    longest = 0.0

    async def request() -> None:
        nonlocal longest
        while True:
            began = time.monotonic()
            with contextlib.suppress(OSError):  # later than its own deadline
                await service.readiness()
            longest = max(longest, time.monotonic() - began)
            await asyncio.sleep(0.05)

    asking = asyncio.create_task(request())
    try:
        yield lambda: longest
    finally:
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
