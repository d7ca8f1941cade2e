"""Jobs as people see them: created, listed, changed, deleted, paused, resumed, cancelled."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final

from strider.contracts.generated.enums import JobState
from strider.jobs.errors import DuplicateJob, IllegalTransition, InvalidJobField, UnfinishedRun, UnknownJob
from strider.jobs.lifecycle import act_on, change_job, create_job, follow_source
from strider.jobs.models import Job, JobChange, JobPage, JobQuery, NewJob
from strider.jobs.states import ACTIONS, JobAction, allowed_actions
from strider.jobs.validation import check_change, check_limit, check_new_job
from strider.storage.errors import StoreRejected
from strider.storage.postgres import Connection, Postgres

from .balance import read_loads
from .records import GET_JOB, insert_job, lock_job, refuse_taken_name, save_job
from .rows import JOB_COLUMNS, job_of, listed, milliseconds_of, storable, time_of
from .source_states import is_source_enabled

_UNIQUE: Final = "23505"
_LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999."""

_PAGE: Final = f"SELECT {listed(JOB_COLUMNS)} FROM jobs"  # noqa: S608  # fixed texts
_NEWEST: Final = " ORDER BY created_at DESC, id DESC LIMIT $1"

_UNFINISHED: Final = "SELECT id FROM job_executions WHERE job_id = $1 AND status = 'running' LIMIT 1"

_REQUEST_CANCEL: Final = """
    UPDATE job_executions SET cancel_requested_at = coalesce(cancel_requested_at, $2)
     WHERE job_id = $1 AND status = 'running'
"""

_DELETE: Final = """
    WITH deleted AS (DELETE FROM jobs WHERE id = $1 RETURNING id, execution_count)
    INSERT INTO deleted_jobs (job_id, execution_count, deleted_at)
    SELECT id, execution_count, $2 FROM deleted WHERE execution_count > 0
    ON CONFLICT (job_id) DO UPDATE
       SET execution_count = greatest(deleted_jobs.execution_count, excluded.execution_count),
           deleted_at = excluded.deleted_at
"""

_USED_NUMBERS: Final = "SELECT execution_count FROM deleted_jobs WHERE job_id = $1"

_CONTENT: Final = ("job_id", *JobChange.__annotations__)


class Catalog:
    """Creates, lists, changes and deletes jobs."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def now_ms(self) -> int:
        """Return the time of PostgreSQL's clock."""
        rows = await self._postgres.fetch("SELECT clock_timestamp()")
        return milliseconds_of(rows[0][0]) or 0

    async def create(self, job: NewJob, *, now_ms: int) -> Job:
        """Store a new job; a repeat with the same id and content returns the stored one."""
        new = check_new_job(job)
        job_id = new.job_id or uuid.uuid4().hex

        async def insert(connection: Connection) -> Job:
            loads = await read_loads(connection)
            used = await connection.fetchval(_USED_NUMBERS, job_id) or 0
            made = replace(create_job(new, job_id, loads=loads, now_ms=now_ms), execution_count=used)
            if await insert_job(connection, made):
                return made
            stored = await connection.fetchrow(GET_JOB, job_id)
            if stored is None:
                raise DuplicateJob("name", new.name)
            known = job_of(stored)
            if any(getattr(known, field) != getattr(made, field) for field in _CONTENT):
                raise DuplicateJob("id", job_id)
            return known

        return await self._postgres.run(insert)

    async def get(self, job_id: str) -> Job | None:
        """Return a job."""
        rows = await self._postgres.fetch(GET_JOB, storable(job_id))
        return job_of(rows[0]) if rows else None

    async def find(self, query: JobQuery) -> JobPage:
        """Return jobs, the newest first."""
        limit = check_limit(query.limit)
        conditions, values = [], list[Any]()
        if query.state is not None:
            values.append(query.state)
            conditions.append(f"status = ${len(values) + 1}")
        if query.source_id is not None:
            values.append(storable(query.source_id))
            conditions.append(f"source_id = ${len(values) + 1}")
        if query.name is not None:
            values.append(storable(query.name))
            conditions.append(f"name = ${len(values) + 1}")
        if query.id_prefix:
            values.append(storable(query.id_prefix))
            conditions.append(f"starts_with(id, ${len(values) + 1})")
        if query.cursor:
            created_ms, job_id = _parse_cursor(query.cursor)
            values += [time_of(created_ms), job_id]
            conditions.append(f"(created_at, id) < (${len(values)}, ${len(values) + 1})")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        rows = await self._postgres.fetch(_PAGE + where + _NEWEST, limit + 1, *values)
        jobs = tuple(job_of(row) for row in rows[:limit])
        return JobPage(jobs, f"{jobs[-1].created_at_ms}.{jobs[-1].job_id}" if len(rows) > limit else "")

    async def change(self, job_id: str, change: JobChange, *, version: int | None, now_ms: int) -> Job:
        """Change settings of a job."""
        checked = check_change(change)

        attempts = count(1)

        async def save(connection: Connection) -> Job:
            is_repeat = next(attempts) > 1
            job = await lock_job(connection, job_id)
            if is_repeat and job.updated_at_ms == now_ms and _has(job, checked):
                return job  # the first attempt was committed, its response was lost
            job.check_version(version)
            loads = await read_loads(connection)
            changed = change_job(job, checked, loads=loads, now_ms=now_ms)
            await refuse_taken_name(connection, changed)
            if "source_id" in checked:
                changed = await _with_source(connection, changed, loads=loads, now_ms=now_ms)
            return await save_job(connection, changed, now_ms=now_ms)

        try:
            return await self._postgres.run(save)
        except StoreRejected as refused:
            if refused.code != _UNIQUE:
                raise
            raise DuplicateJob("name", checked.get("name", "")) from refused  # taken meanwhile

    async def delete(self, job_id: str, *, now_ms: int) -> bool:
        """Delete a job with its executions, and keep the count of these; return whether there was one."""
        attempts = count(1)

        async def remove(connection: Connection) -> bool:
            is_repeat = next(attempts) > 1
            try:
                job = await lock_job(connection, job_id)
            except UnknownJob:
                return is_repeat  # the first attempt was committed, its response was lost
            if job.state is JobState.RUNNING:
                raise IllegalTransition(job_id, job.state, "be deleted", allowed=allowed_actions(job.state))
            if unfinished := await connection.fetchval(_UNFINISHED, job_id):
                raise UnfinishedRun(job_id, unfinished)
            await connection.execute(_DELETE, job_id, time_of(now_ms))
            return True

        return await self._postgres.run(remove)

    async def act(self, job_id: str, action: JobAction, *, now_ms: int) -> Job:
        """Apply an action; one that cancels a running job marks its execution."""
        attempts = count(1)

        async def apply(connection: Connection) -> Job:
            is_repeat = next(attempts) > 1
            job = await lock_job(connection, job_id)
            if is_repeat and (job.updated_at_ms, job.state) == (now_ms, ACTIONS[action][1]):
                return job  # the first attempt was committed, its response was lost
            loads = await read_loads(connection) if action is JobAction.RESUME else ()
            changed = act_on(job, action, loads=loads, now_ms=now_ms)
            if action is JobAction.CANCEL:
                await connection.execute(_REQUEST_CANCEL, job_id, time_of(now_ms))
            return await save_job(connection, changed, now_ms=now_ms)

        return await self._postgres.run(apply)


async def _with_source(connection: Connection, job: Job, *, loads: Sequence[float], now_ms: int) -> Job:
    """Return a job of another source as it is with that one."""
    is_enabled = await is_source_enabled(connection, job.source_id)
    if is_enabled is None:  # it may run: its execution says what is wrong
        is_enabled = True
    return follow_source(job, is_enabled=is_enabled, loads=loads, now_ms=now_ms)


def _has(job: Job, change: JobChange) -> bool:
    return all(getattr(job, field) == value for field, value in change.items())


def _parse_cursor(cursor: str) -> tuple[int, str]:
    created, _, job_id = cursor.partition(".")
    if not (created.isascii() and created.isdigit() and len(created) <= len(str(_LAST_MS)) and job_id):
        raise InvalidJobField("cursor", "it is not the `next` of a page")
    if (created_ms := int(created)) > _LAST_MS or "\x00" in job_id:
        raise InvalidJobField("cursor", "it is not the `next` of a page")
    return created_ms, job_id
