"""Routes of the read models: pages and decisions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Final, Protocol

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from strider.api import core
from strider.api.core import ListCursor, ListFilters

from .auth import USER
from .problem_details import ProblemError
from .response_models import DecisionList, PageDetail, PageList, problems

MAX_ITEMS: Final = 500
MAX_CHARACTERS: Final = 4096
"""Of a URL."""

COMMON_FILTERS: Final = ("key", "url", "host", "domain", "job", "execution", "since", "until")
FILTERS: Final = (*COMMON_FILTERS, "status")
LISTING: Final = ("limit", "cursor")


def _require_date(text: Any) -> Any:
    """Refuse a bare number: `20260101` would be read as seconds since 1970."""
    if isinstance(text, str) and text.replace(".", "", 1).lstrip("+-").isdigit():
        raise PydanticCustomError("no_date", "Input is a number; write a date, such as 2026-05-01T12:00Z")
    return text


_KEY: Final[dict[str, Any]] = {"pattern": core.KEY_PATTERN}
"""Described only: the check itself has a message of its own."""
_NO_NUL: Final[dict[str, Any]] = {"pattern": "^[^\\x00]*$"}
Cursor = Annotated[str | None, Query(max_length=core.MAX_CURSOR_CHARACTERS)]
Name = Annotated[str | None, Query(max_length=300, json_schema_extra=_NO_NUL)]
Moment = Annotated[datetime | None, BeforeValidator(_require_date)]
Limit = Annotated[int, Query(ge=1, le=MAX_ITEMS)]


class ReadModels(Protocol):
    """The read models."""

    async def find(self, query: core.SqlQuery) -> Sequence[Mapping[str, Any]]:
        """Return the rows of a query; may raise Unavailable."""


async def _common_filters(  # noqa: PLR0917  # each is a parameter of the query string, and is named there
    key: Annotated[str | None, Query(description="Key of a URL.", json_schema_extra=_KEY)] = None,
    url: Annotated[
        str | None, Query(max_length=MAX_CHARACTERS, description="A URL, in any notation.")
    ] = None,
    host: Name = None,
    domain: Name = None,
    job: Name = None,
    execution: Name = None,
    since: Annotated[Moment, Query(description="ISO 8601; at or after it.")] = None,
    until: Annotated[Moment, Query(description="ISO 8601; before it.")] = None,
) -> ListFilters:
    filters = ListFilters(
        url_key=core.url_to_key(url) if url is not None else None,
        job_id=core.text_filter("job", job),
        execution_id=core.text_filter("execution", execution),
        since=core.time_filter("since", since),
        until=core.time_filter("until", until),
    )
    if key is not None:
        filters = replace(filters, url_key=core.key_filter(key))
    if domain is not None:
        filters = replace(filters, domain=core.host_filter("domain", domain)[0])
    if host is not None:
        name, owner = core.host_filter("host", host)
        filters = replace(filters, host=name, domain=filters.domain or owner)
    return filters


Common = Annotated[ListFilters, Depends(_common_filters)]


async def _filters(common: Common, status: Annotated[int | None, Query(ge=0, le=999)] = None) -> ListFilters:
    return replace(common, status_code=status)


def only(*names: str) -> Callable[[Request], Awaitable[None]]:
    """Return the dependency that refuses unknown query parameters: they would be ignored silently."""

    async def check(request: Request) -> None:
        core.check_names([name for name, _ in request.query_params.multi_items()], names)

    return check


Narrowed = Annotated[ListFilters, Depends(_filters)]


def page_routes(records: ReadModels) -> APIRouter:
    """Build the routes of pages."""
    router = APIRouter(tags=["pages"], dependencies=[USER])
    listing = Depends(only(*FILTERS, *LISTING))

    @router.get(
        "/api/v1/pages",
        response_model=PageList,
        responses=problems(401, 422, 503),
        dependencies=[listing],
    )
    async def pages(filters: Narrowed, limit: Limit = 50, cursor: Cursor = None) -> dict[str, Any]:
        """List pages, newest first."""
        query = core.pages_query(filters, after=_place(cursor), limit=limit)
        rows = await records.find(query)
        return _listed([core.page_view(row) for row in rows], limit, "crawled_at", ("url_key", "job_id"))

    @router.get(
        "/api/v1/pages/{key}",
        response_model=PageDetail,
        responses=problems(401, 404, 422, 503),
        dependencies=[Depends(only("job"))],
    )
    async def page(key: Annotated[str, Path(json_schema_extra=_KEY)], job: Name = None) -> dict[str, Any]:
        """Return a page with its text: that of the job, else the one that was crawled last."""
        rows = await records.find(core.page_query(core.key_filter(key), core.text_filter("job", job)))
        if not rows:
            raise ProblemError(
                404, "no page is stored under this key; /api/v1/decisions?key=… may give the reason"
            )
        return core.page_view(rows[0])

    return router


def decision_routes(records: ReadModels) -> APIRouter:
    """Build the routes of decisions."""
    router = APIRouter(tags=["decisions"], dependencies=[USER])

    @router.get(
        "/api/v1/decisions",
        response_model=DecisionList,
        responses=problems(401, 422, 503),
        dependencies=[Depends(only(*FILTERS, "decision", "reason", *LISTING))],
    )
    async def decisions(
        filters: Narrowed,
        decision: Name = None,
        reason: Name = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        """List why URLs were not crawled or not stored, newest first."""
        narrowed = replace(
            filters,
            decision=core.text_filter("decision", decision),
            reason=core.text_filter("reason", reason),
        )
        rows = await records.find(core.decisions_query(narrowed, after=_place(cursor), limit=limit))
        return _listed([core.decision_view(row) for row in rows], limit, "decided_at", ("id",))

    return router


def _listed(items: list[dict[str, Any]], limit: int, moment: str, keys: Sequence[str]) -> dict[str, Any]:
    """Return one page of a list, and the cursor of the next one."""
    if len(items) <= limit:
        return {"items": items, "next": None}
    last = items[limit - 1]
    cursor = ListCursor(last[moment], *(last[key] for key in keys))
    return {"items": items[:limit], "next": core.write_cursor(cursor)}


def _place(cursor: str | None) -> ListCursor | None:
    return core.read_cursor(cursor) if cursor else None
