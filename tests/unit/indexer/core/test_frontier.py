"""Rows of the frontier's records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strider.indexer.core import (
    DroppedHostRow,
    DroppedUrlRow,
    dropped_host_row,
    dropped_url_row,
    host_row,
    to_datetime,
    url_row,
)
from tests.unit.indexer.events import FETCHED_AT_MS, URL, a_host, an_entry, key


@pytest.mark.req("S3.6.1", "S3.6.4", "S3.6.5")
@pytest.mark.req(
    "S3.5.8", part="url, hash, domain, priority, depth, status and the times of discovery and update"
)
@pytest.mark.req("S3.6.2", part="the domain; URLs as they are fetched, not normalized")
@pytest.mark.req("S3.6.7", part="the column, as an entry says it")
def test_an_entry_becomes_a_row() -> None:
    entry = an_entry(
        state="failed",
        reason="server_error",
        status=503,
        tries=3,
        error_count=3,
        error_class="server_error",
        fetched_at_ms=FETCHED_AT_MS,
        closed_at_ms=FETCHED_AT_MS + 5,
        next_crawl_at_ms=FETCHED_AT_MS + 60_000,
    )

    row = url_row(entry)

    assert (row.url_key, row.job_id, row.url) == (key(), "adhoc", URL)
    assert (row.host, row.domain) == ("www.example.org", "example.org")
    assert (row.status, row.http_status, row.error_count) == ("failed", 503, 3)
    assert (row.depth, row.priority, row.state) == (entry.depth, entry.priority, "failed")
    assert row.updated_at == to_datetime(entry.updated_at_ms)
    assert row.discovered_at == to_datetime(FETCHED_AT_MS - 1000)
    assert row.last_crawled_at == to_datetime(FETCHED_AT_MS)
    assert row.next_crawl_at == to_datetime(FETCHED_AT_MS + 60_000)
    assert row.changed_at is None


@pytest.mark.req("S3.6.3")
@pytest.mark.parametrize(
    ("fields", "status"),
    [
        pytest.param({}, "never_crawled", id="waits"),
        pytest.param(
            {"state": "in_progress", "fetched_at_ms": FETCHED_AT_MS}, "fetched", id="in the pipeline"
        ),
        pytest.param({"state": "completed", "reason": "settled"}, "fetched", id="done"),
        pytest.param({"state": "failed", "reason": "timed_out", "tries": 3}, "failed", id="in vain"),
        pytest.param({"state": "failed", "reason": "robots_denied"}, "blocked", id="forbidden"),
    ],
)
def test_a_url_has_one_status(fields: dict[str, Any], status: str) -> None:
    assert url_row(an_entry(**fields)).status == status


def test_what_is_open_is_due_and_what_is_closed_may_come_again() -> None:
    still_open = an_entry(next_crawl_at_ms=FETCHED_AT_MS + 9)
    closed = an_entry(state="completed", reason="settled", closed_at_ms=FETCHED_AT_MS)

    assert url_row(still_open).next_crawl_at == to_datetime(FETCHED_AT_MS + 1000)
    assert url_row(closed).next_crawl_at is None


def test_a_dropped_entry_is_named_by_its_key() -> None:
    """A job may have a slash in its name; the key of a URL has none."""
    assert dropped_url_row(f"shop/news/{key()}".encode()) == DroppedUrlRow(key(), "shop/news")


@pytest.mark.req("S3.8.7")
def test_the_last_good_copy_of_a_robots_txt_has_its_row() -> None:
    record = a_host(
        kind="robots",
        origin="https://www.example.org",
        robots_state="fetched",
        robots_text="User-agent: *\nDisallow: /x",
        robots_status=200,
        robots_fetched_at_ms=FETCHED_AT_MS,
        sitemap_urls=("https://www.example.org/s.xml",),
    )

    row = host_row(record)

    assert (row.name, row.group_name) == ("https://www.example.org", "www.example.org")
    assert (row.robots_text, row.robots_status) == (record.robots_text, 200)
    assert row.robots_fetched_at == to_datetime(FETCHED_AT_MS)
    assert json.loads(row.sitemap_urls) == ["https://www.example.org/s.xml"]
    assert dropped_host_row(b"https://www.example.org") == DroppedHostRow(row.name)


def test_a_group_is_its_own_name_and_a_block_without_end_fits_the_calendar() -> None:
    row = host_row(a_host(barred_until_ms=(1 << 48) - 1, blocked_by="ann", block_detail="asked to"))

    assert row.name == row.group_name == "www.example.org"
    assert row.barred_until is not None
    assert (row.barred_until.year, row.barred_by, row.barred_for) == (9999, "ann", "asked to")
    assert row.blocked_until is None
