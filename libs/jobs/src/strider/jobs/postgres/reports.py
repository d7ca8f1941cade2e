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

_EXECUTION_COUNTS: Final = """
    SELECT status, count(*), sum(duration_ms)::bigint,
           count(*) FILTER (WHERE launched_at - started_at >= $2 AND relaunches = 0) FROM job_executions
     WHERE started_at >= $1 GROUP BY status
"""

_WAITING: Final = f"""
    SELECT (SELECT count(*) FROM jobs WHERE {DUE} AND next_run_at <= $1) AS due,
           (SELECT min(next_run_at) FROM jobs WHERE {DUE} AND next_run_at <= $1) AS oldest,
           (SELECT count(*) FROM jobs WHERE lock_token IS NOT NULL) AS launching
"""  # noqa: S608  # fixed texts

_PRUNE_OLD: Final = """
    DELETE FROM job_executions WHERE id IN (
        SELECT id FROM job_executions WHERE completed_at < $1 ORDER BY completed_at LIMIT $2)
"""

_PRUNE_MANY: Final = """
    DELETE FROM job_executions WHERE id IN (
        SELECT e.id FROM jobs
          JOIN job_executions AS e ON e.job_id = jobs.id AND e.execution_number <= jobs.execution_count - $1
         WHERE jobs.execution_count > $1 AND e.completed_at IS NOT NULL LIMIT $2)
"""


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
            ended = await connection.fetch(_EXECUTION_COUNTS, time_of(now_ms - DAY_MS), STALE_LOCK)
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
        deleted = 0
        for query, bound in ((_PRUNE_OLD, time_of(now_ms - KEPT_MS)), (_PRUNE_MANY, KEPT_EXECUTIONS)):
            count = _BATCH
            while count == _BATCH:
                count = await self._delete(query, bound)
                deleted += count
        return deleted

    async def _delete(self, query: str, bound: object) -> int:
        done = await self._postgres.run(lambda connection: connection.execute(query, bound, _BATCH))
        return int(done.rpartition(" ")[2])


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
