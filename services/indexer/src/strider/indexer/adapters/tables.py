"""Write rows to PostgreSQL, in parts that fit into a transaction.

Decides the order of writing and what is skipped as already stored; `statements` decides which row replaces
which. Rows are inserted in the order of their keys, so that two instances cannot deadlock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from strider.contracts.generated.enums import Decision
from strider.indexer.core import DecisionRow, HostRow, PageRow, ProductRow, RowChanges
from strider.messaging.errors import Unavailable
from strider.storage import error_logs as errorlogs
from strider.storage.errors import StoreRejected
from strider.storage.postgres import DEPENDENCY, Connection, Postgres

from .statements import (
    DECISIONS,
    DROP_HOSTS,
    DROP_URLS,
    FAILURES,
    HOSTS,
    PAGES,
    PRODUCTS,
    REMOVE,
    REMOVE_PRODUCTS,
    TABLES,
    TOUCH,
    URLS,
    Statement,
)

MAX_CACHED_REFUSALS: Final = 20_000
"""Refusals known to be stored: a site's navigation repeats the same ones on each of its pages."""

MAX_PART_CHARACTERS: Final = 4 * 1024 * 1024
MAX_PART_ROWS: Final = 5_000
"""Size of one transaction, so that it ends well before its deadline also on a slow machine."""

_ROW_CHARACTERS: Final = 1_000
"""Estimated size of a row besides its texts."""

_SCHEMA_ERRORS: Final = frozenset({"42P01", "42703", "42P10", "42501"})
"""Missing table, column, constraint or right: an operator must act, and no message is the reason."""


class PostgresTables:
    """Writes rows in parts, each in a transaction of its own that may be repeated."""

    def __init__(self, postgres: Postgres, *, max_cached_refusals: int = MAX_CACHED_REFUSALS) -> None:
        self._postgres = postgres
        self._cached_refusals: OrderedDict[str, None] = OrderedDict()
        self._max_cached_refusals = max_cached_refusals

    async def check_tables(self) -> None:
        """Raise Unavailable until the tables exist."""
        query = "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NULL"
        if found := await self._postgres.fetch(query, list(TABLES)):
            names = ", ".join(row["name"] for row in found)
            raise Unavailable(DEPENDENCY, f"missing tables: {names}; run: strider migrate up")

    def clear_cached_refusals(self) -> None:
        """Forget which refusals are stored: rows were deleted."""
        self._cached_refusals.clear()

    async def write(self, changes: RowChanges) -> None:
        """Write everything; pages before what updates or deletes them."""
        for part in _split(sorted(changes.pages, key=_page_order), characters=_page_characters):
            await self._write_part((PAGES, part))
        for part in _split(sorted(changes.products, key=_product_order), characters=_product_characters):
            await self._write_part((PRODUCTS, part))
        removals = changes.removals
        await self._write_part((TOUCH, changes.touches), (REMOVE, removals), (REMOVE_PRODUCTS, removals))
        await self._write_decisions(changes.decisions)
        for part in _split(sorted(changes.failures)):
            await self._write_part((FAILURES, part))
        for part in _split(sorted(changes.urls)):
            await self._write_part((URLS, part))
        for part in _split(sorted(changes.hosts), characters=_host_characters):
            await self._write_part((HOSTS, part))
        await self._write_part((DROP_URLS, changes.dropped_urls), (DROP_HOSTS, changes.dropped_hosts))
        if changes.dead_letters:
            await self._write_part(
                (errorlogs.UPSERT, sorted(map(errorlogs.error_log_row, changes.dead_letters)))
            )

    async def _write_decisions(self, decisions: Sequence[DecisionRow]) -> None:
        fresh = [row for row in decisions if row.id not in self._cached_refusals]
        for part in _split(sorted(fresh, key=_decision_order)):
            await self._write_part((DECISIONS, part))
            self._cache_refusals(row.id for row in part if row.decision == Decision.REFUSED)

    def _cache_refusals(self, refusals: Iterable[str]) -> None:
        self._cached_refusals.update(dict.fromkeys(refusals))
        while len(self._cached_refusals) > self._max_cached_refusals:
            self._cached_refusals.popitem(last=False)

    async def _write_part(self, *statements: tuple[Statement, Sequence[Any]]) -> None:
        wanted = [(each.sql, each.columns_of(rows)) for each, rows in statements if rows]
        if not wanted:
            return

        async def work(connection: Connection) -> None:
            for sql, columns in wanted:
                await connection.execute(sql, *columns)

        await self._run(lambda: self._postgres.run(work))

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except StoreRejected as refusal:
            if refusal.code in _SCHEMA_ERRORS:
                raise Unavailable(DEPENDENCY, f"{refusal.detail}; run: strider migrate up") from refusal
            raise


def _page_order(row: PageRow) -> tuple[str, str, int]:
    """Sort by key, and within one by fetch: of rows with the same key the last one stays."""
    return row.url_key, row.job_id, row.fetch_sequence


def _product_order(row: ProductRow) -> tuple[Any, ...]:
    """Sort by key, and within one by precedence: of rows with the same key the last one stays."""
    return row.url_hash, row.job_id, row.is_own_page, row.crawled_at


def _decision_order(row: DecisionRow) -> tuple[Any, ...]:
    """Sort by id; of a refusal the first comes last, of anything else the latest."""
    age = row.decided_at.timestamp()
    return row.id, row.fetch_sequence, -age if row.decision == Decision.REFUSED else age


def _page_characters(row: PageRow) -> int:
    return _ROW_CHARACTERS + len(row.text)


def _product_characters(row: ProductRow) -> int:
    return _ROW_CHARACTERS + len(row.description) + len(row.images)


def _host_characters(row: HostRow) -> int:
    return _ROW_CHARACTERS + len(row.robots_text)


def _split(
    rows: Sequence[Any], *, characters: Callable[[Any], int] = lambda _row: _ROW_CHARACTERS
) -> Iterator[Sequence[Any]]:
    """Yield rows in parts that fit into a transaction."""
    part: list[Any] = []
    total = 0
    for row in rows:
        heavy = characters(row)
        if part and (total + heavy > MAX_PART_CHARACTERS or len(part) >= MAX_PART_ROWS):
            yield part
            part, total = [], 0
        part.append(row)
        total += heavy
    if part:
        yield part
