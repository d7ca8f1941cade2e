"""Models of the responses, as in the OpenAPI document."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, PlainSerializer, WithJsonSchema


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


class PageSummary(BaseModel):
    """The latest version of a page."""

    url_key: str
    job_id: str
    url: str
    host: str
    domain: str
    execution_id: str
    crawl_spec_id: str
    fetch_sequence: int
    status_code: int
    content_type: str
    content_length: int
    content_hash: str
    raw_hash: str
    depth: int
    referrer: str
    redirect_chain: list[str]
    title: str
    description: str
    canonical_url: str
    language: str
    author: str
    published_at: str
    page_kind: str
    document_kind: str
    text_length: int
    word_count: int
    links_count: int
    validation_status: str
    warnings: list[str]
    parser_version: str
    error_message: str
    truncated: bool
    metadata: dict[str, str]
    crawl_duration_ms: int
    crawled_at: Moment
    first_crawled_at: Moment
    changed_at: Moment


class PageDetail(PageSummary):
    """A page with its text."""

    text: str


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


class PageList(BaseModel):
    """Pages, newest first."""

    items: list[PageSummary]
    next: str | None
    """The cursor of the next page of the list; null at the end."""


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
