"""Many jobs: what a poll reads of 100,000, 10,000 due at once, and what is pruned."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strider.jobs.history import STALE_LOCK, is_prunable
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.postgres.claims import DUE_QUERY
from strider.jobs.postgres.reports import EXECUTION_COUNTS, PRUNE_MANY, PRUNE_OLD
from strider.jobs.postgres.rows import time_of
from strider.storage.postgres import Postgres

NOW_MS = 1_763_640_000_000
DAY_MS = 86_400_000
MINUTE_MS = 60_000

MANY = """
    INSERT INTO jobs (id, url, status, interval_minutes, schedule_enabled, current_interval_seconds,
                      next_run_at, phase_at, slot, created_at, updated_at)
    SELECT 'job-' || number, 'https://example.com/',
           CASE WHEN number % 10 = 0 THEN 'completed' ELSE 'scheduled' END, 1440, true, 86400,
           $1::timestamptz + number * interval '800 ms', $1::timestamptz + number * interval '800 ms',
           (number * 800 / 900000) % 96, $1, $1
      FROM generate_series(1, 100000) AS number
"""
DUE = """
    INSERT INTO jobs (id, url, status, schedule_enabled, next_run_at, created_at, updated_at)
    SELECT 'job-' || number, 'https://example.com/', 'pending', false, $1, $1, $1
      FROM generate_series(1, 10000) AS number
"""
HISTORY_JOBS = """
    INSERT INTO jobs (id, url, status, schedule_enabled, execution_count, created_at, updated_at)
    SELECT 'job-' || number, 'https://example.com/', 'completed', false, 110, $1, $1
      FROM generate_series(1, 60) AS number
"""
HISTORY = """
    INSERT INTO job_executions (id, job_id, execution_number, status, started_at, completed_at)
    SELECT job.id || '-' || number, job.id, number,
           CASE WHEN number IN (3, 110) THEN 'running' ELSE 'completed' END, $1,
           CASE WHEN number NOT IN (3, 110) THEN $1::timestamptz - (111 - number) * interval '8 hours' END
      FROM jobs AS job, generate_series(1, 110) AS number
"""


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for part in plan.get("Plans", ()) for node in _nodes(part))]


@pytest.mark.req("S1.7.1", part="a poll of 100,000 jobs reads one range of one index")
async def test_a_poll_reads_what_is_due_and_nothing_else(postgres: Postgres) -> None:
    """Shown by what the database says that it reads, because a time would depend on the machine."""
    await postgres.run(lambda connection: connection.execute(MANY, time_of(NOW_MS)))
    await postgres.run(lambda connection: connection.execute("ANALYZE jobs"))
    due_after_ms = 400 * 800

    async def explain(connection: Any) -> str:
        query = f"EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json) {DUE_QUERY} FOR UPDATE SKIP LOCKED"
        return await connection.fetchval(query, time_of(NOW_MS + due_after_ms), 1_000)

    (found,) = json.loads(await postgres.run(explain))
    nodes = {node["Node Type"]: node for node in _nodes(found["Plan"])}

    assert set(nodes) <= {"Limit", "LockRows", "Index Scan"}
    scan = nodes["Index Scan"]
    assert scan["Index Name"] == "jobs_due"
    assert "next_run_at <= " in scan["Index Cond"]
    assert scan.get("Rows Removed by Filter", 0) == 0
    assert scan["Actual Rows"] == 360


async def test_10000_jobs_that_are_due_at_once_are_claimed_in_batches(
    postgres: Postgres, store: PostgresJobStore
) -> None:
    await postgres.run(lambda connection: connection.execute(DUE, time_of(NOW_MS)))
    waiting = await store.metrics(now_ms=NOW_MS + 5)

    claimed = set[str]()
    while batch := await store.claim_due(now_ms=NOW_MS, limit=1_000, token="a"):
        assert len(batch) == 1_000
        claimed |= {launch.execution.execution_id for launch in batch}

    assert (waiting.due, waiting.oldest_due_ms) == (10_000, 5)
    assert len(claimed) == 10_000
    assert (await store.metrics(now_ms=NOW_MS)).launching == 10_000


async def _explain(postgres: Postgres, query: str, *values: Any) -> list[dict[str, Any]]:
    """Return the nodes of the plan of a query, without executing it."""
    (row,) = await postgres.fetch(f"EXPLAIN (FORMAT json) {query}", *values)
    (found,) = json.loads(row[0])
    return _nodes(found["Plan"])


async def test_pruning_and_metrics_read_no_table_whole(postgres: Postgres) -> None:
    """Each reads by an index, beside a table of many executions, so that no statement takes too long."""
    many = HISTORY_JOBS.replace("60", "400")
    for statement in (many, HISTORY):
        await postgres.run(
            lambda connection, text=statement: connection.execute(text, time_of(NOW_MS - 40 * DAY_MS))
        )
    await postgres.run(lambda connection: connection.execute("ANALYZE jobs, job_executions"))

    plans = {
        "old": await _explain(postgres, PRUNE_OLD, time_of(NOW_MS - 90 * DAY_MS), 5_000),
        "many": await _explain(postgres, PRUNE_MANY, "", 1_000, 100),
        "metrics": await _explain(postgres, EXECUTION_COUNTS, time_of(NOW_MS - DAY_MS), STALE_LOCK),
    }

    for name, nodes in plans.items():
        whole = [node for node in nodes if node["Node Type"] == "Seq Scan"]
        assert not [node for node in whole if node["Relation Name"] == "job_executions"], (name, nodes)
    assert {node.get("Index Name") for node in plans["metrics"]} >= {"job_executions_started"}


@pytest.mark.req("S1.12.1", part="the record")
async def test_old_and_many_executions_are_deleted(postgres: Postgres, store: PostgresJobStore) -> None:
    """By the rule of `history.py`, to the row; one that has not ended stays."""
    await postgres.run(lambda connection: connection.execute(HISTORY_JOBS, time_of(NOW_MS)))
    await postgres.run(lambda connection: connection.execute(HISTORY, time_of(NOW_MS)))
    eight_hours = 8 * 60 * MINUTE_MS
    kept = {
        number
        for number in range(1, 111)
        if number in {3, 110}
        or not is_prunable(
            number, newest=110, completed_at_ms=NOW_MS - (111 - number) * eight_hours, now_ms=NOW_MS
        )
    }

    deleted = await store.prune(now_ms=NOW_MS)
    rows = await postgres.fetch("SELECT DISTINCT execution_number FROM job_executions")

    assert {row["execution_number"] for row in rows} == kept
    assert min(kept - {3}) == 21  # 30 days are 90 runs of 8 hours
    assert deleted == 60 * (110 - len(kept))
    assert await store.prune(now_ms=NOW_MS) == 0


async def test_more_than_a_hundred_executions_within_30_days_are_deleted(
    postgres: Postgres, store: PostgresJobStore
) -> None:
    await postgres.run(lambda connection: connection.execute(HISTORY_JOBS, time_of(NOW_MS)))
    await postgres.run(lambda connection: connection.execute(HISTORY, time_of(NOW_MS)))

    await store.prune(now_ms=NOW_MS - 20 * DAY_MS)
    rows = await postgres.fetch("SELECT execution_number FROM job_executions WHERE job_id = 'job-7'")

    assert {row["execution_number"] for row in rows} == {3, *range(11, 111)}
