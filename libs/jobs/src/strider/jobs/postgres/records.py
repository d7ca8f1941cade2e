"""Single jobs and executions: read, lock, insert and save rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from strider.jobs.errors import DuplicateJob, UnknownJob
from strider.jobs.models import Job, JobExecution
from strider.storage.postgres import Connection

from .rows import (
    EXECUTION_COLUMNS,
    JOB_COLUMNS,
    execution_values,
    job_of,
    job_values,
    listed,
    placeholders,
    storable,
)

_JOB_NAMES: Final = [*JOB_COLUMNS, "slot"]
_JOB_KINDS: Final = [*(kind for _, kind in JOB_COLUMNS.values()), "smallint"]
_EXECUTION_KINDS: Final = [kind for _, kind in EXECUTION_COLUMNS.values()]

GET_JOB: Final = f"SELECT {listed(JOB_COLUMNS)} FROM jobs WHERE id = $1"  # noqa: S608  # fixed texts
_SAME_NAME: Final = "SELECT 1 FROM jobs WHERE name = $1 AND name <> '' AND id <> $2"
_INSERT_JOB: Final = (
    f"INSERT INTO jobs ({', '.join(_JOB_NAMES)}) VALUES ({', '.join(placeholders(_JOB_KINDS))}) "  # noqa: S608
    "ON CONFLICT DO NOTHING"
)
_SAVE_JOB: Final = (
    f"UPDATE jobs SET ({', '.join(_JOB_NAMES[1:])}) = ROW({', '.join(placeholders(_JOB_KINDS)[1:])}) "  # noqa: S608
    "WHERE id = $1"
)
_SAVE_EXECUTION: Final = (
    f"UPDATE job_executions SET ({', '.join([*EXECUTION_COLUMNS][1:])}) "  # noqa: S608  # fixed texts
    f"= ROW({', '.join(placeholders(_EXECUTION_KINDS)[1:])}) WHERE id = $1"
)


async def lock_job(connection: Connection, job_id: str) -> Job:
    """Return a job, locked until the transaction ends; UnknownJob where there is none."""
    row = await connection.fetchrow(f"{GET_JOB} FOR UPDATE", storable(job_id))
    if row is None:
        raise UnknownJob(job_id)
    return job_of(row)


async def insert_job(connection: Connection, job: Job) -> bool:
    """Insert a job; False where its id or its name is taken."""
    done = await connection.execute(_INSERT_JOB, *job_values(job))
    return not done.endswith(" 0")


async def save_job(connection: Connection, job: Job, *, now_ms: int) -> Job:
    """Write a job that is locked; its name must be its own."""
    saved = replace(job, updated_at_ms=now_ms)
    await connection.execute(_SAVE_JOB, *job_values(saved))
    return saved


async def refuse_taken_name(connection: Connection, job: Job) -> None:
    """Raise DuplicateJob where another job has this name."""
    if await connection.fetchval(_SAME_NAME, job.name, job.job_id):
        raise DuplicateJob("name", job.name)


async def save_execution(connection: Connection, execution: JobExecution) -> None:
    """Write an execution whose job is locked."""
    await connection.execute(_SAVE_EXECUTION, *execution_values(execution))
