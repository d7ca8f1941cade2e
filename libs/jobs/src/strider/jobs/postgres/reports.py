"""Executions and their statistics: read, counted, and pruned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from strider.contracts.generated.enums import JobState
from strider.jobs.errors import InvalidJobField, UnknownJob
from strider.jobs.history import KEPT_EXECUTIONS, KEPT_MS, STALE_LOCK, success_rate
from strider.jobs.models import ExecutionPage, JobExecution, JobStats, ScheduleMetrics
from strider.jobs.slots import DAY_MS
from strider.jobs.states import ExecutionState
from strider.jobs.validation import check_limit
from strider.storage.postgres import Connection, Postgres

from .rows import DUE, EXECUTION_COLUMNS, Row, execution_of, listed, milliseconds_of, storable, time_of

_BATCH: Final = 5_000
"""Rows that one statement deletes."""

_MAX_NUMBER: Final = 2**63 - 1

_GET: Final = f"SELECT {listed(EXECUTION_COLUMNS)} FROM job_executions"  # noqa: S608  # fixed texts

_STATS: Final = """
    SELECT jobs.next_run_at, count(e.id) AS executions,
           count(*) FILTER (WHERE e.status = 'running') AS running,
           count(*) FILTER (WHERE e.status = 'completed') AS completed,
           count(*) FILTER (WHERE e.status = 'failed') AS failed,
           count(*) FILTER (WHERE e.status = 'cancelled') AS cancelled,
           (avg(e.duration_ms) FILTER (WHERE e.status IN ('completed', 'failed')))::bigint AS average_ms,
           coalesce(sum(e.items_crawled), 0)::bigint AS crawled,
           coalesce(sum(e.items_indexed), 0)::bigint AS indexed,
           coalesce(sum(e.bytes_fetched), 0)::bigint AS bytes,
           max(e.started_at) AS started, max(e.completed_at) AS ended
      FROM jobs LEFT JOIN job_executions AS e ON e.job_id = jobs.id
     WHERE jobs.id = $1 GROUP BY jobs.id
"""

_JOB_COUNTS: Final = "SELECT status, count(*) FROM jobs GROUP BY status"

EXECUTION_COUNTS: Final = """
    SELECT status, count(*), sum(duration_ms)::bigint,
           count(*) FILTER (WHERE launched_at - started_at >= $2 AND relaunches = 0) FROM job_executions
     WHERE started_at >= $1 GROUP BY status
"""

_WAITING: Final = f"""
    SELECT (SELECT count(*) FROM jobs WHERE {DUE} AND next_run_at <= $1) AS due,
           (SELECT min(next_run_at) FROM jobs WHERE {DUE} AND next_run_at <= $1) AS oldest,
           (SELECT count(*) FROM jobs WHERE lock_token IS NOT NULL) AS launching
"""  # noqa: S608  # fixed texts

PRUNE_OLD: Final = """
    DELETE FROM job_executions WHERE id = ANY (ARRAY(
        SELECT id FROM job_executions WHERE completed_at < $1 ORDER BY completed_at LIMIT $2))
"""

_JOBS_TOGETHER: Final = 1_000
"""Jobs that one statement looks at for executions beyond the newest."""

_MANY_OF_JOB: Final = 100
"""Executions of one job that one statement deletes."""

PRUNE_MANY: Final = f"""
    WITH part AS MATERIALIZED (
        SELECT id, execution_count FROM jobs WHERE id > $1 ORDER BY id LIMIT $2
    ),
    deleted AS (
        DELETE FROM job_executions WHERE id = ANY (ARRAY(
            SELECT e.id FROM part CROSS JOIN LATERAL (
                SELECT id FROM job_executions
                 WHERE job_id = part.id AND execution_number <= part.execution_count - $3
                   AND completed_at IS NOT NULL
                 ORDER BY execution_number LIMIT {_MANY_OF_JOB}) AS e))
        RETURNING 1
    )
    SELECT (SELECT max(id) FROM part) AS last, (SELECT count(*) FROM part) AS jobs,
           (SELECT count(*) FROM deleted) AS deleted
"""  # noqa: S608  # fixed texts
"""A part of the jobs at a time, by one index each: no statement reads all jobs, or all executions."""


class Reports:
    """Reads executions and their statistics, and deletes old ones."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def execution(self, execution_id: str) -> JobExecution | None:
        """Return an execution."""
        rows = await self._postgres.fetch(f"{_GET} WHERE id = $1", storable(execution_id))
        return execution_of(rows[0]) if rows else None

    async def executions(self, job_id: str, *, cursor: str = "", limit: int = 100) -> ExecutionPage:
        """Return the executions of a job, the newest first."""
        check_limit(limit)
        query = f"{_GET} WHERE job_id = $1 AND execution_number < $2 ORDER BY execution_number DESC LIMIT $3"

        async def read(connection: Connection) -> list[JobExecution]:
            if not await connection.fetchval("SELECT 1 FROM jobs WHERE id = $1", storable(job_id)):
                raise UnknownJob(job_id)
            rows = await connection.fetch(query, job_id, _parse_number(cursor), limit + 1)
            return [execution_of(row) for row in rows]

        found = await self._postgres.run(read)
        page = tuple(found[:limit])
        return ExecutionPage(page, str(page[-1].execution_number) if len(found) > limit else "")

    async def stats(self, job_id: str) -> JobStats:
        """Return statistics of the kept executions of a job."""
        rows = await self._postgres.fetch(_STATS, storable(job_id))
        if not rows:
            raise UnknownJob(job_id)
        return _stats_of(job_id, rows[0])

    async def status_counts(self) -> Mapping[JobState, int]:
        """Return the number of jobs in each state."""
        rows = await self._postgres.fetch(_JOB_COUNTS)
        return _by_state(rows)

    async def metrics(self, *, now_ms: int) -> ScheduleMetrics:
        """Return what the scheduler's metrics show."""

        async def read(connection: Connection) -> ScheduleMetrics:
            jobs = await connection.fetch(_JOB_COUNTS)
            ended = await connection.fetch(EXECUTION_COUNTS, time_of(now_ms - DAY_MS), STALE_LOCK)
            waiting = await connection.fetchrow(_WAITING, time_of(now_ms))
            assert waiting is not None
            counts = {status: count for status, count, *_ in ended}
            timed = {status: total or 0 for status, _, total, _ in ended if status in {"completed", "failed"}}
            measured = sum(counts[status] for status in timed)
            oldest = milliseconds_of(waiting["oldest"])
            return ScheduleMetrics(
                jobs=_by_state(jobs),
                executions={state: counts.get(state, 0) for state in ExecutionState},
                success_rate=success_rate(counts.get("completed", 0), counts.get("failed", 0)),
                average_duration_ms=sum(timed.values()) // measured if measured else None,
                due=waiting["due"],
                oldest_due_ms=0 if oldest is None else now_ms - oldest,
                launching=waiting["launching"],
                stale_locks_cleared=sum(late for *_, late in ended),
            )

        return await self._postgres.run(read)

    async def prune(self, *, now_ms: int) -> int:
        """Delete ended executions that are too old or too many; return how many."""
        deleted, count, before = 0, _BATCH, time_of(now_ms - KEPT_MS)
        while count == _BATCH:
            done = await self._postgres.run(lambda connection: connection.execute(PRUNE_OLD, before, _BATCH))
            count = int(done.rpartition(" ")[2])
            deleted += count
        return deleted + await self._prune_many()

    async def _prune_many(self) -> int:
        deleted, after = 0, ""
        while True:
            (part,) = await self._postgres.fetch(PRUNE_MANY, after, _JOBS_TOGETHER, KEPT_EXECUTIONS)
            deleted += int(part["deleted"])
            if part["deleted"]:
                continue  # there may be more of the same jobs
            if part["jobs"] < _JOBS_TOGETHER:
                return deleted
            after = part["last"]


def _by_state(rows: Iterable[Row]) -> dict[JobState, int]:
    counts = {row["status"]: row["count"] for row in rows}
    return {state: counts.get(state, 0) for state in JobState}


def _stats_of(job_id: str, row: Row) -> JobStats:
    return JobStats(
        job_id=job_id,
        executions=row["executions"],
        running=row["running"],
        completed=row["completed"],
        failed=row["failed"],
        cancelled=row["cancelled"],
        success_rate=success_rate(row["completed"], row["failed"]),
        average_duration_ms=row["average_ms"],
        items_crawled=row["crawled"],
        items_indexed=row["indexed"],
        bytes_fetched=row["bytes"],
        last_started_at_ms=milliseconds_of(row["started"]),
        last_completed_at_ms=milliseconds_of(row["ended"]),
        next_run_at_ms=milliseconds_of(row["next_run_at"]),
    )


def _parse_number(cursor: str) -> int:
    if not cursor:
        return _MAX_NUMBER
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < len(str(_MAX_NUMBER))):
        raise InvalidJobField("cursor", "it is not the `next` of a page")
    return int(cursor)
