"""Answers as the OpenAPI document describes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, PlainSerializer, WithJsonSchema


def _written(moment: datetime) -> str:
    """Write a moment in ISO 8601, always as long: such texts sort as the moments do."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[
    datetime,
    PlainSerializer(_written, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class HealthResponse(BaseModel):
    """How the API is."""

    status: str
    """`ok`, or `degraded` where something that it needs does not answer."""
    service: str
    version: str
    dependencies: dict[str, bool]


class SeedResponse(BaseModel):
    """What became of one seed, in the order of the request."""

    url: str
    accepted: bool
    url_key: str = ""
    job_id: str = ""
    reason: str = ""
    detail: str = ""


class SeedsResponse(BaseModel):
    """What became of all of them."""

    accepted: int
    refused: int
    seeds: list[SeedResponse]


class RecoveryResponse(BaseModel):
    """What was given back."""

    recovered: int


class PageSummary(BaseModel):
    """A page as it was found last."""

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
    """Why a URL was not crawled, or not stored."""

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
    """The cursor of what follows; none at the end."""


class DecisionList(BaseModel):
    """Decisions, newest first."""

    items: list[DecisionSummary]
    next: str | None
    """The cursor of what follows; none at the end."""


class ProblemDocument(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the problems that a route may answer with."""
    schema = ProblemDocument.model_json_schema()
    return {
        status: {
            "description": "See `detail`.",
            "content": {"application/problem+json": {"schema": schema}},
        }
        for status in statuses
    }
