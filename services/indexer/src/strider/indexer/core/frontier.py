"""Rows of the frontier's entries, of hosts, and of their robots.txt.

Both logs keep the latest record of each key; so does the table. A tombstone in a log deletes the row.
"""

from __future__ import annotations

import json
from datetime import datetime

from strider.contracts.entry_states import url_status
from strider.contracts.generated.events import EntryRecorded, HostRecorded
from strider.storage.rows.values import MAX_URL_CHARACTERS, clip, host_and_domain, to_datetime

from .row_models import DroppedHostRow, DroppedUrlRow, HostRow, UrlRow


def url_row(entry: EntryRecorded) -> UrlRow:
    """Return the row of an entry."""
    host, domain = host_and_domain(entry.url)
    is_open = not entry.closed_at_ms
    return UrlRow(
        url_key=entry.url_key,
        job_id=entry.job_id,
        url=clip(entry.url, MAX_URL_CHARACTERS),
        host=host,
        domain=domain,
        status=url_status(entry).value,
        state=entry.state,
        reason=entry.reason,
        execution_id=entry.execution_id,
        crawl_spec_id=entry.crawl_spec_id,
        fetch_sequence=entry.fetch_sequence,
        http_status=entry.status,
        depth=entry.depth,
        priority=entry.priority,
        referrer=clip(entry.referrer, MAX_URL_CHARACTERS),
        redirect_target=clip(entry.redirect_target, MAX_URL_CHARACTERS),
        tries=entry.tries,
        error_count=entry.error_count,
        error_class=entry.error_class,
        content_hash=entry.text_hash,
        raw_hash=entry.raw_hash,
        unchanged_count=entry.unchanged_count,
        discovered_at=_optional_datetime(entry.discovered_at_ms),
        last_crawled_at=_optional_datetime(entry.fetched_at_ms),
        next_crawl_at=_optional_datetime(entry.due_at_ms if is_open else entry.next_crawl_at_ms),
        changed_at=_optional_datetime(entry.changed_at_ms),
        closed_at=_optional_datetime(entry.closed_at_ms),
        updated_at=to_datetime(entry.updated_at_ms),
    )


def dropped_url_row(key: bytes) -> DroppedUrlRow:
    """Return the row to delete for an entry's tombstone: its key is the job id, a slash, the URL's key."""
    job_id, _, url_key = key.decode("utf-8", "replace").rpartition("/")
    return DroppedUrlRow(url_key, job_id)


def host_row(record: HostRecorded) -> HostRow:
    """Return the row of a host group, or of an origin's robots.txt."""
    return HostRow(
        name=record.origin or record.group,
        kind=record.kind,
        group_name=record.group,
        delay_seconds=record.delay_seconds,
        configured_delay_seconds=record.configured_delay_seconds,
        robots_delay_seconds=record.robots_delay_seconds,
        max_in_flight=record.max_in_flight,
        is_active=record.is_active,
        breaker=record.breaker,
        blocked_until=_optional_datetime(record.blocked_until_ms),
        block_reason=record.block_reason,
        barred_until=_optional_datetime(record.barred_until_ms),
        barred_by=record.blocked_by,
        barred_for=record.block_detail,
        failures=record.failures,
        unreachable_since=_optional_datetime(record.unreachable_since_ms),
        last_success_at=_optional_datetime(record.last_success_at_ms),
        last_error_class=record.last_error_class,
        pages_fetched=record.pages_fetched,
        requests_failed=record.requests_failed,
        bytes_fetched=record.bytes_fetched,
        robots_state=record.robots_state,
        robots_text=record.robots_text,
        robots_status=record.robots_status,
        robots_url=clip(record.robots_url, MAX_URL_CHARACTERS),
        robots_fetched_at=_optional_datetime(record.robots_fetched_at_ms),
        robots_expires_at=_optional_datetime(record.robots_expires_at_ms),
        sitemap_urls=json.dumps(record.sitemap_urls),
        updated_at=to_datetime(record.updated_at_ms),
    )


def dropped_host_row(key: bytes) -> DroppedHostRow:
    """Return the row to delete for a host's tombstone."""
    return DroppedHostRow(key.decode("utf-8", "replace"))


def _optional_datetime(milliseconds: int) -> datetime | None:
    """Return milliseconds since 1970 as a time; None for 0."""
    return to_datetime(milliseconds) if milliseconds else None
