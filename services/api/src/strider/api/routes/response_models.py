"""Models of the responses, as in the OpenAPI document.

Those of pages follow from the columns of pages, which name the views that show them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, get_origin

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema, create_model

from strider.storage.rows.columns import ApiView, columns_shown
from strider.storage.rows.pages import PAGE_COLUMNS

from . import examples


def _written(moment: datetime) -> str:
    """Return a time in ISO 8601 of fixed length: such texts sort as the times do."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[
    datetime,
    PlainSerializer(_written, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


def with_example(document: dict[str, Any]) -> ConfigDict:
    """Return the configuration of a model whose description has an example."""
    return ConfigDict(json_schema_extra={"examples": [document]})


class HealthReport(BaseModel):
    """State of the API."""

    model_config = with_example(examples.HEALTH)
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

    model_config = with_example(examples.SEEDS)
    accepted: int
    refused: int
    seeds: list[SeedResponse]


class RecoveryResponse(BaseModel):
    """Number of recovered leases."""

    model_config = with_example({"recovered": 3})
    recovered: int


class SessionResponse(BaseModel):
    """A session: who is logged in, and until when."""

    model_config = with_example(examples.SESSION)
    subject: str
    role: str
    created_at: Moment
    ends_at: Moment
    csrf_token: str
    """Sent in `X-CSRF-Token` with each request of the session that may change something."""


class StatsResponse(BaseModel):
    """Public figures of the crawl, seconds old; null where a part does not respond."""

    model_config = with_example(examples.STATS)
    pages: int | None
    """Stored pages: exact to 10,000, then the estimate of the database."""
    urls: int | None
    hosts: int | None
    runs: dict[str, int] | None
    """Runs by state; `ended` for those whose end is still known."""
    fetchers: int | None
    pages_fetched: int | None
    """Since the fetchers were counted first; `bytes_fetched` likewise."""
    bytes_fetched: int | None
    at: Moment


class RunResponse(BaseModel):
    """A run: its state, and its counts."""

    model_config = with_example(examples.RUN)

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


def _page_example(view: ApiView) -> dict[str, Any]:
    """Return a page as an example: what is not in `examples.PAGE` is empty."""
    empty: dict[Any, Any] = {
        str: "",
        int: 0,
        float: 0.0,
        bool: False,
        datetime: examples.MOMENT,
        list: [],
        dict: {},
    }
    return {
        column.name: examples.PAGE.get(column.name, empty[get_origin(column.json) or column.type])
        for column in columns_shown(PAGE_COLUMNS, view)
    }


PageSummary = create_model(
    "PageSummary", __doc__="The latest version of a page.", **_page_fields(ApiView.LIST)
)

PageDetail = create_model(
    "PageDetail",
    __doc__="A page with its text.",
    __config__=with_example(_page_example(ApiView.DETAIL)),
    **_page_fields(ApiView.DETAIL),
)


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
    __config__=with_example({"items": [_page_example(ApiView.LIST)], "next": examples.CURSOR}),
    items=(list[PageSummary], ...),  # type: ignore[valid-type]  # a class, made above
    next=(str | None, ...),
)
"""`next` is the cursor of the next page of the list; null at the end."""


class DecisionList(BaseModel):
    """Decisions, newest first."""

    model_config = with_example({"items": [examples.DECISION], "next": examples.CURSOR})
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
            "content": {"application/problem+json": {"schema": schema, "example": examples.problem(status)}},
        }
        for status in statuses
    }
