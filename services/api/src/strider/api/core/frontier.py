"""URLs of the frontier and discovered links: queries, and their rows as JSON.

A discovered link is accepted, then it is an entry of the frontier that has a page it was found on; or it is
refused, then it is a decision that names such a page. Both are listed in the order of URL keys, which both
tables have an index of.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final

from strider.contracts.generated.enums import DecisionReason, EntryReason, EntryState
from strider.urls import RefusedUrl, to_wire_url

from .filters import MAX_CURSOR_CHARACTERS, InvalidCursorError, InvalidFilterError, ListFilters, text_fault
from .queries import Conditions, SqlQuery, shared_conditions

MAX_ENTRIES: Final = 100
"""Jobs that one URL is shown of."""
MAX_FACTS: Final = 50
"""Newest decisions, and newest failures, that one URL is shown with."""

ENTRY_COLUMNS: Final = (
    *("url_key", "job_id", "url", "host", "domain", "status", "state", "reason", "execution_id"),
    *("crawl_spec_id", "http_status", "depth", "priority", "referrer", "redirect_target", "tries"),
    *("error_count", "error_class", "discovered_at", "last_crawled_at", "next_crawl_at", "closed_at"),
    "updated_at",
)
FAILURE_COLUMNS: Final = (
    *("job_id", "execution_id", "kind", "outcome", "error_class", "error_message", "status_code"),
    *("try_number", "failed_at"),
)
HOST_COLUMNS: Final = (
    *("name", "kind", "delay_seconds", "is_active", "breaker", "blocked_until", "block_reason"),
    *("barred_until", "barred_by", "barred_for", "unreachable_since", "robots_state"),
)
LINK_COLUMNS: Final = (
    *("id", "outcome", "url_key", "job_id", "url", "host", "domain", "page_url", "execution_id", "reason"),
    *("detail", "state", "depth", "found_at"),
)

_ACCEPTED_ID: Final = re.compile(r"([0-9a-f]{64})\.(.+)", re.DOTALL)


class LinkOutcome(StrEnum):
    """Outcome of a discovered link."""

    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class KeyCursor:
    """The last item of a page, in the order of URL keys."""

    key: str
    more: str
    """Tells items of the same key apart."""


@dataclass(frozen=True, slots=True)
class DiscoveredLinkFilters:
    """Links that match all of these, beside those of every list."""

    shared: ListFilters
    page_url: str | None = None
    outcome: LinkOutcome | None = None


def write_key_cursor(cursor: KeyCursor) -> str:
    """Return a cursor as a text that needs no escaping in a URL."""
    text = json.dumps([cursor.key, cursor.more], separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_key_cursor(text: str) -> KeyCursor:
    """Parse a cursor of an earlier response."""
    if len(text) > MAX_CURSOR_CHARACTERS:
        raise InvalidCursorError("it is too long")
    try:
        parts = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError) as failure:
        raise InvalidCursorError("it was not issued by this API") from failure
    if not (isinstance(parts, list) and all(isinstance(part, str) for part in parts)) or len(parts) != 2:  # noqa: PLR2004
        raise InvalidCursorError("it was not issued by this API")
    if text_fault("".join(parts)):
        raise InvalidCursorError("it contains no position")
    return KeyCursor(*parts)


def reason_filter(reason: str | None) -> str | None:
    """Return a reason of an entry or decision; any other one would match nothing."""
    known = {*EntryReason, *DecisionReason}
    if reason is None or reason in known:
        return reason
    near = get_close_matches(reason[:60], known, n=1)
    raise InvalidFilterError("reason", "no such reason" + (f"; did you mean {near[0]}?" if near else ""))


def entries_query(
    filters: ListFilters, *, state: EntryState | None, after: KeyCursor | None, limit: int
) -> SqlQuery:
    """List entries by URL key and job; one more than the limit shows that there are more."""
    conditions = shared_conditions(filters, "updated_at")
    conditions.equal("state", None if state is None else state.value)
    conditions.equal("reason", filters.reason)
    if after is not None:
        conditions.add("(url_key, job_id) > ({}, {})", after.key, after.more)
    return _select(ENTRY_COLUMNS, "urls", conditions, order="url_key, job_id", limit=limit + 1)


def url_queries(url_key: str, job_id: str | None) -> dict[str, SqlQuery]:
    """Return the queries of what is stored of one URL, by the name that it is shown under."""
    conditions = Conditions()
    conditions.equal("url_key", url_key)
    conditions.equal("job_id", job_id)
    decisions = ("id", "job_id", "url", "host", "execution_id", "decision", "reason", "detail", "decided_by")
    pages = ("job_id", "execution_id", "url", "status_code", "title", "crawled_at")
    return {
        "entries": _select(ENTRY_COLUMNS, "urls", conditions, order="job_id", limit=MAX_ENTRIES),
        "decisions": _select(
            (*decisions, "page_url", "decided_at"),
            "url_decisions",
            conditions,
            order="decided_at DESC",
            limit=MAX_FACTS,
        ),
        "failures": _select(
            (*FAILURE_COLUMNS, "url"),
            "failed_requests",
            conditions,
            order="failed_at DESC",
            limit=MAX_FACTS,
        ),
        "pages": _select(pages, "crawled_pages", conditions, order="job_id", limit=MAX_ENTRIES),
    }


def hosts_query(names: Sequence[str]) -> SqlQuery:
    """Find the records of a host: its group, and its origin."""
    conditions = Conditions()
    conditions.add("name = ANY({}::text[])", list(names))
    return _select(HOST_COLUMNS, "hosts", conditions, order="name", limit=len(names))


def links_query(filters: DiscoveredLinkFilters, *, after: KeyCursor | None, limit: int) -> SqlQuery:
    """List discovered links by URL key; one more than the limit shows that there are more."""
    arguments: list[Any] = []
    parts = [
        _links_of(outcome, filters, after, limit, arguments)
        for outcome in LinkOutcome
        if filters.outcome in {None, outcome}
    ]
    sql = " UNION ALL ".join(f"({part})" for part in parts)
    return SqlQuery(
        f"SELECT * FROM ({sql}) AS links ORDER BY url_key, id LIMIT {limit + 1}",  # noqa: S608  # our texts
        tuple(arguments),
    )


def link_query(link_id: str) -> SqlQuery:
    """Find one discovered link."""
    conditions = Conditions()
    accepted = _ACCEPTED_ID.fullmatch(link_id)
    if accepted is not None:
        conditions.equal("url_key", accepted[1])
        conditions.equal("job_id", accepted[2])
    else:
        conditions.equal("id", link_id)
    outcome = LinkOutcome.REFUSED if accepted is None else LinkOutcome.ACCEPTED
    conditions.texts.append(_FOUND_ON_A_PAGE[outcome])
    return SqlQuery(f"{_LINKS[outcome]} WHERE {' AND '.join(conditions.texts)}", tuple(conditions.arguments))


def link_deletion(link_id: str) -> SqlQuery:
    """Delete the record of a refused link; returns its id."""
    return SqlQuery(
        "DELETE FROM url_decisions WHERE id = $1 AND decision = 'refused' AND page_url <> '' RETURNING id",
        (link_id,),
    )


def entry_view(row: Mapping[str, Any], *, place: str | None = None) -> dict[str, Any]:
    """Serialize an entry; `place` is where the working set has it, None where that is not known."""
    is_open = row["closed_at"] is None
    view = {name: value for name, value in row.items() if name != "next_crawl_at"}
    due: datetime | None = row["next_crawl_at"]
    return {**view, "http_status": row["http_status"] or None, "due_at": due, "open": is_open, "place": place}


def link_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """Serialize a discovered link; an unused depth becomes null."""
    return {**row, "depth": None if row["depth"] < 0 else row["depth"]}


def page_filter(url: str | None) -> str | None:
    """Return the URL of a page as it is stored."""
    if url is None:
        return None
    found = to_wire_url(url)
    if isinstance(found, RefusedUrl):
        raise InvalidFilterError("page", f"{found.reason} {found.detail}".strip())
    return found


def is_cancellable(row: Mapping[str, Any]) -> bool:
    """Whether an entry waits to be fetched, now or at a later time."""
    return row["state"] == EntryState.PENDING or (
        row["state"] != EntryState.IN_PROGRESS and row["next_crawl_at"] is not None
    )


_LINKS: Final[Mapping[LinkOutcome, str]] = {
    LinkOutcome.ACCEPTED: "SELECT url_key || '.' || job_id AS id, 'accepted' AS outcome, url_key, job_id, "
    "url, host, domain, referrer AS page_url, execution_id, reason, '' AS detail, state, depth, "
    "coalesce(discovered_at, updated_at) AS found_at FROM urls",
    LinkOutcome.REFUSED: "SELECT id, decision AS outcome, url_key, job_id, url, host, domain, page_url, "
    "execution_id, reason, detail, '' AS state, depth, decided_at AS found_at FROM url_decisions",
}
"""The same columns of two tables: those of `LINK_COLUMNS`."""
_FOUND_ON_A_PAGE: Final[Mapping[LinkOutcome, str]] = {
    LinkOutcome.ACCEPTED: "referrer <> ''",
    LinkOutcome.REFUSED: "page_url <> '' AND decision = 'refused'",
}


def _links_of(
    outcome: LinkOutcome,
    filters: DiscoveredLinkFilters,
    after: KeyCursor | None,
    limit: int,
    arguments: list[Any],
) -> str:
    """Return the query of the links of one outcome; adds its values to the arguments."""
    is_accepted = outcome is LinkOutcome.ACCEPTED
    page, moment = ("referrer", "discovered_at") if is_accepted else ("page_url", "decided_at")
    link_id = "(url_key || '.' || job_id)" if is_accepted else "id"
    conditions = shared_conditions(filters.shared, moment, Conditions(arguments=arguments))
    conditions.texts.append(_FOUND_ON_A_PAGE[outcome])
    conditions.equal("reason", filters.shared.reason)
    conditions.equal(page, filters.page_url)
    if after is not None:
        conditions.add("url_key >= {}", after.key)
        conditions.add(f"(url_key > {{}} OR {link_id} > {{}})", after.key, after.more)
    where = " AND ".join(conditions.texts)
    order = "url_key, job_id" if is_accepted else "url_key, id"
    return f"{_LINKS[outcome]} WHERE {where} ORDER BY {order} LIMIT {limit + 1}"


def _select(
    columns: Sequence[str], table: str, conditions: Conditions, *, order: str, limit: int
) -> SqlQuery:
    where = f" WHERE {' AND '.join(conditions.texts)}" if conditions.texts else ""
    return SqlQuery(
        f"SELECT {', '.join(columns)} FROM {table}{where} ORDER BY {order} LIMIT {limit}",  # noqa: S608  # our texts
        tuple(conditions.arguments),
    )
