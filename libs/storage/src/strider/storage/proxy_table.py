"""The table `proxies`: addresses, encrypted credentials and results.

Passwords are encrypted before they arrive here. Results are stored as processes counted them: the last writer
wins, which is as good as any order. A proxy that a person disabled stays so.
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
    """A row of the table. Times are in seconds since 1970; 0 for never."""

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
       SET is_active = reported.is_active,
           disabled_at = CASE WHEN reported.is_active THEN NULL ELSE coalesce(known.disabled_at, now()) END,
           success_count = known.success_count + reported.successes,
           failure_count = reported.failure_count,
           avg_response_time_ms = CASE WHEN reported.successes > 0 THEN reported.average_ms
                                       ELSE known.avg_response_time_ms END,
           last_used_at = greatest(known.last_used_at, reported.last_used_at),
           last_success_at = greatest(known.last_success_at, reported.last_success_at),
           last_failure_at = greatest(known.last_failure_at, reported.last_failure_at)
      FROM unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::boolean[], $6::bigint[],
                  $7::integer[], $8::double precision[], $9::timestamptz[], $10::timestamptz[],
                  $11::timestamptz[])
        AS reported(protocol, url, port, username, is_active, successes, failure_count, average_ms,
                last_used_at, last_success_at, last_failure_at)
     WHERE (known.protocol, known.url, known.port, known.username)
           = (reported.protocol, reported.url, reported.port, reported.username)
       AND (known.is_active OR known.disabled_at IS NOT NULL)
"""


class ProxyTable:
    """Reads and writes proxies and their results."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def load(self) -> list[ProxyRow]:
        """Return the proxies that are or may become active; least recently used first."""
        return [_row(record) for record in await self._postgres.fetch(_READ)]

    async def add(self, row: ProxyRow) -> None:
        """Add a proxy, or activate it again with the given credentials."""
        values = (row.protocol, row.host, row.port, row.username, row.encrypted_password)
        await self._postgres.run(lambda connection: connection.execute(_ADD, *values))

    async def remove(self, row: ProxyRow) -> bool:
        """Delete a proxy; return whether there was one."""
        values = (row.protocol, row.host, row.port, row.username)
        done = await self._postgres.run(lambda connection: connection.execute(_REMOVE, *values))
        return not done.endswith(" 0")

    async def record_results(self, rows: Iterable[ProxyRow]) -> None:
        """Store results of proxies; their successes are those since the last call."""
        reported = list(rows)
        if not reported:
            return
        columns = (
            [row.protocol for row in reported],
            [row.host for row in reported],
            [row.port for row in reported],
            [row.username for row in reported],
            [row.is_active for row in reported],
            [row.success_count for row in reported],
            [row.failure_count for row in reported],
            [row.average_ms for row in reported],
            [_datetime(row.last_used_at) for row in reported],
            [_datetime(row.last_success_at) for row in reported],
            [_datetime(row.last_failure_at) for row in reported],
        )
        await self._postgres.run(lambda connection: connection.execute(_RECORD, *columns))


def _row(record: asyncpg.Record) -> ProxyRow:
    *reported, used, good, bad = record
    return ProxyRow(*reported, *map(_seconds, (used, good, bad)))


def _datetime(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _seconds(moment: datetime | None) -> float:
    return 0.0 if moment is None else moment.timestamp()
