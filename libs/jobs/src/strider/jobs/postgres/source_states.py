"""Jobs follow their source: paused while it is disabled, resumed with it.

The lock of a job decides: a source that is saved changes its jobs in the same transaction, and the end of an
execution reads the source once the job is locked. So whichever comes second sees the other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from strider.jobs.lifecycle import follow_source
from strider.jobs.models import Job
from strider.storage.postgres import Connection, Postgres

from .balance import read_loads
from .records import save_job
from .rows import JOB_COLUMNS, job_of, listed, storable

_IS_ENABLED: Final = "SELECT enabled FROM sources WHERE source_id = $1 AND deleted_at IS NULL"

_OF_SOURCE: Final = f"""
    SELECT {listed(JOB_COLUMNS)} FROM jobs
     WHERE source_id = $1 AND status IN ('pending', 'scheduled', 'running', 'paused') ORDER BY id FOR UPDATE
"""  # noqa: S608  # fixed texts
"""Running ones, too: one whose end is being stored may be paused or scheduled once its lock is free."""


async def is_source_enabled(connection: Connection, source_id: str) -> bool | None:
    """Return whether a source is enabled; None where there is none."""
    if not source_id:
        return None
    found: bool | None = await connection.fetchval(_IS_ENABLED, source_id)
    return found


async def follow_enabled(
    connection: Connection, source_id: str, *, is_enabled: bool, now_ms: int
) -> list[Job]:
    """Pause or resume the jobs of a source; return those that were changed."""
    rows = await connection.fetch(_OF_SOURCE, source_id)
    loads = await read_loads(connection) if rows and is_enabled else ()
    changed: list[Job] = []
    for job in map(job_of, rows):
        followed = follow_source(job, is_enabled=is_enabled, loads=loads, now_ms=now_ms)
        if followed is not job:
            changed.append(await save_job(connection, followed, now_ms=now_ms))
    return changed


class SourceStates:
    """Pauses and resumes the jobs of a source."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def follow_source(self, source_id: str, *, now_ms: int) -> Sequence[Job]:
        """Pause the jobs of a disabled source, resume those of an enabled one; return the changed ones."""

        async def follow(connection: Connection) -> Sequence[Job]:
            # Locked: its change would otherwise be overtaken by what follows from its state before.
            name = storable(source_id)
            is_enabled = await connection.fetchval(f"{_IS_ENABLED} FOR SHARE", name)
            if is_enabled is None:
                return ()
            return await follow_enabled(connection, name, is_enabled=is_enabled, now_ms=now_ms)

        return await self._postgres.run(follow)
