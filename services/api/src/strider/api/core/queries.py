"""SQL for filters: fixed texts, and values as parameters.

Newest first, by time and keys, so that a cursor is found by the same index that the list is read by. A host
is searched within its domain, which has an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from strider.storage.rows.columns import ApiView, columns_shown
from strider.storage.rows.pages import PAGE_COLUMNS

from .filters import ListCursor, ListFilters

_LISTED_COLUMNS: Final = tuple(column.name for column in columns_shown(PAGE_COLUMNS, ApiView.LIST))
_DETAIL_COLUMNS: Final = tuple(column.name for column in columns_shown(PAGE_COLUMNS, ApiView.DETAIL))

DECISION_COLUMNS: Final = (
    "id",
    "url_key",
    "job_id",
    "url",
    "host",
    "domain",
    "execution_id",
    "decision",
    "reason",
    "detail",
    "decided_by",
    "status_code",
    "depth",
    "page_url",
    "redirect_target",
    "decided_at",
)


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """A statement and its values."""

    sql: str
    arguments: tuple[Any, ...] = ()


@dataclass(slots=True)
class Conditions:
    """Conditions joined by AND, with numbered parameters."""

    texts: list[str] = field(default_factory=list)
    arguments: list[Any] = field(default_factory=list)

    def add(self, form: str, *values: Any) -> None:
        """Add a condition; each {} in it stands for a value."""
        places = []
        for value in values:
            self.arguments.append(value)
            places.append(f"${len(self.arguments)}")
        self.texts.append(form.format(*places))

    def equal(self, column: str, value: Any) -> None:
        """Add an equality, where there is a value."""
        if value is not None:
            self.add(f"{column} = {{}}", value)


def pages_query(filters: ListFilters, *, after: ListCursor | None, limit: int) -> SqlQuery:
    """List pages, newest first; one more than the limit shows that there are more."""
    conditions = shared_conditions(filters, "crawled_at")
    conditions.equal("status_code", filters.status_code)
    if after is not None:
        conditions.add("(crawled_at, url_key, job_id) < ({}, {}, {})", after.at, after.key, after.more)
    return _list(
        "crawled_pages", _LISTED_COLUMNS, conditions, order=("crawled_at", "url_key", "job_id"), limit=limit
    )


def decisions_query(filters: ListFilters, *, after: ListCursor | None, limit: int) -> SqlQuery:
    """List decisions, newest first; one more than the limit shows that there are more."""
    conditions = shared_conditions(filters, "decided_at")
    conditions.equal("status_code", filters.status_code)
    conditions.equal("decision", filters.decision)
    conditions.equal("reason", filters.reason)
    if after is not None:
        conditions.add("(decided_at, id) < ({}, {})", after.at, after.key)
    return _list("url_decisions", DECISION_COLUMNS, conditions, order=("decided_at", "id"), limit=limit)


def page_query(url_key: str, job_id: str | None) -> SqlQuery:
    """Find one page with its text: of the named job, else the one that was crawled last."""
    conditions = Conditions()
    conditions.equal("url_key", url_key)
    conditions.equal("job_id", job_id)
    return _list("crawled_pages", _DETAIL_COLUMNS, conditions, order=("crawled_at",), limit=0)


def shared_conditions(filters: ListFilters, moment: str, conditions: Conditions | None = None) -> Conditions:
    """Return the conditions that the rows of every list have in common; `moment` is the column of time."""
    conditions = conditions or Conditions()
    conditions.equal("url_key", filters.url_key)
    conditions.equal("domain", filters.domain)
    conditions.equal("host", filters.host)
    conditions.equal("job_id", filters.job_id)
    conditions.equal("execution_id", filters.execution_id)
    if filters.since is not None:
        conditions.add(f"{moment} >= {{}}", filters.since)
    if filters.until is not None:
        conditions.add(f"{moment} < {{}}", filters.until)
    return conditions


def _list(
    table: str, columns: Sequence[str], conditions: Conditions, *, order: Sequence[str], limit: int
) -> SqlQuery:
    where = f" WHERE {' AND '.join(conditions.texts)}" if conditions.texts else ""
    by = ", ".join(f"{column} DESC" for column in order)
    return SqlQuery(
        f"SELECT {', '.join(columns)} FROM {table}{where} ORDER BY {by} LIMIT {limit + 1}",  # noqa: S608  # our texts
        tuple(conditions.arguments),
    )
