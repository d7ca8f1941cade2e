"""Rows where they meet: which of them stays, on a real database."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from strider.indexer.adapters import PostgresTables
from strider.indexer.core import (
    Changes,
    decisions_of,
    dropped_host_of,
    dropped_url_of,
    failure_of,
    host_row_of,
    moment_of,
    noindex_decision,
    rejection_of,
    removal_of,
    row_of,
    touch_of,
    url_row_of,
)
from strider.runtime.errors import Unavailable
from strider.stores.errors import Rejected
from strider.stores.migrations import downgrade
from strider.stores.postgres import Postgres, PostgresOptions
from tests.unit.indexer.events import (
    FETCHED_AT_MS,
    URL,
    a_completion,
    a_decision,
    a_host,
    a_letter,
    a_page,
    a_rejection,
    an_entry,
    key,
)


@pytest.fixture
def tables(postgres: Postgres) -> PostgresTables:
    return PostgresTables(postgres)


def pages(*events: Any) -> Changes:
    return Changes(pages=[row_of(event, event.page.text) for event in events])


def decided(*events: Any) -> Changes:
    return Changes(decisions=[row for event in events for row in decisions_of(event)])


async def rows(postgres: Postgres, columns: str, table: str = "crawled_pages") -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await postgres.fetch(f"SELECT {columns} FROM {table} ORDER BY 1")]


@pytest.mark.req("S3.6.9", part="the columns")
async def test_a_page_stands_in_its_columns(tables: PostgresTables, postgres: Postgres) -> None:
    """What goes in comes out, in the types that people query by."""
    page = a_page(
        title="Grüße \u2603",
        redirect_chain=("https://example.org/old",),
        metadata={"a": "b"},
        total_us=1500,
        body_bytes=10,
    )

    await tables.keep(pages(page))

    (stored,) = await postgres.fetch("SELECT * FROM crawled_pages")
    found = dict(stored)
    assert found.pop("indexed_at") is not None
    expected = row_of(page, "some words")._asdict()
    for name in ("redirect_chain", "warnings", "metadata"):
        assert json.loads(found.pop(name)) == json.loads(expected.pop(name))
    assert found == expected


async def test_a_page_that_comes_again_changes_nothing(tables: PostgresTables, postgres: Postgres) -> None:
    """Redelivered, within one batch and in the next one."""
    await tables.keep(pages(a_page(), a_page()))
    await tables.keep(pages(a_page()))

    assert await rows(postgres, "url, title, fetch_sequence") == [(URL, "A", 1)]


async def test_an_older_fetch_never_replaces_a_newer_one(tables: PostgresTables, postgres: Postgres) -> None:
    """Whatever the order in which they come, within a batch or over several."""
    new, old, oldest = (a_page(fetch_sequence=n, title=str(n)) for n in (7, 6, 5))

    await tables.keep(pages(new, old))
    await tables.keep(pages(oldest))

    assert await rows(postgres, "title, fetch_sequence") == [("7", 7)]


async def test_jobs_have_pages_of_their_own(tables: PostgresTables, postgres: Postgres) -> None:
    """Each extracts what it was asked to, and one may end while the other goes on."""
    await tables.keep(pages(a_page(), a_page(job_id="other")))

    assert await rows(postgres, "job_id, url_key") == [("adhoc", key()), ("other", key())]


async def test_what_was_first_and_when_it_changed_is_kept(tables: PostgresTables, postgres: Postgres) -> None:
    """The second fetch finds the same text, the third one another."""
    moments = [FETCHED_AT_MS + n * 1000 for n in range(3)]
    for number, text_hash in enumerate(("t1", "t1", "t2")):
        page = a_page(fetch_sequence=number, text_hash=text_hash, fetched_at_ms=moments[number])
        await tables.keep(pages(page))
        if number == 1:
            middle = await rows(postgres, "first_crawled_at, changed_at, crawled_at")

    first, second, third = map(moment_of, moments)
    assert middle == [(first, first, second)]
    assert await rows(postgres, "first_crawled_at, changed_at, crawled_at") == [(first, third, third)]


async def test_a_page_that_has_not_changed_keeps_its_content(
    tables: PostgresTables, postgres: Postgres
) -> None:
    """A 304 says only that it was looked at; one for a page that is not there says nothing."""
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

    await tables.keep(pages(a_page(etag='"1"')))
    await tables.keep(Changes(touches=[touch_of(event) for event in (same, stale, nowhere)]))

    assert await rows(postgres, "url, title, text, status_code, etag, fetch_sequence, crawled_at") == [
        (URL, "A", "some words", 200, '"2"', 2, moment_of(FETCHED_AT_MS) + timedelta(minutes=1))
    ]


async def test_one_batch_may_hold_a_page_and_its_next_look(
    tables: PostgresTables, postgres: Postgres
) -> None:
    """The page is written before what moves it on."""
    page, same = a_page(fetch_sequence=1), a_page(fetch_sequence=2, not_modified=True, etag='"2"')

    await tables.keep(Changes(pages=pages(page).pages, touches=[touch_of(same)]))

    assert await rows(postgres, "title, etag, fetch_sequence") == [("A", '"2"', 2)]


async def test_a_page_that_must_not_be_stored_goes(tables: PostgresTables, postgres: Postgres) -> None:
    """And comes back only by a newer fetch that may be stored."""
    hidden, late = a_page(noindex=True, fetch_sequence=3), a_page(noindex=True, fetch_sequence=4)
    kept = a_page("https://www.example.org/kept", fetch_sequence=2)
    await tables.keep(pages(a_page(fetch_sequence=2), kept))

    await tables.keep(
        Changes(removals=[removal_of(hidden.page)], decisions=[noindex_decision(hidden)]),
    )
    gone = await rows(postgres, "url")
    await tables.keep(pages(a_page(fetch_sequence=5)))
    await tables.keep(Changes(removals=[removal_of(late.page)]))

    assert gone == [(kept.page.url,)]
    assert await rows(postgres, "url, fetch_sequence") == [(URL, 5), (kept.page.url, 2)]
    assert await rows(postgres, "url, decision, reason", "url_decisions") == [(URL, "not_stored", "noindex")]


async def test_a_refusal_stays_as_it_was_made_first(postgres: Postgres) -> None:
    """The first page that linked to it answers "where was it found?", however often it comes again."""
    first = a_decision(page_url="https://www.example.org/1")
    later = a_decision(page_url="https://www.example.org/2", decided_at_ms=FETCHED_AT_MS + 5)

    await PostgresTables(postgres).keep(decided(later, first))
    await PostgresTables(postgres).keep(decided(later))

    assert await rows(postgres, "url, reason, page_url, decided_at", "url_decisions") == [
        (URL, "out_of_scope", "https://www.example.org/1", moment_of(FETCHED_AT_MS))
    ]


async def test_what_closed_is_as_it_was_last(postgres: Postgres) -> None:
    """Submitted again, it failed again: the latest failure is the one that people ask about."""
    closed = {"decisions": ("closed",), "reasons": ("not_found",), "decided_by": "scheduler"}
    first = a_decision(**closed, fetch_sequences=(1,), statuses=(404,))
    again = a_decision(**closed, fetch_sequences=(2,), statuses=(410,), decided_at_ms=FETCHED_AT_MS + 9)

    for event in (first, again, first):
        await PostgresTables(postgres).keep(decided(event))

    assert await rows(postgres, "reason, status_code, fetch_sequence", "url_decisions") == [
        ("not_found", 410, 2)
    ]


async def test_known_refusals_are_not_written_again(tables: PostgresTables, postgres: Postgres) -> None:
    """A site's navigation comes with each of its pages; what closes an entry is always written."""
    closed = replace(a_decision(), decisions=("closed",), reasons=("not_found",))
    await tables.keep(decided(a_decision(), closed))
    await postgres.run(lambda connection: connection.execute("DELETE FROM url_decisions"))

    await tables.keep(decided(a_decision(), closed))

    assert await rows(postgres, "decision", "url_decisions") == [("closed",)]


async def test_only_so_many_refusals_are_known(postgres: Postgres) -> None:
    """The oldest is forgotten, and written again at no harm."""
    tables = PostgresTables(postgres, known_refusals=2)
    events = [a_decision(f"https://www.example.org/{number}") for number in range(3)]
    for event in events:
        await tables.keep(decided(event))
    await postgres.run(lambda connection: connection.execute("DELETE FROM url_decisions"))

    for event in events[::-1]:
        await tables.keep(decided(event))

    assert await rows(postgres, "url", "url_decisions") == [("https://www.example.org/0",)]


@pytest.mark.req("S4.1.8", part="rejections, failed requests and dead letters")
@pytest.mark.req("S4.1.4")
async def test_rejections_failures_and_letters_have_their_rows(
    tables: PostgresTables, postgres: Postgres
) -> None:
    """Each once, however often it comes."""
    failure = failure_of(a_completion(status=0, retry_after_seconds=1.5))
    assert failure is not None
    changes = Changes(decisions=[rejection_of(a_rejection())], failures=[failure], letters=[a_letter()])

    await tables.keep(changes)
    await tables.keep(changes)

    assert await rows(postgres, "reason, detail, status_code", "url_decisions") == [
        ("rejected", "captcha", 200)
    ]
    assert await rows(postgres, "outcome, error_class, retry_after_seconds", "failed_requests") == [
        ("timed_out", "head_timeout", 1.5)
    ]
    assert await rows(postgres, "task_id, reason", "error_logs") == [(f"adhoc/{key()}", "handler_crashed")]


@pytest.mark.req("S3.4.8", "S3.11.3")
async def test_a_url_stands_as_the_frontier_said_last(tables: PostgresTables, postgres: Postgres) -> None:
    """A replay of what was said before changes nothing, and what was dropped goes."""
    later = {"updated_at_ms": FETCHED_AT_MS + 9, "state": "completed", "reason": "settled"}
    other = an_entry("https://b.test/")
    await tables.keep(Changes(urls=[url_row_of(an_entry()), url_row_of(other)]))
    await tables.keep(Changes(urls=[url_row_of(an_entry(**later))]))
    await tables.keep(Changes(urls=[url_row_of(an_entry())]))
    found = await rows(postgres, "url, status, state, last_crawled_at", "urls")

    await tables.keep(Changes(dropped_urls=[dropped_url_of(f"adhoc/{other.url_key}".encode())]))
    left = await rows(postgres, "url", "urls")

    assert found == [
        ("https://b.test/", "never_crawled", "pending", None),
        (URL, "fetched", "completed", None),
    ]
    assert left == [(URL,)]


@pytest.mark.req("S3.8.8", part="the text of robots.txt")
async def test_a_host_stands_as_it_was_recorded_last(tables: PostgresTables, postgres: Postgres) -> None:
    """With what robots.txt said, also where that holds characters that the database does not take."""
    robots = a_host(kind="robots", origin="https://www.example.org", robots_text="a\x00b")
    newer = a_host(updated_at_ms=FETCHED_AT_MS + 1, breaker="open", blocked_until_ms=FETCHED_AT_MS)
    await tables.keep(Changes(hosts=[host_row_of(newer), host_row_of(robots)]))
    await tables.keep(Changes(hosts=[host_row_of(a_host())]))
    found = await rows(postgres, "name, breaker, blocked_until, robots_text", "hosts")

    await tables.keep(Changes(dropped_hosts=[dropped_host_of(b"www.example.org")]))

    assert found == [
        ("https://www.example.org", "closed", None, "a\N{REPLACEMENT CHARACTER}b"),
        ("www.example.org", "open", moment_of(FETCHED_AT_MS), ""),
    ]
    assert await rows(postgres, "name", "hosts") == [("https://www.example.org",)]


async def test_many_heavy_rows_go_in_parts(tables: PostgresTables, postgres: Postgres) -> None:
    """One statement of a hundred megabytes would not end in time on a small machine."""
    text = "word " * 20_000
    events = [a_page(f"https://www.example.org/{number}", text=text) for number in range(120)]
    refusals = a_decision(*(f"https://www.example.org/no/{number}" for number in range(6_000)))

    await tables.keep(pages(*events))
    await tables.keep(decided(refusals))

    assert await rows(postgres, "count(*), min(length(text))") == [(120, len(text))]
    assert await rows(postgres, "count(*)", "url_decisions") == [(6_000,)]


async def test_texts_that_postgresql_cannot_hold_are_mended(
    tables: PostgresTables, postgres: Postgres
) -> None:
    """A NUL in a title must not cost the page, let alone the batch."""
    await tables.keep(pages(a_page(title="a\x00b\ud800c", text="x\x00")))

    assert await rows(postgres, "title, text") == [("a\ufffdb\ufffdc", "x\ufffd")]


async def test_a_row_that_no_index_takes_is_refused(tables: PostgresTables, postgres: Postgres) -> None:
    """Rejected: a message of its own to the dead letters, and nothing of its part is half written."""
    bad = a_page(execution_id=_without_pattern(10_000))

    with pytest.raises(Rejected, match="54000"):
        await tables.keep(pages(a_page("https://www.example.org/good"), bad))

    assert await rows(postgres, "url") == []


async def test_two_writers_do_not_block_each_other(database: str) -> None:
    """Rows are taken in one order, so that no circle comes about; both finish, and nothing is lost."""
    writers = [Postgres(PostgresOptions(database, max_connections=2)) for _ in range(2)]
    events = [a_page(f"https://www.example.org/{number}", fetch_sequence=1) for number in range(300)]
    try:
        await asyncio.gather(
            PostgresTables(writers[0]).keep(pages(*events)),
            PostgresTables(writers[1]).keep(pages(*reversed(events))),
        )
        found = await rows(writers[0], "count(*)")
    finally:
        for writer in writers:
            await writer.close()

    assert found == [(300,)]


async def test_tables_that_are_not_there_are_waited_for(postgres_dsn: str) -> None:
    """Not one good message goes to the dead letters because somebody forgot to migrate."""
    postgres = Postgres(PostgresOptions(postgres_dsn))
    tables = PostgresTables(postgres)
    try:
        with pytest.raises(Unavailable, match=r"there is no table crawled_pages.*run: strider migrate up"):
            await tables.require()
        with pytest.raises(Unavailable, match="run: strider migrate up"):
            await tables.keep(pages(a_page()))
    finally:
        await postgres.close()


async def test_the_tables_that_are_asked_for_are_those_of_the_migrations(
    tables: PostgresTables, database: str
) -> None:
    await tables.require()
    await downgrade(database, revision="0001")

    with pytest.raises(Unavailable, match=r"no table crawled_pages, .*, urls, hosts;"):
        await tables.require()


def _without_pattern(characters: int) -> str:
    """Make a text that does not compress: an index takes long ones that do."""
    return "".join(key(f"https://a.test/{number}") for number in range(characters // 64))


@pytest.mark.req("S4.12.13", "S4.12.9", "S4.12.14")
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
    """The page of an earlier fetch says nothing of this one."""
    entry = an_entry(state=state)
    await tables.keep(Changes(urls=[url_row_of(entry)]))
    if stored is not None:
        await tables.keep(pages(a_page(fetch_sequence=entry.fetch_sequence + stored)))

    assert await rows(postgres, "url, task_state", "tasks") == [(URL, task)]
