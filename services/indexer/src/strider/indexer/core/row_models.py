"""Row models, with fields in the order of the tables' columns.

Rows of pages are declared in `strider.storage.rows`, rows of products in `product_row`. The names of the
fields are the names of the columns; when a row replaces another is decided by the database adapter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, NamedTuple

from strider.contracts.generated.events import DeadLetter
from strider.storage.rows.columns import Column
from strider.storage.rows.pages import PageRow

from .product_row import ProductRow


class TouchRow(NamedTuple):
    """The columns that change for a page that the server reports as unchanged."""

    url_key: str
    job_id: str
    fetch_sequence: int
    execution_id: str
    crawl_spec_id: str
    etag: str
    last_modified: str
    crawl_duration_ms: int
    crawled_at: datetime
    validated_at: datetime


class RemovalRow(NamedTuple):
    """The key of a page that must not be stored."""

    url_key: str
    job_id: str
    fetch_sequence: int


class DecisionRow(NamedTuple):
    """Reason why one URL was not crawled, or not stored."""

    id: str
    url_key: str
    job_id: str
    url: str
    host: str
    domain: str
    execution_id: str
    crawl_spec_id: str
    decision: str
    reason: str
    detail: str
    decided_by: str
    fetch_sequence: int
    status_code: int
    depth: int
    page_url: str
    redirect_target: str
    decided_at: datetime


class FailureRow(NamedTuple):
    """A request that failed."""

    url_key: str
    job_id: str
    fetch_sequence: int
    url: str
    host: str
    domain: str
    execution_id: str
    kind: str
    outcome: str
    error_class: str
    error_category: str
    error_message: str
    status_code: int
    try_number: int
    retry_after_seconds: float
    duration_ms: int
    remote_address: str
    worker_id: str
    failed_at: datetime


class UrlRow(NamedTuple):
    """The state of a URL in the frontier of a job."""

    url_key: str
    job_id: str
    url: str
    host: str
    domain: str
    status: str
    state: str
    reason: str
    execution_id: str
    crawl_spec_id: str
    fetch_sequence: int
    http_status: int
    depth: int
    priority: int
    referrer: str
    redirect_target: str
    tries: int
    error_count: int
    error_class: str
    content_hash: str
    raw_hash: str
    unchanged_count: int
    discovered_at: datetime | None
    last_crawled_at: datetime | None
    next_crawl_at: datetime | None
    changed_at: datetime | None
    closed_at: datetime | None
    updated_at: datetime


class DroppedUrlRow(NamedTuple):
    """The key of an entry that is no longer in the frontier."""

    url_key: str
    job_id: str


class HostRow(NamedTuple):
    """The state of a host group, or an origin's robots.txt."""

    name: str
    kind: str
    group_name: str
    delay_seconds: float
    configured_delay_seconds: float
    robots_delay_seconds: float
    max_in_flight: int
    is_active: bool
    breaker: str
    blocked_until: datetime | None
    block_reason: str
    barred_until: datetime | None
    barred_by: str
    barred_for: str
    failures: int
    unreachable_since: datetime | None
    last_success_at: datetime | None
    last_error_class: str
    pages_fetched: int
    requests_failed: int
    bytes_fetched: int
    robots_state: str
    robots_text: str
    robots_status: int
    robots_url: str
    robots_fetched_at: datetime | None
    robots_expires_at: datetime | None
    sitemap_urls: Annotated[str, Column(json=list[str])]
    updated_at: datetime


class DroppedHostRow(NamedTuple):
    """The key of a host that is no longer in the log."""

    name: str


@dataclass(frozen=True, slots=True)
class RowChanges:
    """All rows that one batch of events writes."""

    pages: Sequence[PageRow] = ()
    touches: Sequence[TouchRow] = ()
    products: Sequence[ProductRow] = ()
    removals: Sequence[RemovalRow] = ()
    decisions: Sequence[DecisionRow] = ()
    failures: Sequence[FailureRow] = ()
    dead_letters: Sequence[DeadLetter] = ()
    urls: Sequence[UrlRow] = ()
    dropped_urls: Sequence[DroppedUrlRow] = ()
    hosts: Sequence[HostRow] = ()
    dropped_hosts: Sequence[DroppedHostRow] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return any(getattr(self, each.name) for each in fields(self))
