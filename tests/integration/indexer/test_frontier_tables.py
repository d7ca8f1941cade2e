"""Rows of URLs and hosts as the frontier log has them, and the state of each task, on a real database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.indexer.adapters import PostgresTables
from strider.indexer.core import (
    RowChanges,
    dropped_host_row,
    dropped_url_row,
    host_row,
    page_row,
    to_datetime,
    url_row,
)
from strider.storage.postgres import Postgres
from tests.unit.indexer.events import FETCHED_AT_MS, URL, a_host, a_page, an_entry


@pytest.fixture
def tables(postgres: Postgres) -> PostgresTables:
    return PostgresTables(postgres)


async def rows(postgres: Postgres, columns: str, table: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await postgres.fetch(f"SELECT {columns} FROM {table} ORDER BY 1")]


@pytest.mark.req("S3.4.8", "S3.11.3")
async def test_a_url_has_its_latest_frontier_state(tables: PostgresTables, postgres: Postgres) -> None:
    """A replay changes nothing, and a tombstone deletes the row."""
    later = {"updated_at_ms": FETCHED_AT_MS + 9, "state": "completed", "reason": "settled"}
    other = an_entry("https://b.test/")
    await tables.write(RowChanges(urls=[url_row(an_entry()), url_row(other)]))
    await tables.write(RowChanges(urls=[url_row(an_entry(**later))]))
    await tables.write(RowChanges(urls=[url_row(an_entry())]))
    found = await rows(postgres, "url, status, state, last_crawled_at", "urls")

    await tables.write(RowChanges(dropped_urls=[dropped_url_row(f"adhoc/{other.url_key}".encode())]))
    left = await rows(postgres, "url", "urls")

    assert found == [
        ("https://b.test/", "never_crawled", "pending", None),
        (URL, "fetched", "completed", None),
    ]
    assert left == [(URL,)]


@pytest.mark.req("S3.8.7")
@pytest.mark.req("S3.8.8", part="each column, in the table hosts by host instead of domain")
async def test_a_host_stands_as_it_was_recorded_last(tables: PostgresTables, postgres: Postgres) -> None:
    """With the text of robots.txt, also where it contains characters that the database refuses."""
    robots = a_host(kind="robots", origin="https://www.example.org", robots_text="a\x00b")
    robots = replace(robots, robots_fetched_at_ms=FETCHED_AT_MS)
    newer = a_host(
        updated_at_ms=FETCHED_AT_MS + 1,
        breaker="open",
        blocked_until_ms=FETCHED_AT_MS,
        delay_seconds=1.5,
        pages_fetched=7,
        is_active=False,
    )
    await tables.write(RowChanges(hosts=[host_row(newer), host_row(robots)]))
    await tables.write(RowChanges(hosts=[host_row(a_host())]))
    found = await rows(postgres, "name, breaker, blocked_until, robots_text", "hosts")
    counted = await rows(
        postgres, "name, robots_fetched_at, delay_seconds, pages_fetched, is_active", "hosts"
    )

    await tables.write(RowChanges(dropped_hosts=[dropped_host_row(b"www.example.org")]))

    assert found == [
        ("https://www.example.org", "closed", None, "a\N{REPLACEMENT CHARACTER}b"),
        ("www.example.org", "open", to_datetime(FETCHED_AT_MS), ""),
    ]
    assert counted == [
        ("https://www.example.org", to_datetime(FETCHED_AT_MS), 1.0, 0, True),
        ("www.example.org", None, 1.5, 7, False),
    ]
    assert await rows(postgres, "name", "hosts") == [("https://www.example.org",)]


@pytest.mark.req("S4.12.9", "S4.12.13", "S4.12.14")
@pytest.mark.req("S4.12.15", part="the state of a closed entry in the tables")
@pytest.mark.req("S4.12.12", part="the state, without a saved file")
@pytest.mark.parametrize(
    ("state", "stored", "task"),
    [
        pytest.param("pending", None, "pending", id="waits"),
        pytest.param("in_progress", None, "downloaded", id="came"),
        pytest.param("in_progress", -1, "downloaded", id="came-again"),
        pytest.param("in_progress", 0, "parsing", id="read"),
        pytest.param("completed", 0, "completed", id="done"),
        pytest.param("failed", None, "failed", id="in-vain"),
    ],
)
async def test_how_far_the_work_is_stands_beside_each_url(
    tables: PostgresTables, postgres: Postgres, state: str, stored: int | None, task: str
) -> None:
    """The rows of an earlier fetch do not describe this one."""
    entry = an_entry(state=state)
    await tables.write(RowChanges(urls=[url_row(entry)]))
    if stored is not None:
        page = a_page(fetch_sequence=entry.fetch_sequence + stored)
        await tables.write(RowChanges(pages=[page_row(page, page.page.text)]))

    assert await rows(postgres, "url, task_state", "tasks") == [(URL, task)]
