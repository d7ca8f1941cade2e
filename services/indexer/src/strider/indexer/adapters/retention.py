"""Delete rows that are older than the settings keep them, in small transactions.

Each pass of each instance deletes the oldest rows of a table in batches until none is too old; rows that
another transaction has locked are left to the next pass. A repeat, or a crash in the middle, changes nothing
else. Rows of `urls` and `hosts` are deleted by the tombstones of their topics instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from strider.indexer import log_events
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.storage.postgres import Connection, Postgres

BATCH_ROWS: Final = 2_000
"""Rows deleted in one transaction: some tens of milliseconds."""

PAUSE_SECONDS: Final = 0.1
"""Pause between two batches, so that writing rows is hardly slowed down."""

_log = logger("indexer")


@dataclass(frozen=True, slots=True)
class TableRetention:
    """Retention of one table."""

    table: str
    time_column: str
    """Indexed; when what the row shows happened last."""
    days: int
    """0: for ever."""
    before: str = ""
    """Statement that deletes what belongs to the rows; `gone` are their columns."""

    @property
    def statement(self) -> str:
        """SQL that deletes one batch of rows older than $1, $2 at most, and returns how many it were."""
        also = f", others AS ({self.before})" if self.before else ""
        return (
            f"WITH gone AS (DELETE FROM {self.table} WHERE ctid = ANY(ARRAY("  # noqa: S608  # no foreign text
            f"SELECT ctid FROM {self.table} WHERE {self.time_column} < $1 "
            f"ORDER BY {self.time_column} LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING *){also} "
            "SELECT count(*) AS deleted FROM gone"
        )


async def repeat_passes(
    run_once: Callable[[], Awaitable[int]], *, clock: Clock, interval_seconds: float
) -> None:
    """Run passes at intervals until cancelled; what a pass cannot delete now is left to the next one."""
    while True:
        await clock.sleep(interval_seconds)
        try:
            await run_once()
        except Unavailable as failure:
            _log.emit(log_events.OLD_DATA_KEPT, why=str(failure))


PRODUCTS_OF_PAGES: Final = (
    "DELETE FROM products USING gone WHERE products.page_key = gone.url_key AND products.job_id = gone.job_id"
)


class RowRetentionLoop:
    """Deletes old rows at intervals, as long as the service runs."""

    def __init__(
        self,
        postgres: Postgres,
        tables: Sequence[TableRetention],
        *,
        clock: Clock,
        interval_seconds: float,
        on_deleted: Callable[[], None],
    ) -> None:
        """Create the loop; `on_deleted` is called after each pass that deleted anything."""
        self._postgres = postgres
        self._tables = [each for each in tables if each.days]
        self._clock = clock
        self._interval_seconds = interval_seconds
        self._on_deleted = on_deleted

    async def run(self) -> None:
        """Run passes until cancelled."""
        if self._tables:
            await repeat_passes(self.run_once, clock=self._clock, interval_seconds=self._interval_seconds)

    async def run_once(self) -> int:
        """Delete all rows that are too old; return how many. Raises Unavailable."""
        total = 0
        for each in self._tables:
            deleted = await self._delete_old(each)
            total += deleted
            if deleted:
                _log.emit(log_events.OLD_DATA_DELETED, table=each.table, rows=deleted, days=each.days)
        if total:
            self._on_deleted()
        return total

    async def _delete_old(self, retention: TableRetention) -> int:
        before = self._clock.now() - timedelta(days=retention.days)

        async def delete_batch(connection: Connection) -> int:
            return int(await connection.fetchval(retention.statement, before, BATCH_ROWS))

        deleted = 0
        while count := await self._postgres.run(delete_batch):
            deleted += count
            if count < BATCH_ROWS:
                break
            await self._clock.sleep(PAUSE_SECONDS)
        return deleted
