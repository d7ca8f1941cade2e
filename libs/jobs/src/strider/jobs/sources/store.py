"""The record of sources in PostgreSQL, table `sources`.

Fields that are searched are columns; the others are in `settings`, as JSON. A removed source keeps its row,
so that its id is never given twice and no older record of it counts again.

A source that is enabled or disabled resumes or pauses its jobs in the same transaction, also where a
command or a source-manager has changed it.

What is not published yet is published under a lock of the database, which one process has at a time: two
processes cannot exchange the order of two versions. A process that was stopped between may still publish an
older version late: then it publishes the current one again, or `republish_differing` finds it at the next
start of a process.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from strider.contracts.generated.events import SourceSaved
from strider.jobs.postgres.source_states import follow_enabled
from strider.storage.errors import StoreRejected
from strider.storage.postgres import Connection, Postgres

from .models import DuplicateSource, SourceHasJobs, SourceQuery, StaleSource, UnknownSource

MAX_PUBLISHED: Final = 100
"""Sources in one transaction of the publication."""

_UNIQUE_VIOLATION: Final = "23505"

_ADD: Final = """
    INSERT INTO sources (source_id, name, url, enabled, settings, version, created_at, updated_at, updated_by,
                         published_version)
    VALUES ($1, $2, $3, $4, $5::jsonb, $6, $7, $8, $9, $10)
    ON CONFLICT (source_id) DO NOTHING
    RETURNING *
"""
_GET: Final = "SELECT * FROM sources WHERE source_id = $1"
_NAMED: Final = "SELECT * FROM sources WHERE name = $1 AND deleted_at IS NULL"
_LOCK: Final = "SELECT * FROM sources WHERE source_id = $1 FOR UPDATE"
_FIND: Final = """
    SELECT * FROM sources
     WHERE deleted_at IS NULL
       AND ($1::boolean IS NULL OR enabled = $1)
       AND ($2 = '' OR strpos(lower(name), lower($2)) > 0)
       AND ($3::timestamptz IS NULL OR (created_at, source_id) < ($3, $4))
     ORDER BY created_at DESC, source_id DESC
     LIMIT $5
"""
_SAVE: Final = """
    UPDATE sources
       SET name = $2, url = $3, enabled = $4, settings = $5::jsonb, version = $6, updated_at = $7,
           updated_by = $8
     WHERE source_id = $1
"""
_JOBS: Final = "SELECT count(*) FROM jobs WHERE source_id = $1"
_REMOVE: Final = "UPDATE sources SET deleted_at = now(), version = version + 1 WHERE source_id = $1"
_PENDING: Final = """
    SELECT * FROM sources
     WHERE published_version < version OR source_id = ANY($1::text[])
     ORDER BY source_id LIMIT $2
"""
_PUBLISHED: Final = """
    UPDATE sources SET published_version = published.version
      FROM unnest($1::text[], $2::bigint[]) AS published(source_id, version)
     WHERE sources.source_id = published.source_id
"""
_LOCK_PUBLICATION: Final = "SELECT pg_try_advisory_xact_lock($1)"
_PUBLICATION: Final = 0x53_6F_75_72_63_65_73
"""Number of the lock."""
_DIFFERING: Final = """
    UPDATE sources SET published_version = 0
      FROM (SELECT known.source_id, published.version
              FROM sources AS known
              LEFT JOIN unnest($1::text[], $2::bigint[]) AS published(source_id, version) USING (source_id)
             WHERE known.published_version = known.version) AS found
     WHERE sources.source_id = found.source_id
       AND CASE WHEN sources.deleted_at IS NULL THEN coalesce(found.version, 0) <> sources.version
                ELSE found.version IS NOT NULL END
"""

Record = Any
"""A row of the table."""

PublishSources = Callable[[Sequence["SourceChange"]], Awaitable[None]]
"""Publishes sources; returns when all are acknowledged."""


@dataclass(frozen=True, slots=True)
class SourceChange:
    """The latest state of a source, as the topic must have it."""

    source_id: str
    source: SourceSaved | None
    """None where it was removed."""


class PostgresSourceStore:
    """Reads and writes the table."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._uncertain: set[str] = set()
        """Sources whose publication may have arrived late, behind a newer one."""

    async def add(self, source: SourceSaved) -> SourceSaved:
        """Store a new source; a repeat with the same id and content returns the stored one."""
        first = replace(source, version=1)

        async def work(connection: Connection) -> SourceSaved:
            row = await connection.fetchrow(_ADD, *_values(first, published=0))
            stored = _one([row or await connection.fetchrow(_GET, first.source_id)])
            if stored is None or replace(stored, version=1) != first:
                raise DuplicateSource("id", first.source_id)
            return stored

        return await self._unique(first.name, work)

    async def get(self, source_id: str) -> SourceSaved | None:
        """Return a source."""
        return _one(await self._postgres.fetch(_GET, source_id))

    async def named(self, name: str) -> SourceSaved | None:
        """Return the source of this name."""
        return _one(await self._postgres.fetch(_NAMED, name))

    async def find(self, query: SourceQuery) -> Sequence[SourceSaved]:
        """Return sources, the newest first."""
        at_ms, key = query.after or (None, "")
        at = None if at_ms is None else _datetime(at_ms)
        rows = await self._postgres.fetch(_FIND, query.enabled, query.name, at, key, query.limit)
        return [_source(row) for row in rows]

    async def save(self, source: SourceSaved, *, version: int) -> SourceSaved:
        """Store a changed source as the next version, if this one is current."""
        changed = replace(source, version=version + 1)

        async def work(connection: Connection) -> SourceSaved:
            stored = _present(await connection.fetchrow(_LOCK, source.source_id), source.source_id)
            if stored == changed:  # a repeat, whose first response was lost
                return stored
            if stored.version != version:
                raise StaleSource(source.source_id, given=version, current=stored.version)
            if _settings(stored) == _settings(changed):
                return stored
            await connection.execute(
                _SAVE,
                *_identity(changed),
                _json(changed),
                changed.version,
                _datetime(changed.updated_at_ms),
                changed.updated_by,
            )
            if changed.enabled != stored.enabled:
                await _follow(changed, connection)
            return changed

        return await self._unique(source.name, work)

    async def remove(self, source_id: str, *, version: int | None, is_forced: bool) -> None:
        """Remove a source; one with jobs only where it is forced."""
        attempts = 0

        async def work(connection: Connection) -> None:
            nonlocal attempts
            attempts += 1
            row = await connection.fetchrow(_LOCK, source_id)
            if row is not None and row["deleted_at"] is not None and attempts > 1:
                return  # a repeat, whose first response was lost
            stored = _present(row, source_id)
            if version is not None and stored.version != version:
                raise StaleSource(source_id, given=version, current=stored.version)
            if not is_forced and (jobs := await connection.fetchval(_JOBS, source_id)):
                raise SourceHasJobs(source_id, jobs)
            await connection.execute(_REMOVE, source_id)

        await self._postgres.run(work)

    async def publish_pending(self, publish: PublishSources, *, limit: int = MAX_PUBLISHED) -> int:
        """Publish sources that changed since they were published; return how many, at most `limit`.

        0 also while another process publishes.
        """
        handled: dict[str, int] = {}

        async def work(connection: Connection) -> int:
            handled.clear()
            if not await connection.fetchval(_LOCK_PUBLICATION, _PUBLICATION):
                return 0
            rows = await connection.fetch(_PENDING, sorted(self._uncertain), limit)
            if not rows:
                return 0
            handled.update((row["source_id"], row["version"]) for row in rows)
            self._uncertain |= handled.keys()
            await publish([_change(row) for row in rows])
            await connection.execute(_PUBLISHED, list(handled), list(handled.values()))
            return len(rows)

        count = await self._postgres.run(work)
        self._uncertain -= handled.keys()
        return count

    async def republish_differing(self, published: Mapping[str, int]) -> int:
        """Mark sources for publication that the topic has not, or in another version; return how many.

        `published` are the versions that the topic has, by id.
        """
        names, versions = list(published), list(published.values())
        done = await self._postgres.run(lambda connection: connection.execute(_DIFFERING, names, versions))
        return int(done.rpartition(" ")[2])

    async def adopt(self, sources: Iterable[SourceSaved]) -> list[SourceSaved]:
        """Store sources that the topic has and the table never had; return those that were stored.

        So sources from before the table, or from before its loss, are kept. One whose name another source has
        is left out.
        """
        adopted = []
        for source in sources:
            values = _values(replace(source, version=max(1, source.version)), published=source.version)
            try:
                rows = await self._postgres.fetch(_ADD, *values)
            except StoreRejected as refusal:
                if refusal.code != _UNIQUE_VIOLATION:
                    raise
                continue
            adopted += [_source(row) for row in rows]
        for source in adopted:
            await self._postgres.run(partial(_follow, source))
        return adopted

    async def _unique(self, name: str, work: Callable[[Connection], Awaitable[SourceSaved]]) -> SourceSaved:
        try:
            return await self._postgres.run(work)
        except StoreRejected as refusal:
            if refusal.code == _UNIQUE_VIOLATION:
                raise DuplicateSource("name", name) from refusal
            raise


_COLUMNS: Final = frozenset(
    {"source_id", "name", "url", "enabled", "version", "created_at_ms", "updated_at_ms", "updated_by"}
)
"""Fields of a source with a column of their own."""

_NOT_COMPARED: Final = frozenset({"version", "updated_at_ms", "updated_by"})
"""Fields that alone make no change."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


async def _follow(source: SourceSaved, connection: Connection) -> None:
    """Pause or resume the jobs of a source, in the transaction that stores it."""
    now = await connection.fetchval("SELECT clock_timestamp()")
    await follow_enabled(connection, source.source_id, is_enabled=source.enabled, now_ms=_milliseconds(now))


def _datetime(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _settings(source: SourceSaved) -> dict[str, Any]:
    return {name: value for name, value in source.to_record().items() if name not in _NOT_COMPARED}


def _identity(source: SourceSaved) -> tuple[Any, ...]:
    return source.source_id, source.name, source.url, source.enabled


def _values(source: SourceSaved, *, published: int) -> tuple[Any, ...]:
    return (
        *_identity(source),
        _json(source),
        source.version,
        _datetime(source.created_at_ms),
        _datetime(source.updated_at_ms),
        source.updated_by,
        published,
    )


def _json(source: SourceSaved) -> str:
    record = source.to_record()
    return json.dumps({name: value for name, value in record.items() if name not in _COLUMNS})


def _source(row: Record) -> SourceSaved:
    """Return the source of a row; fields that it was saved without have their default."""
    known = {field.name for field in fields(SourceSaved)} - _COLUMNS
    settings = {name: value for name, value in json.loads(row["settings"]).items() if name in known}
    defaults = SourceSaved(row["source_id"], row["name"], row["url"]).to_record()
    own = {name: row[name] for name in ("enabled", "version", "updated_by")}
    times = {f"{name}_ms": _milliseconds(row[name]) for name in ("created_at", "updated_at")}
    return SourceSaved.from_record({**defaults, **settings, **own, **times})


def _one(rows: Sequence[Record | None]) -> SourceSaved | None:
    row = rows[0] if rows else None
    return None if row is None or row["deleted_at"] is not None else _source(row)


def _present(row: Record | None, source_id: str) -> SourceSaved:
    if (source := _one([row])) is None:
        raise UnknownSource(source_id)
    return source


def _change(row: Record) -> SourceChange:
    return SourceChange(row["source_id"], _one([row]))
