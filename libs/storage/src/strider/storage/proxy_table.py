"""The table of proxies: who they are, and how well they do.

Passwords are sealed before they get here. What processes report is taken as they counted it: the last
one to speak wins, which is as good as any order. Who was put out of use by a person stays so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import asyncpg

from .postgres import Postgres


@dataclass(frozen=True, slots=True)
class ProxyRow:
    """A proxy as the table has it. Times are in seconds since 1970; 0 for never."""

    protocol: str
    host: str
    port: int
    username: str = ""
    encrypted_password: str = field(default="", repr=False)
    is_active: bool = True
    success_count: int = 0
    failure_count: int = 0
    average_ms: float = 0.0
    last_used_at: float = 0.0
    last_success_at: float = 0.0
    last_failure_at: float = 0.0


_READ: Final = """
    SELECT protocol, url, port, username, password_sealed, is_active, success_count, failure_count,
           avg_response_time_ms, last_used_at, last_success_at, last_failure_at
      FROM proxies WHERE is_active OR disabled_at IS NOT NULL
     ORDER BY last_used_at NULLS FIRST, id
"""

_ADD: Final = """
    INSERT INTO proxies (protocol, url, port, username, password_sealed) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (protocol, url, port, username)
    DO UPDATE SET password_sealed = excluded.password_sealed, is_active = true, disabled_at = NULL,
                  failure_count = 0
"""

_REMOVE: Final = "DELETE FROM proxies WHERE protocol = $1 AND url = $2 AND port = $3 AND username = $4"

_RECORD: Final = """
    UPDATE proxies AS known
       SET is_active = told.is_active,
           disabled_at = CASE WHEN told.is_active THEN NULL ELSE coalesce(known.disabled_at, now()) END,
           success_count = known.success_count + told.successes,
           failure_count = told.failure_count,
           avg_response_time_ms = CASE WHEN told.successes > 0 THEN told.average_ms
                                       ELSE known.avg_response_time_ms END,
           last_used_at = greatest(known.last_used_at, told.last_used_at),
           last_success_at = greatest(known.last_success_at, told.last_success_at),
           last_failure_at = greatest(known.last_failure_at, told.last_failure_at)
      FROM unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::boolean[], $6::bigint[],
                  $7::integer[], $8::double precision[], $9::timestamptz[], $10::timestamptz[],
                  $11::timestamptz[])
        AS told(protocol, url, port, username, is_active, successes, failure_count, average_ms,
                last_used_at, last_success_at, last_failure_at)
     WHERE (known.protocol, known.url, known.port, known.username)
           = (told.protocol, told.url, told.port, told.username)
       AND (known.is_active OR known.disabled_at IS NOT NULL)
"""


class ProxyTable:
    """Reads proxies, writes them, and takes what became of them."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def load(self) -> list[ProxyRow]:
        """Give those that may be used, or may be again; the one that was used longest ago first."""
        return [_row(record) for record in await self._postgres.fetch(_READ)]

    async def add(self, row: ProxyRow) -> None:
        """Add a proxy, or put it back into use with the account that is given."""
        values = (row.protocol, row.host, row.port, row.username, row.encrypted_password)
        await self._postgres.run(lambda connection: connection.execute(_ADD, *values))

    async def remove(self, row: ProxyRow) -> bool:
        """Take a proxy away; says whether there was one."""
        values = (row.protocol, row.host, row.port, row.username)
        done = await self._postgres.run(lambda connection: connection.execute(_REMOVE, *values))
        return not done.endswith(" 0")

    async def record_results(self, rows: Iterable[ProxyRow]) -> None:
        """Take what became of some proxies; their successes are those since the last time."""
        told = list(rows)
        if not told:
            return
        columns = (
            [row.protocol for row in told],
            [row.host for row in told],
            [row.port for row in told],
            [row.username for row in told],
            [row.is_active for row in told],
            [row.success_count for row in told],
            [row.failure_count for row in told],
            [row.average_ms for row in told],
            [_moment(row.last_used_at) for row in told],
            [_moment(row.last_success_at) for row in told],
            [_moment(row.last_failure_at) for row in told],
        )
        await self._postgres.run(lambda connection: connection.execute(_RECORD, *columns))


def _row(record: asyncpg.Record) -> ProxyRow:
    *told, used, good, bad = record
    return ProxyRow(*told, *map(_seconds, (used, good, bad)))


def _moment(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _seconds(moment: datetime | None) -> float:
    return 0.0 if moment is None else moment.timestamp()
