"""Responses about URLs of the frontier and discovered links, as in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from strider.api.routes.examples import CURSOR, MOMENT, URL, URL_KEY
from strider.api.routes.response_models import Moment, with_example

_ENTRY: Final[dict[str, Any]] = {
    "url_key": URL_KEY,
    "job_id": "news",
    "url": URL,
    "host": "example.org",
    "domain": "example.org",
    "status": "never_crawled",
    "state": "pending",
    "reason": "accepted",
    "execution_id": "news-2026-11-18",
    "crawl_spec_id": "3f1a",
    "http_status": None,
    "depth": 1,
    "priority": 2,
    "referrer": "https://example.org/",
    "redirect_target": "",
    "tries": 0,
    "error_count": 0,
    "error_class": "",
    "discovered_at": MOMENT,
    "last_crawled_at": None,
    "due_at": MOMENT,
    "closed_at": None,
    "updated_at": MOMENT,
    "open": True,
    "place": None,
}
_ENTRY_PATH: Final = f"/api/v1/frontier/{URL_KEY}?job=news"


class EntryResponse(BaseModel):
    """A URL of a job in the frontier."""

    url_key: str
    job_id: str
    url: str
    host: str
    domain: str
    status: str
    """In one word: `never_crawled`, `fetched`, `failed` or `blocked`."""
    state: str
    """`pending`, `in_progress`, `completed` or `failed`."""
    reason: str
    execution_id: str
    crawl_spec_id: str
    http_status: int | None = None
    depth: int
    priority: int
    """3 high, 2 medium, 1 low, 0 discovery."""
    referrer: str
    redirect_target: str
    tries: int
    error_count: int
    error_class: str
    discovered_at: Moment | None = None
    last_crawled_at: Moment | None = None
    due_at: Moment | None = None
    """Not requested before; of a closed URL when it is crawled again, null for never."""
    closed_at: Moment | None = None
    updated_at: Moment
    open: bool
    place: str | None = None
    """Where the working set has it: `waiting`, `issued` (its request is published), `started` (at a fetcher),
    `in_ring` (its page is processed), empty where it is not there; null in lists, and where Redis does not
    respond.
    """


class EntryList(BaseModel):
    """URLs of the frontier, by URL key."""

    model_config = with_example({"items": [_ENTRY], "next": CURSOR})
    items: list[EntryResponse]
    next: str | None
    """The cursor of the next page of the list; null at the end."""


class UrlDecisionResponse(BaseModel):
    """A decision about the URL."""

    id: str
    job_id: str
    url: str
    host: str
    execution_id: str
    decision: str
    reason: str
    detail: str
    decided_by: str
    page_url: str
    decided_at: Moment


class UrlFailureResponse(BaseModel):
    """A request for the URL that brought no page."""

    job_id: str
    execution_id: str
    kind: str
    outcome: str
    error_class: str
    error_message: str
    status_code: int
    try_number: int
    failed_at: Moment


class UrlPageResponse(BaseModel):
    """A stored page of the URL."""

    job_id: str
    execution_id: str
    status_code: int
    title: str
    crawled_at: Moment


class UrlHostResponse(BaseModel):
    """Record of the URL's host group, or of its origin's robots.txt."""

    name: str
    kind: str
    delay_seconds: float
    is_active: bool
    breaker: str
    blocked_until: Moment | None
    block_reason: str
    barred_until: Moment | None
    """Until when an operator blocks it."""
    barred_by: str
    barred_for: str
    unreachable_since: Moment | None
    robots_state: str


class UrlResponse(BaseModel):
    """All that is stored of a URL: a moment behind the frontier, which is the record."""

    model_config = with_example(
        {
            "url_key": URL_KEY,
            "url": URL,
            "entries": [{**_ENTRY, "place": "waiting"}],
            "decisions": [],
            "failures": [],
            "pages": [],
            "hosts": [],
        }
    )
    url_key: str
    url: str
    entries: list[EntryResponse]
    """One for each job."""
    decisions: list[UrlDecisionResponse]
    failures: list[UrlFailureResponse]
    pages: list[UrlPageResponse]
    hosts: list[UrlHostResponse]


class SubmissionResponse(BaseModel):
    """A URL that was submitted: the broker has it, link-ingestion decides about it."""

    model_config = with_example(
        {
            "url": URL,
            "url_key": URL_KEY,
            "job_id": "news",
            "entry": _ENTRY_PATH,
            "decisions": f"/api/v1/decisions?key={URL_KEY}&job=news",
        }
    )
    url: str
    url_key: str
    job_id: str
    entry: str
    """Path of the entry, once it is accepted."""
    decisions: str
    """Path of the decisions about it, such as a refusal."""


class CancelledEntry(BaseModel):
    """An entry whose cancellation is published."""

    job_id: str
    execution_id: str


class CancellationResponse(BaseModel):
    """A URL that is taken out of the queue; its schedulers apply it within a second."""

    model_config = with_example(
        {
            "url_key": URL_KEY,
            "url": URL,
            "by": "ada",
            "reason": "The site asked us to.",
            "cancelled": [{"job_id": "news", "execution_id": "news-2026-11-18"}],
            "entry": _ENTRY_PATH,
        }
    )
    url_key: str
    url: str
    by: str
    reason: str
    cancelled: list[CancelledEntry]
    entry: str
    """Path of the entry, whose reason becomes `cancelled`."""


_LINK: Final[dict[str, Any]] = {
    "id": "5e1f6a1c-0f7e-5b9c-9a53-1c1a2b3c4d5e",
    "outcome": "refused",
    "url_key": URL_KEY,
    "job_id": "news",
    "url": "https://example.net/",
    "host": "example.net",
    "domain": "example.net",
    "page_url": URL,
    "execution_id": "news-2026-11-18",
    "reason": "out_of_scope",
    "detail": "",
    "state": "",
    "depth": 2,
    "found_at": MOMENT,
}


class LinkResponse(BaseModel):
    """A link that was found on a page, and what was decided about it."""

    model_config = with_example(_LINK)
    id: str
    outcome: str
    """`accepted` into the frontier, or `refused`."""
    url_key: str
    job_id: str
    url: str
    host: str
    domain: str
    page_url: str
    """The page that it was found on; of an accepted link the first one."""
    execution_id: str
    reason: str
    """Of a refusal; of an accepted link why it is in its state."""
    detail: str
    state: str
    """Of an accepted link, as in the frontier."""
    depth: int | None
    found_at: Moment


class LinkList(BaseModel):
    """Discovered links, by URL key."""

    model_config = with_example({"items": [_LINK], "next": CURSOR})
    items: list[LinkResponse]
    next: str | None
    """The cursor of the next page of the list; null at the end."""
