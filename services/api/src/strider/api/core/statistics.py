"""Public figures of the crawl: which queries they need, and what each part adds.

Every query reads a bounded number of rows: a table is counted to ten thousand, and beyond that the estimate
of the database is shown. No URL, name or id is among the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .queries import SqlQuery

COUNTED_ROWS: Final = 10_000
"""Rows that are counted one by one."""
_TABLES: Final = {"pages": "crawled_pages", "urls": "urls", "hosts": "hosts"}
_PARTS: Final = ("pages", "urls", "hosts", "runs", "fetchers", "pages_fetched", "bytes_fetched")


def sizes_query() -> SqlQuery:
    """Return the query of the sizes of tables: what was counted, and what the database estimates."""
    counted = [
        f"(SELECT count(*) FROM (SELECT FROM {table} LIMIT {COUNTED_ROWS}) AS first) AS {name}, "  # noqa: S608  # our texts
        f"(SELECT reltuples::bigint FROM pg_class WHERE oid = '{table}'::regclass) AS estimated_{name}"
        for name, table in _TABLES.items()
    ]
    return SqlQuery(f"SELECT {', '.join(counted)}")


def table_sizes(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of tables."""
    (row,) = rows
    return {
        name: row[name] if row[name] < COUNTED_ROWS else max(COUNTED_ROWS, row[f"estimated_{name}"])
        for name in _TABLES
    }


def public_figures(*parts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return all figures; null for those of a part that did not respond."""
    found = dict.fromkeys(_PARTS)
    for part in parts:
        found.update(part or {})
    return found
