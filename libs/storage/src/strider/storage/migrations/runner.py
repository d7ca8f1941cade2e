"""Execution of migrations on a database.

One at a time: an advisory lock makes a second runner wait, and then find nothing to do. Each step is a
transaction, so that a failed step is undone and leaves the ones before it applied.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

import asyncpg

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.clocks import SystemClock
from strider.storage.errors import MigrationFailed, StoreRejected
from strider.storage.postgres import connect_once, translate_errors

from .plan import (
    BASE,
    HEAD,
    MigrationPlan,
    MigrationRevision,
    down_plan,
    revision_position,
    revisions,
    up_plan,
)

LOCK_KEY: Final = 7_236_884_120_518
"""Key of the advisory lock: arbitrary, the same in every version."""

LOCK_WAIT_SECONDS: Final = 60.0
_LOCK_POLL_SECONDS: Final = 0.2

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """Applied and pending revisions of a database."""

    current: str
    done: tuple[MigrationRevision, ...]
    pending: tuple[MigrationRevision, ...]

    @property
    def is_current(self) -> bool:
        """Whether nothing is pending."""
        return not self.pending


async def upgrade(dsn: str, revision: str = HEAD, *, clock: Clock | None = None) -> MigrationPlan:
    """Upgrade the tables to the newest or the named revision; return what was run."""
    async with _locked(dsn, clock or SystemClock()) as connection:
        plan = up_plan(await _current(connection), revision)
        await _run(connection, plan)
        return plan


async def downgrade(
    dsn: str, *, steps: int = 1, revision: str | None = None, clock: Clock | None = None
) -> MigrationPlan:
    """Downgrade by a number of steps, or to a revision; return what was run. Their rows are lost."""
    async with _locked(dsn, clock or SystemClock()) as connection:
        plan = down_plan(await _current(connection), steps=steps, target=revision)
        await _run(connection, plan)
        return plan


async def status(dsn: str) -> DatabaseStatus:
    """Return which revisions are applied to a database."""
    async with _connected(dsn) as connection:
        current = await _current(connection)
    line = revisions()
    done = revision_position(line, current)
    return DatabaseStatus(current, line[:done], line[done:])


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[Connection]:
    connection = await connect_once(dsn, application="strider-migrate")
    try:
        async with translate_errors():
            yield connection
    finally:
        # A broken connection cannot be closed in order.
        with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            await connection.close(timeout=2)


@asynccontextmanager
async def _locked(dsn: str, clock: Clock) -> AsyncIterator[Connection]:
    async with _connected(dsn) as connection:
        end = clock.monotonic() + LOCK_WAIT_SECONDS
        while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", LOCK_KEY):
            if clock.monotonic() >= end:
                raise Unavailable(
                    "postgres", f"another migration has been running for {LOCK_WAIT_SECONDS:.0f} s"
                )
            await clock.sleep(_LOCK_POLL_SECONDS)
        # The lock ends with the session, so that no crash can leave it behind.
        yield connection


async def _current(connection: Connection) -> str:
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return BASE
    rows = await connection.fetch("SELECT version_num FROM alembic_version")
    if len(rows) > 1:
        raise MigrationFailed("the table alembic_version has more than one row; it was changed by hand")
    return str(rows[0]["version_num"]) if rows else BASE


async def _run(connection: Connection, plan: MigrationPlan) -> None:
    if not plan.steps:
        return
    try:
        async with translate_errors():
            await connection.execute(plan.sql)
    except (StoreRejected, Unavailable) as failure:
        at = await _rollback(connection)
        raise _migration_error(failure, at=at) from failure


async def _rollback(connection: Connection) -> str:
    """Leave the failed step's transaction and return the revision that was reached."""
    try:
        await connection.execute("ROLLBACK")
        return await _current(connection)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return "unknown"


def _migration_error(failure: StoreRejected | Unavailable, *, at: str) -> Exception:
    if isinstance(failure, Unavailable):
        return failure
    return MigrationFailed(f"a step was refused ({failure.code}): {failure.detail}; the database is at {at}")
