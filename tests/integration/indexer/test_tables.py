"""Precedence of rows with the same key, on a real database."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from strider.indexer.adapters import PostgresTables
from strider.indexer.adapters.statements import PAGES, PRODUCTS
from strider.indexer.core import (
    PageRow,
    ProductRow,
    RowChanges,
    decision_rows,
    failure_row,
    noindex_row,
    page_row,
    rejection_row,
    removal_row,
    to_datetime,
    touch_row,
)
from strider.messaging.errors import Unavailable
from strider.storage.errors import StoreRejected
from strider.storage.migrations import downgrade
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.rows.columns import Column, columns_of
from strider.storage.rows.sql_types import sql_type
from strider.storage.upsert import Upsert
from tests.unit.indexer.events import (
    FETCHED_AT_MS,
    URL,
    a_completion,
    a_decision,
    a_letter,
    a_page,
    a_rejection,
    key,
)

_WIDEST = {
    "integer": "bigint",
    "smallint": "bigint",
    "real": "double precision",
    "timestamp with time zone": "timestamptz",
}


@pytest.fixture
def tables(postgres: Postgres) -> PostgresTables:
    return PostgresTables(postgres)


def pages(*events: Any) -> RowChanges:
    return RowChanges(pages=[page_row(event, event.page.text) for event in events])


def decided(*events: Any) -> RowChanges:
    return RowChanges(decisions=[row for event in events for row in decision_rows(event)])


async def rows(postgres: Postgres, columns: str, table: str = "crawled_pages") -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await postgres.fetch(f"SELECT {columns} FROM {table} ORDER BY 1")]


@pytest.mark.req("S3.6.9")
async def test_a_page_stands_in_its_columns(tables: PostgresTables, postgres: Postgres) -> None:
    """Rows are stored unchanged, in the column types of the tables."""
    page = a_page(
        title="Grüße \u2603",
        redirect_chain=("https://example.org/old",),
        metadata={"a": "b"},
        total_us=1500,
        body_bytes=10,
    )

    await tables.write(pages(page))

    (stored,) = await postgres.fetch("SELECT * FROM crawled_pages")
    found = dict(stored)
    assert found.pop("indexed_at") is not None
    expected = page_row(page, "some words")._asdict()
    for name in ("redirect_chain", "warnings", "metadata"):
        assert json.loads(found.pop(name)) == json.loads(expected.pop(name))
    assert found == expected


@pytest.mark.req("S3.6.9")
async def test_pages_have_indexes_for_key_domain_and_time(postgres: Postgres) -> None:
    found = await rows(postgres, "indexname, indexdef", "pg_indexes WHERE tablename = 'crawled_pages'")
    about = {name: definition.partition(" USING btree ")[2] for name, definition in found}

    assert about["crawled_pages_pkey"] == "(url_key, job_id)"
    assert about["crawled_pages_by_domain"] == "(domain, crawled_at)"
    assert about["crawled_pages_by_time"] == "(crawled_at, url_key, job_id)"


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        pytest.param(PAGES, columns_of(PageRow), id="pages"),
        pytest.param(PRODUCTS, columns_of(ProductRow, "product"), id="products"),
    ],
)
async def test_the_declared_columns_are_those_of_the_table(
    postgres: Postgres, statement: Upsert, columns: tuple[Column, ...]
) -> None:
    """After all migrations; integers and numbers may be stored in less width than they are sent in."""
    query = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = $1"
    found = await postgres.fetch(query, statement.table)
    stored = {name: _WIDEST.get(kind, kind) for name, kind in found}
    declared = {column.name: sql_type(column) for column in columns}
    computed = {name for name, _ in statement.computed} - declared.keys()

    assert stored.keys() == declared.keys() | computed
    assert {name: stored[name] for name in declared} == declared


async def test_a_page_that_comes_again_changes_nothing(tables: PostgresTables, postgres: Postgres) -> None:
    """Redelivered within one batch and in the next one."""
    await tables.write(pages(a_page(), a_page()))
    await tables.write(pages(a_page()))

    assert await rows(postgres, "url, title, fetch_sequence") == [(URL, "A", 1)]


async def test_an_older_fetch_never_replaces_a_newer_one(tables: PostgresTables, postgres: Postgres) -> None:
    """In any order, within one batch or over several."""
    new, old, oldest = (a_page(fetch_sequence=n, title=str(n)) for n in (7, 6, 5))

    await tables.write(pages(new, old))
    await tables.write(pages(oldest))

    assert await rows(postgres, "title, fetch_sequence") == [("7", 7)]


async def test_jobs_have_pages_of_their_own(tables: PostgresTables, postgres: Postgres) -> None:
    """Each extracts at its own level, and one may end while the other continues."""
    await tables.write(pages(a_page(), a_page(job_id="other")))

    assert await rows(postgres, "job_id, url_key") == [("adhoc", key()), ("other", key())]


async def test_what_was_first_and_when_it_changed_is_kept(tables: PostgresTables, postgres: Postgres) -> None:
    """The second fetch finds the same text, the third another one."""
    moments = [FETCHED_AT_MS + n * 1000 for n in range(3)]
    for number, text_hash in enumerate(("t1", "t1", "t2")):
        page = a_page(fetch_sequence=number, text_hash=text_hash, fetched_at_ms=moments[number])
        await tables.write(pages(page))
        if number == 1:
            middle = await rows(postgres, "first_crawled_at, changed_at, crawled_at")

    first, second, third = map(to_datetime, moments)
    assert middle == [(first, first, second)]
    assert await rows(postgres, "first_crawled_at, changed_at, crawled_at") == [(first, third, third)]


async def test_fetches_in_one_batch_leave_the_times_of_fetches_in_several(
    tables: PostgresTables, postgres: Postgres
) -> None:
    moments = [FETCHED_AT_MS + n * 1000 for n in range(4)]
    fetches = zip(range(4), ("t1", "t1", "t2", "t2"), moments, strict=True)

    await tables.write(
        pages(*(a_page(fetch_sequence=n, text_hash=t, fetched_at_ms=at) for n, t, at in fetches))
    )

    first, _, third, fourth = map(to_datetime, moments)
    assert await rows(postgres, "first_crawled_at, changed_at, crawled_at") == [(first, third, fourth)]


async def test_a_page_that_has_not_changed_keeps_its_content(
    tables: PostgresTables, postgres: Postgres
) -> None:
    """A 304 updates only the fetch columns, and does nothing for a page that is not stored."""
    same = a_page(
        not_modified=True,
        text="",
        title="",
        fetch_sequence=2,
        etag='"2"',
        fetched_at_ms=FETCHED_AT_MS + 60_000,
    )
    stale = a_page(not_modified=True, fetch_sequence=0, etag='"0"')
    nowhere = a_page("https://www.example.org/nowhere", not_modified=True)

    await tables.write(pages(a_page(etag='"1"')))
    await tables.write(RowChanges(touches=[touch_row(event) for event in (same, stale, nowhere)]))

    assert await rows(postgres, "url, title, text, status_code, etag, fetch_sequence, crawled_at") == [
        (URL, "A", "some words", 200, '"2"', 2, to_datetime(FETCHED_AT_MS) + timedelta(minutes=1))
    ]


async def test_one_batch_may_hold_a_page_and_its_next_look(
    tables: PostgresTables, postgres: Postgres
) -> None:
    """The page is written before what updates it."""
    page, same = a_page(fetch_sequence=1), a_page(fetch_sequence=2, not_modified=True, etag='"2"')

    await tables.write(RowChanges(pages=pages(page).pages, touches=[touch_row(same)]))

    assert await rows(postgres, "title, etag, fetch_sequence") == [("A", '"2"', 2)]


async def test_a_page_that_must_not_be_stored_goes(tables: PostgresTables, postgres: Postgres) -> None:
    """Only a newer fetch without noindex stores it again."""
    hidden, late = a_page(noindex=True, fetch_sequence=3), a_page(noindex=True, fetch_sequence=4)
    kept = a_page("https://www.example.org/kept", fetch_sequence=2)
    await tables.write(pages(a_page(fetch_sequence=2), kept))

    await tables.write(
        RowChanges(removals=[removal_row(hidden.page)], decisions=[noindex_row(hidden)]),
    )
    gone = await rows(postgres, "url")
    await tables.write(pages(a_page(fetch_sequence=5)))
    await tables.write(RowChanges(removals=[removal_row(late.page)]))

    assert gone == [(kept.page.url,)]
    assert await rows(postgres, "url, fetch_sequence") == [(URL, 5), (kept.page.url, 2)]
    assert await rows(postgres, "url, decision, reason", "url_decisions") == [(URL, "not_stored", "noindex")]


async def test_a_refusal_stays_as_it_was_made_first(postgres: Postgres) -> None:
    """The first page that linked to it stays, however often it is refused again."""
    first = a_decision(page_url="https://www.example.org/1")
    later = a_decision(page_url="https://www.example.org/2", decided_at_ms=FETCHED_AT_MS + 5)

    await PostgresTables(postgres).write(decided(later, first))
    await PostgresTables(postgres).write(decided(later))

    assert await rows(postgres, "url, reason, page_url, decided_at", "url_decisions") == [
        (URL, "out_of_scope", "https://www.example.org/1", to_datetime(FETCHED_AT_MS))
    ]


async def test_what_closed_is_as_it_was_last(postgres: Postgres) -> None:
    """The latest failure of a URL that was submitted again stays."""
    closed = {"decisions": ("closed",), "reasons": ("not_found",), "decided_by": "scheduler"}
    first = a_decision(**closed, fetch_sequences=(1,), statuses=(404,))
    again = a_decision(**closed, fetch_sequences=(2,), statuses=(410,), decided_at_ms=FETCHED_AT_MS + 9)

    for event in (first, again, first):
        await PostgresTables(postgres).write(decided(event))

    assert await rows(postgres, "reason, status_code, fetch_sequence", "url_decisions") == [
        ("not_found", 410, 2)
    ]


async def test_cached_refusals_are_not_written_again(tables: PostgresTables, postgres: Postgres) -> None:
    """A site's navigation repeats on each page; decisions that close an entry are always written."""
    closed = replace(a_decision(), decisions=("closed",), reasons=("not_found",))
    await tables.write(decided(a_decision(), closed))
    await postgres.run(lambda connection: connection.execute("DELETE FROM url_decisions"))

    await tables.write(decided(a_decision(), closed))

    assert await rows(postgres, "decision", "url_decisions") == [("closed",)]


async def test_the_cache_of_refusals_is_bounded(postgres: Postgres) -> None:
    """The oldest is evicted and may be written again."""
    tables = PostgresTables(postgres, max_cached_refusals=2)
    events = [a_decision(f"https://www.example.org/{number}") for number in range(3)]
    for event in events:
        await tables.write(decided(event))
    await postgres.run(lambda connection: connection.execute("DELETE FROM url_decisions"))

    for event in events[::-1]:
        await tables.write(decided(event))

    assert await rows(postgres, "url", "url_decisions") == [("https://www.example.org/0",)]


@pytest.mark.req("S4.1.8", part="rejections, failed requests and dead letters")
@pytest.mark.req("S4.1.4")
async def test_rejections_failures_and_dead_letters_have_their_rows(
    tables: PostgresTables, postgres: Postgres
) -> None:
    """Each once, however often it is delivered."""
    failure = failure_row(a_completion(status=0, retry_after_seconds=1.5))
    assert failure is not None
    changes = RowChanges(
        decisions=[rejection_row(a_rejection())], failures=[failure], dead_letters=[a_letter()]
    )

    await tables.write(changes)
    await tables.write(changes)

    assert await rows(postgres, "reason, detail, status_code", "url_decisions") == [
        ("rejected", "captcha", 200)
    ]
    assert await rows(postgres, "outcome, error_class, retry_after_seconds", "failed_requests") == [
        ("timed_out", "head_timeout", 1.5)
    ]
    assert await rows(postgres, "task_id, reason", "error_logs") == [(f"adhoc/{key()}", "handler_crashed")]


@pytest.mark.req("S4.4.2", part="rows are written in batches")
async def test_many_heavy_rows_go_in_parts(tables: PostgresTables, postgres: Postgres) -> None:
    """One statement of a hundred megabytes would not end in time on a small machine."""
    text = "word " * 20_000
    events = [a_page(f"https://www.example.org/{number}", text=text) for number in range(120)]
    refusals = a_decision(*(f"https://www.example.org/no/{number}" for number in range(6_000)))

    await tables.write(pages(*events))
    await tables.write(decided(refusals))

    assert await rows(postgres, "count(*), min(length(text))") == [(120, len(text))]
    assert await rows(postgres, "count(*)", "url_decisions") == [(6_000,)]


@pytest.mark.fault("S22")
async def test_texts_that_postgresql_cannot_hold_are_mended(
    tables: PostgresTables, postgres: Postgres
) -> None:
    """A NUL in a title must not lose the page."""
    await tables.write(pages(a_page(title="a\x00b\ud800c", text="x\x00")))

    assert await rows(postgres, "title, text") == [("a\ufffdb\ufffdc", "x\ufffd")]


async def test_a_row_that_no_index_takes_is_refused(tables: PostgresTables, postgres: Postgres) -> None:
    """It raises Rejected, and nothing of its part is written."""
    bad = a_page(execution_id=_without_pattern(10_000))

    with pytest.raises(StoreRejected, match="54000"):
        await tables.write(pages(a_page("https://www.example.org/good"), bad))

    assert await rows(postgres, "url") == []


async def test_two_writers_do_not_block_each_other(database: str) -> None:
    """Rows are locked in one order, so that no deadlock occurs."""
    writers = [Postgres(PostgresOptions(database, max_connections=2)) for _ in range(2)]
    events = [a_page(f"https://www.example.org/{number}", fetch_sequence=1) for number in range(300)]
    try:
        await asyncio.gather(
            PostgresTables(writers[0]).write(pages(*events)),
            PostgresTables(writers[1]).write(pages(*reversed(events))),
        )
        found = await rows(writers[0], "count(*)")
    finally:
        for writer in writers:
            await writer.close()

    assert found == [(300,)]


async def test_missing_tables_pause_the_service(postgres_dsn: str) -> None:
    """No valid message becomes a dead letter because of a missing migration."""
    postgres = Postgres(PostgresOptions(postgres_dsn))
    tables = PostgresTables(postgres)
    try:
        with pytest.raises(Unavailable, match=r"missing tables: crawled_pages.*run: strider migrate up"):
            await tables.check_tables()
        with pytest.raises(Unavailable, match="run: strider migrate up"):
            await tables.write(pages(a_page()))
    finally:
        await postgres.close()


async def test_the_tables_that_are_queried_are_those_of_the_migrations(
    tables: PostgresTables, database: str
) -> None:
    await tables.check_tables()
    await downgrade(database, revision="0001")

    with pytest.raises(Unavailable, match=r"missing tables: crawled_pages, .*, urls, hosts;"):
        await tables.check_tables()


def _without_pattern(characters: int) -> str:
    """Return a text that does not compress: an index accepts long ones that do."""
    return "".join(key(f"https://a.test/{number}") for number in range(characters // 64))
