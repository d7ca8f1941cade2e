"""The read models in PostgreSQL.

Says which row replaces which: of a page the one of the latest fetch; a refusal stays as it was made
first, what closed an entry as it was made last. Rows are inserted in the order of their keys, so
that two instances do not wait for each other in a circle.
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
"""Refusals that are known to be stored: a site's navigation has the same ones on each of its pages."""

MAX_PART_CHARACTERS: Final = 4 * 1024 * 1024
MAX_PART_ROWS: Final = 5_000
"""What one transaction takes, so that it ends well before its deadline also on a slow machine."""

_ROW_CHARACTERS: Final = 1_000
"""What a row weighs besides its text."""

_NOT_OUR_TABLES: Final = frozenset({"42P01", "42703", "42P10", "42501"})
"""No such table, column or constraint, or no right to it: a person must act, and no message is to blame."""


class PostgresTables:
    """Writes rows in parts, each a transaction of its own that may be repeated."""

    def __init__(self, postgres: Postgres, *, max_cached_refusals: int = MAX_CACHED_REFUSALS) -> None:
        self._postgres = postgres
        self._known: OrderedDict[str, None] = OrderedDict()
        self._max_cached_refusals = max_cached_refusals

    async def require(self) -> None:
        """Raise Unavailable until the tables are there."""
        query = "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NULL"
        if found := await self._postgres.fetch(query, list(TABLES)):
            names = ", ".join(row["name"] for row in found)
            raise Unavailable(DEPENDENCY, f"there is no table {names}; run: strider migrate up")

    async def write(self, changes: RowChanges) -> None:
        """Write everything; pages before what moves them on or takes them away."""
        for part in _parts(sorted(changes.pages, key=_page_order), weight=_weight):
            await self._write((PAGES, part))
        for part in _parts(sorted(changes.products, key=_product_order), weight=_product_characters):
            await self._write((PRODUCTS, part))
        removals = changes.removals
        await self._write((TOUCH, changes.touches), (REMOVE, removals), (REMOVE_PRODUCTS, removals))
        await self._write_decisions(changes.decisions)
        for part in _parts(sorted(changes.failures)):
            await self._write((FAILURES, part))
        for part in _parts(sorted(changes.urls)):
            await self._write((URLS, part))
        for part in _parts(sorted(changes.hosts), weight=_host_characters):
            await self._write((HOSTS, part))
        await self._write((DROP_URLS, changes.dropped_urls), (DROP_HOSTS, changes.dropped_hosts))
        if changes.dead_letters:
            await self._write((errorlogs.UPSERT, sorted(map(errorlogs.error_log_row, changes.dead_letters))))

    async def _write_decisions(self, decisions: Sequence[DecisionRow]) -> None:
        fresh = [row for row in decisions if row.id not in self._known]
        for part in _parts(sorted(fresh, key=_decision_order)):
            await self._write((DECISIONS, part))
            self._note(row.id for row in part if row.decision == Decision.REFUSED)

    def _note(self, refusals: Iterable[str]) -> None:
        self._known.update(dict.fromkeys(refusals))
        while len(self._known) > self._max_cached_refusals:
            self._known.popitem(last=False)

    async def _write(self, *statements: tuple[Statement, Sequence[Any]]) -> None:
        wanted = [(each.sql, each.columns_of(rows)) for each, rows in statements if rows]
        if not wanted:
            return

        async def work(connection: Connection) -> None:
            for sql, columns in wanted:
                await connection.execute(sql, *columns)

        await self._running(lambda: self._postgres.run(work))

    async def _running(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except StoreRejected as refusal:
            if refusal.code in _NOT_OUR_TABLES:
                raise Unavailable(DEPENDENCY, f"{refusal.detail}; run: strider migrate up") from refusal
            raise


def _page_order(row: PageRow) -> tuple[str, str, int]:
    """Order by key, and within one by fetch: of rows that are the same row the last stays."""
    return row.url_key, row.job_id, row.fetch_sequence


def _product_order(row: ProductRow) -> tuple[Any, ...]:
    """Order by key, and within one by what wins: of rows that are the same row the last stays."""
    return row.url_hash, row.job_id, row.is_own_page, row.crawled_at


def _decision_order(row: DecisionRow) -> tuple[Any, ...]:
    """Order by name; of a refusal the first is last, of anything else the latest."""
    age = row.decided_at.timestamp()
    return row.id, row.fetch_sequence, -age if row.decision == Decision.REFUSED else age


def _weight(row: PageRow) -> int:
    return _ROW_CHARACTERS + len(row.text)


def _product_characters(row: ProductRow) -> int:
    return _ROW_CHARACTERS + len(row.description) + len(row.images)


def _host_characters(row: HostRow) -> int:
    return _ROW_CHARACTERS + len(row.robots_text)


def _parts(
    rows: Sequence[Any], *, weight: Callable[[Any], int] = lambda _row: _ROW_CHARACTERS
) -> Iterator[Sequence[Any]]:
    """Cut rows into parts that a transaction can take."""
    part: list[Any] = []
    total = 0
    for row in rows:
        heavy = weight(row)
        if part and (total + heavy > MAX_PART_CHARACTERS or len(part) >= MAX_PART_ROWS):
            yield part
            part, total = [], 0
        part.append(row)
        total += heavy
    if part:
        yield part
