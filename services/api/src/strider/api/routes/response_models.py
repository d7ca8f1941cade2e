"""Models of the responses, as in the OpenAPI document.

Those of pages follow from the columns of pages, which name the views that show them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, PlainSerializer, WithJsonSchema, create_model

from strider.storage.rows.columns import ApiView, columns_shown
from strider.storage.rows.pages import PAGE_COLUMNS


def _written(moment: datetime) -> str:
    """Return a time in ISO 8601 of fixed length: such texts sort as the times do."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[
    datetime,
    PlainSerializer(_written, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class HealthReport(BaseModel):
    """State of the API."""

    status: str
    """`ok`, or `degraded` where a dependency does not respond."""
    service: str
    version: str
    dependencies: dict[str, bool]


class SeedResponse(BaseModel):
    """Result for one seed, in the order of the request."""

    url: str
    accepted: bool
    url_key: str = ""
    job_id: str = ""
    reason: str = ""
    detail: str = ""


class SeedsResponse(BaseModel):
    """Results for all seeds."""

    accepted: int
    refused: int
    seeds: list[SeedResponse]


class RecoveryResponse(BaseModel):
    """Number of recovered leases."""

    recovered: int


class RunResponse(BaseModel):
    """A run: its state, and its counts."""

    execution_id: str
    job_id: str
    state: str
    """`running`, `closed` (it ends when nothing is open), `paused`, `completed`, `cancelled` or `dropped`."""
    by: str
    """The publisher of the command behind the state; empty without one."""
    reason: str
    open: int
    """URLs that are not closed."""
    accepted: int
    crawl_spec_ids: list[str]
    """Empty after the end."""
    ended_at: Moment | None
    """Null while it has not ended; `pages`, `bytes`, `seconds` and `outcomes` are known from then on."""
    pages: int
    bytes: int
    seconds: int
    outcomes: dict[str, int]
    """Closed URLs by reason."""


def _page_fields(view: ApiView) -> dict[str, Any]:
    """Return the fields of a page's response: the columns of this view, with their types in JSON."""
    return {
        column.name: (Moment if column.type is datetime else column.json or column.type, ...)
        for column in columns_shown(PAGE_COLUMNS, view)
    }


PageSummary = create_model(
    "PageSummary", __doc__="The latest version of a page.", **_page_fields(ApiView.LIST)
)

PageDetail = create_model("PageDetail", __doc__="A page with its text.", **_page_fields(ApiView.DETAIL))


class DecisionSummary(BaseModel):
    """Reason why a URL was not crawled, or not stored."""

    id: str
    url_key: str
    job_id: str
    url: str
    host: str
    domain: str
    execution_id: str
    decision: str
    reason: str
    detail: str
    decided_by: str
    status_code: int | None
    depth: int | None
    page_url: str
    redirect_target: str
    decided_at: Moment


PageList = create_model(
    "PageList",
    __doc__="Pages, newest first.",
    items=(list[PageSummary], ...),  # type: ignore[valid-type]  # a class, made above
    next=(str | None, ...),
)
"""`next` is the cursor of the next page of the list; null at the end."""


class DecisionList(BaseModel):
    """Decisions, newest first."""

    items: list[DecisionSummary]
    next: str | None
    """The cursor of the next page of the list; null at the end."""


class ProblemDocument(BaseModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of a route's errors."""
    schema = ProblemDocument.model_json_schema()
    return {
        status: {
            "description": "See `detail`.",
            "content": {"application/problem+json": {"schema": schema}},
        }
        for status in statuses
    }
