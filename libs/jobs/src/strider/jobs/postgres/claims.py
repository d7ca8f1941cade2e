"""Claims of due jobs, locks while their runs are launched, and the end of executions.

A claim is one statement: it skips rows that another process has locked, compares state and lock of each row
under its lock, sets both, and inserts the execution. So no execution is claimed twice, and a process that is
killed at any moment leaves either nothing or a lock, which another one takes over.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from strider.jobs.lifecycle import finish_job
from strider.jobs.models import ExecutionResult, Job, JobExecution, Launch
from strider.jobs.states import ExecutionState
from strider.storage.postgres import Connection, Postgres

from .records import save_execution, save_job
from .rows import DUE, EPOCH, EXECUTION_COLUMNS, JOB_COLUMNS, Row, execution_of, job_of, listed, time_of
from .source_states import is_source_enabled

_LAUNCH: Final = f"{listed(JOB_COLUMNS, table='jobs')}, {listed(EXECUTION_COLUMNS, table='e', prefix='e_')}"

DUE_QUERY: Final = (
    f"SELECT id, next_run_at FROM jobs WHERE {DUE} AND next_run_at <= $1 ORDER BY next_run_at, id LIMIT $2"  # noqa: S608  # one line, fixed text
)

_CLAIM_DUE: Final = f"""
    WITH due AS MATERIALIZED ({DUE_QUERY} FOR UPDATE SKIP LOCKED),
    claimed AS (
        UPDATE jobs SET status = 'running', lock_token = $3, lock_acquired_at = $1, next_run_at = NULL,
                        execution_count = execution_count + 1, last_run_at = $1, updated_at = $1
          FROM due WHERE jobs.id = due.id
     RETURNING jobs.*, due.next_run_at AS due_at
    ),
    inserted AS (
        INSERT INTO job_executions (id, job_id, execution_number, status, scheduled_for, started_at, retry_attempt)
        SELECT id || '-' || execution_count, id, execution_count, 'running', due_at, $1, current_retry_count
          FROM claimed
     RETURNING *
    )
    SELECT {_LAUNCH} FROM claimed AS jobs JOIN inserted AS e ON e.job_id = jobs.id
     ORDER BY e.scheduled_for, e.id
"""  # noqa: S608, E501  # fixed texts

_CLAIMED_BY: Final = f"""
    SELECT {_LAUNCH} FROM jobs JOIN job_executions AS e ON e.job_id = jobs.id AND e.execution_number = execution_count
     WHERE lock_token = $1 AND lock_acquired_at = $2 AND jobs.status = 'running' AND e.status = 'running'
     ORDER BY e.scheduled_for, e.id
"""  # noqa: S608, E501  # fixed texts

_CLAIM_STALE: Final = f"""
    WITH stale AS MATERIALIZED (
        SELECT id FROM jobs
         WHERE lock_token IS NOT NULL
           AND (lock_acquired_at <= $1::timestamptz - $2::interval OR lock_acquired_at > $1::timestamptz + $2::interval)
         ORDER BY lock_acquired_at LIMIT $4 FOR UPDATE SKIP LOCKED
    ),
    claimed AS (
        UPDATE jobs SET lock_token = CASE WHEN status = 'running' THEN $3 END,
                        lock_acquired_at = CASE WHEN status = 'running' THEN $1 END
          FROM stale WHERE jobs.id = stale.id
     RETURNING jobs.*
    ),
    cancelled AS (
        UPDATE job_executions AS e SET launched_at = $1, cancel_requested_at = coalesce(cancel_requested_at, $1)
          FROM claimed WHERE e.job_id = claimed.id AND e.execution_number = claimed.execution_count
           AND claimed.status <> 'running' AND e.status = 'running' AND e.launched_at IS NULL
    )
    SELECT {_LAUNCH} FROM claimed AS jobs
      JOIN job_executions AS e ON e.job_id = jobs.id AND e.execution_number = execution_count
     WHERE jobs.status = 'running' AND e.status = 'running'
     ORDER BY e.scheduled_for, e.id
"""  # noqa: S608, E501  # fixed texts

_CLAIM_UNCLOSED: Final = f"""
    WITH unclosed AS MATERIALIZED (
        SELECT jobs.id, e.id AS run FROM jobs
          JOIN job_executions AS e ON e.job_id = jobs.id AND e.execution_number = execution_count
         WHERE e.id = ANY($4::text[]) AND e.status = 'running' AND jobs.status = 'running'
           AND e.launched_at <= $1::timestamptz - $2::interval AND lock_token IS NULL
         ORDER BY e.id FOR UPDATE SKIP LOCKED
    ),
    claimed AS (
        UPDATE jobs SET lock_token = $3, lock_acquired_at = $1 FROM unclosed WHERE jobs.id = unclosed.id
     RETURNING jobs.*
    ),
    counted AS (
        UPDATE job_executions AS e SET relaunches = relaunches + 1 FROM unclosed WHERE e.id = unclosed.run
     RETURNING e.*
    )
    SELECT {_LAUNCH} FROM claimed AS jobs JOIN counted AS e ON e.job_id = jobs.id ORDER BY e.id
"""  # noqa: S608  # fixed texts

_MARK_LAUNCHED: Final = """
    WITH released AS (
        UPDATE jobs SET lock_token = NULL, lock_acquired_at = NULL
          FROM job_executions AS e
         WHERE e.id = ANY($1) AND e.job_id = jobs.id AND e.execution_number = execution_count
           AND lock_token = $2
     RETURNING e.id AS execution_id
    )
    UPDATE job_executions SET launched_at = $3 FROM released
     WHERE job_executions.id = released.execution_id AND status = 'running'
 RETURNING job_executions.id
"""

_WERE_MARKED: Final = "SELECT id FROM job_executions WHERE id = ANY($1) AND launched_at = $2"

_BOTH: Final = f"""
    SELECT {_LAUNCH} FROM jobs JOIN job_executions AS e ON jobs.id = e.job_id WHERE e.id = $1 FOR UPDATE
"""  # noqa: S608  # fixed texts

_RUNNING: Final = f"""
    SELECT {listed(EXECUTION_COLUMNS)} FROM job_executions
     WHERE status = 'running' AND launched_at IS NOT NULL AND id > $1 ORDER BY id LIMIT $2
"""  # noqa: S608  # fixed texts


class Claims:
    """Claims, launches and ends executions."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def claim_due(self, *, now_ms: int, limit: int, token: str) -> Sequence[Launch]:
        """Claim due jobs; a repeat after a lost response returns what was claimed then."""
        attempts = 0

        async def claim(connection: Connection) -> Sequence[Launch]:
            nonlocal attempts
            attempts += 1
            if attempts > 1 and (known := await connection.fetch(_CLAIMED_BY, token, time_of(now_ms))):
                return _launches(known)
            return _launches(await connection.fetch(_CLAIM_DUE, time_of(now_ms), limit, token))

        return await self._postgres.run(claim)

    async def claim_unlaunched(
        self, *, now_ms: int, older_than_ms: int, limit: int, token: str
    ) -> Sequence[Launch]:
        """Take over stale locks; a lock of the future, before the clock was set back, is stale too."""
        age = (time_of(older_than_ms) or EPOCH) - EPOCH
        rows = await self._postgres.fetch(_CLAIM_STALE, time_of(now_ms), age, token, limit)
        return _launches(rows)

    async def claim_unclosed(
        self, execution_ids: Sequence[str], *, now_ms: int, older_than_ms: int, token: str
    ) -> Sequence[Launch]:
        """Lock the jobs of launched executions again; one that was launched meanwhile is left out."""
        age = (time_of(older_than_ms) or EPOCH) - EPOCH
        rows = await self._postgres.fetch(_CLAIM_UNCLOSED, time_of(now_ms), age, token, list(execution_ids))
        return _launches(rows)

    async def mark_launched(
        self, execution_ids: Sequence[str], *, token: str, now_ms: int
    ) -> AbstractSet[str]:
        """Release the locks of launched executions; a repeat returns what was marked then."""
        moment = time_of(now_ms)

        async def mark(connection: Connection) -> AbstractSet[str]:
            marked = {
                row["id"] for row in await connection.fetch(_MARK_LAUNCHED, execution_ids, token, moment)
            }
            missing = [each for each in execution_ids if each not in marked]
            known = await connection.fetch(_WERE_MARKED, missing, moment) if missing else ()
            return marked | {row["id"] for row in known}

        return await self._postgres.run(mark)

    async def running(self, *, after: str = "", limit: int = 1000) -> Sequence[JobExecution]:
        """Return launched executions that have not ended."""
        return [execution_of(row) for row in await self._postgres.fetch(_RUNNING, after, limit)]

    async def finish(
        self, execution_id: str, result: ExecutionResult, *, now_ms: int, token: str | None = None
    ) -> Job | None:
        """Store the end of an execution."""

        async def end(connection: Connection) -> Job | None:
            row = await connection.fetchrow(_BOTH, execution_id)
            if row is None:
                return None
            job, execution = job_of(row), execution_of(row, "e_")
            if execution.state is not ExecutionState.RUNNING or (
                token is not None and job.lock_token != token
            ):
                return job
            # Read when the job is locked: a source that is saved later finds the job as it is stored here.
            is_enabled = await is_source_enabled(connection, job.source_id)
            await save_execution(connection, _ended(execution, result, now_ms))
            ended = finish_job(job, result, now_ms=now_ms, is_source_enabled=is_enabled)
            return await save_job(connection, ended, now_ms=now_ms)

        return await self._postgres.run(end)


def _launches(rows: Sequence[Row]) -> list[Launch]:
    return [Launch(job_of(row), execution_of(row, "e_")) for row in rows]


def _ended(execution: JobExecution, result: ExecutionResult, now_ms: int) -> JobExecution:
    own = result.duration_ms
    return replace(
        execution,
        state=result.outcome,
        completed_at_ms=now_ms,
        duration_ms=max(0, now_ms - execution.started_at_ms) if own is None else own,
        items_crawled=result.items_crawled,
        items_indexed=result.items_indexed,
        bytes_fetched=result.bytes_fetched,
        error_message=result.error_message,
        stack_trace=result.stack_trace,
        cpu_time_ms=result.cpu_time_ms,
        memory_peak_mb=result.memory_peak_mb,
        counts=result.counts,
        metadata={**execution.metadata, **result.metadata},
    )
