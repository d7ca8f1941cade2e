"""SQL statements of the tables: column types, and when a row replaces another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from strider.indexer.core import (
    DecisionRow,
    DroppedHostRow,
    DroppedUrlRow,
    FailureRow,
    HostRow,
    PageRow,
    ProductRow,
    RemovalRow,
    TouchRow,
    UrlRow,
)
from strider.storage.rows.columns import columns_of
from strider.storage.rows.sql_types import sql_type
from strider.storage.upsert import Upsert

TABLES: Final = (
    "crawled_pages",
    "products",
    "url_decisions",
    "failed_requests",
    "error_logs",
    "urls",
    "hosts",
)


_SAME_PAGE: Final = """page.url_key = given.url_key AND page.job_id = given.job_id
    AND page.fetch_sequence <= given.fetch_sequence"""


def _typed_columns(row: Any) -> tuple[tuple[str, str], ...]:
    """Return name and type of each column."""
    return tuple((column.name, sql_type(column)) for column in columns_of(row))


def _columns_except(row: Any, *names: str) -> tuple[str, ...]:
    return tuple(name for name in row._fields if name not in names)


def _changed_with_content(table: str, moment: str) -> tuple[str, str]:
    """Return a computed column whose time changes only with the content."""
    same = f"{table}.content_hash = excluded.content_hash"
    return moment, f"CASE WHEN {same} THEN {table}.{moment} ELSE excluded.{moment} END"


def _keep_moments(first: str, changed: str) -> Callable[[Any, Any], Any]:
    """Return the merge of two versions in one statement, with the times that two statements would leave."""

    def merge(earlier: Any, later: Any) -> Any:
        kept = {first: min(getattr(earlier, first), getattr(later, first))}
        if earlier.content_hash == later.content_hash:
            kept[changed] = getattr(earlier, changed)
        return later._replace(**kept)

    return merge


PAGES: Final = Upsert(
    "crawled_pages",
    columns=_typed_columns(PageRow),
    conflict=("url_key", "job_id"),
    update=_columns_except(PageRow, "url_key", "job_id", "first_crawled_at", "changed_at"),
    where="crawled_pages.fetch_sequence <= excluded.fetch_sequence",
    computed=(_changed_with_content("crawled_pages", "changed_at"), ("indexed_at", "now()")),
    merge=_keep_moments("first_crawled_at", "changed_at"),
)
"""A page of a newer fetch replaces an older one; the same fetch replaces itself."""

PRODUCTS: Final = Upsert(
    "products",
    columns=_typed_columns(ProductRow),
    conflict=("url_hash", "job_id"),
    update=_columns_except(ProductRow, "url_hash", "job_id", "created_at", "updated_at"),
    where="(products.is_own_page, products.crawled_at) <= (excluded.is_own_page, excluded.crawled_at)",
    computed=(_changed_with_content("products", "updated_at"), ("indexed_at", "now()")),
    merge=_keep_moments("created_at", "updated_at"),
)
"""A product's own page replaces what a list said of it; else a later page replaces an earlier one."""

DECISIONS: Final = Upsert(
    "url_decisions",
    columns=_typed_columns(DecisionRow),
    conflict=("id",),
    update=_columns_except(DecisionRow, "id"),
    where=(
        "excluded.decision <> 'refused' AND (url_decisions.fetch_sequence, url_decisions.decided_at)"
        " < (excluded.fetch_sequence, excluded.decided_at)"
    ),
    computed=(("indexed_at", "now()"),),
)
"""The first refusal stays, because most are repeated with each page; of other decisions the last one stays.
"""

FAILURES: Final = Upsert(
    "failed_requests", columns=_typed_columns(FailureRow), conflict=("url_key", "job_id", "fetch_sequence")
)


@dataclass(frozen=True, slots=True)
class RowUpdate:
    """A statement that updates or deletes existing rows and inserts none."""

    row: Any
    template: str
    """The statement, with a placeholder for the given rows."""
    sql: str = field(init=False)

    def __post_init__(self) -> None:
        """Build the SQL."""
        arrays = ", ".join(
            f"${at}::{kind}[]" for at, (_, kind) in enumerate(_typed_columns(self.row), start=1)
        )
        given = f"unnest({arrays}) AS given ({', '.join(self.row._fields)})"
        object.__setattr__(self, "sql", self.template.format(given=given, same=_SAME_PAGE))

    def columns_of(self, rows: Iterable[Any]) -> list[list[Any]]:
        """Return the rows as columns; of rows with the same key the latest fetch stays."""
        last = {row[:2]: row for row in sorted(rows)}
        return [list(column) for column in zip(*last.values(), strict=True)]


TOUCH: Final = RowUpdate(
    TouchRow,
    """UPDATE crawled_pages AS page SET
    fetch_sequence = given.fetch_sequence, execution_id = given.execution_id,
    crawl_spec_id = given.crawl_spec_id, etag = given.etag, last_modified = given.last_modified,
    crawl_duration_ms = given.crawl_duration_ms, crawled_at = given.crawled_at,
    validated_at = given.validated_at, indexed_at = now()
    FROM {given} WHERE {same}""",
)
"""Moves an unchanged page on to the new fetch; does nothing for a page that is not stored."""

REMOVE: Final = RowUpdate(RemovalRow, "DELETE FROM crawled_pages AS page USING {given} WHERE {same}")
"""Deletes a page that must not be stored, unless a newer fetch stored it."""

REMOVE_PRODUCTS: Final = RowUpdate(
    RemovalRow,
    """DELETE FROM products AS page USING {given} WHERE page.page_key = given.url_key
    AND page.job_id = given.job_id AND page.fetch_sequence <= given.fetch_sequence""",
)
"""Deletes the products of such a page too."""

URLS: Final = Upsert(
    "urls",
    columns=_typed_columns(UrlRow),
    conflict=("url_key", "job_id"),
    update=_columns_except(UrlRow, "url_key", "job_id"),
    where="urls.updated_at <= excluded.updated_at",
)
"""The latest record of the frontier wins; a fenced owner writes nothing later than its successor."""

DROP_URLS: Final = RowUpdate(
    DroppedUrlRow,
    "DELETE FROM urls USING {given} WHERE urls.url_key = given.url_key AND urls.job_id = given.job_id",
)

HOSTS: Final = Upsert(
    "hosts",
    columns=_typed_columns(HostRow),
    conflict=("name",),
    update=_columns_except(HostRow, "name"),
    where="hosts.updated_at <= excluded.updated_at",
)

DROP_HOSTS: Final = RowUpdate(DroppedHostRow, "DELETE FROM hosts USING {given} WHERE hosts.name = given.name")

Statement = Upsert | RowUpdate
"""Both take rows as columns."""
