"""Rows of pages, decisions and failures."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from strider.contracts.generated.enums import DecisionReason, RejectionReason
from strider.indexer.core import (
    DecisionRow,
    FailureRow,
    RemovalRow,
    TouchRow,
    choose_stored_text,
    decision_id,
    decision_rows,
    failure_row,
    is_text_in_object,
    noindex_row,
    page_row,
    parse_text_object,
    rejection_row,
    removal_row,
    to_datetime,
    touch_row,
)
from tests.unit.indexer.events import URL, a_completion, a_decision, a_page, a_parsed, a_rejection, key

FETCHED_AT = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
VALIDATED_AT = FETCHED_AT.replace(microsecond=5000)


@pytest.mark.req("S3.6.9")
def test_a_page_becomes_a_row() -> None:
    """Columns have their values, in the units of the table."""
    page = a_page(
        body_bytes=1000,
        decoded_bytes=4000,
        depth=2,
        referrer="https://www.example.org/",
        redirect_chain=("https://example.org/old",),
        description="about",
        canonical_url="https://www.example.org/canonical",
        language="en",
        links_found=12,
        total_us=1_234_567,
        parse_us=2_500,
        text_chars=10,
        main_text_chars=8,
        error_class="bad_charset",
        error_message="guessed",
        metadata={"team": "ü"},
    )

    row = page_row(page, "stored")._asdict()

    expected = {
        "url_key": key(),
        "job_id": "adhoc",
        "url": URL,
        "host": "www.example.org",
        "domain": "example.org",
        "execution_id": "run-1",
        "crawl_spec_id": "spec",
        "fetch_sequence": 1,
        "status_code": 200,
        "content_type": "text/html",
        "content_length": 1000,
        "decoded_length": 4000,
        "content_hash": "t1",
        "raw_hash": "r1",
        "depth": 2,
        "referrer": "https://www.example.org/",
        "redirect_chain": '["https://example.org/old"]',
        "title": "A",
        "description": "about",
        "canonical_url": "https://www.example.org/canonical",
        "language": "en",
        "author": "",
        "published_at": "",
        "page_kind": "other",
        "document_kind": "html",
        "text": "stored",
        "text_length": 8,
        "word_count": 0,
        "links_count": 12,
        "validation_status": "valid",
        "quality": -1.0,
        "warnings": "[]",
        "parse_outcome": "parsed",
        "parser": "strider",
        "parser_version": "1",
        "error_message": "bad_charset: guessed",
        "truncated": False,
        "rendered": False,
        "etag": "",
        "last_modified": "",
        "body_object": "",
        "metadata": '{"team": "ü"}',
        "crawl_duration_ms": 1235,
        "parse_duration_ms": 2.5,
        "crawled_at": FETCHED_AT,
        "validated_at": VALIDATED_AT,
        "first_crawled_at": FETCHED_AT,
        "changed_at": FETCHED_AT,
    }
    assert {name: row[name] for name in expected} == expected


def test_what_has_not_changed_moves_its_row_on() -> None:
    """A 304 has no content, and must not blank the content that is there."""
    page = a_page(not_modified=True, text="", text_hash="", etag='"2"', fetch_sequence=9, total_us=900)

    assert touch_row(page) == TouchRow(
        url_key=key(),
        job_id="adhoc",
        fetch_sequence=9,
        execution_id="run-1",
        crawl_spec_id="spec",
        etag='"2"',
        last_modified="",
        crawl_duration_ms=1,
        crawled_at=FETCHED_AT,
        validated_at=VALIDATED_AT,
    )


def test_a_page_with_noindex_leaves_only_its_status() -> None:
    """A page that got a noindex is deleted, and its decision says why."""
    page = a_page(noindex=True, fetch_sequence=4, status=200, depth=1, referrer="https://www.example.org/")

    assert removal_row(page.page) == RemovalRow(key(), "adhoc", 4)
    assert noindex_row(page) == DecisionRow(
        id=decision_id("adhoc", "run-1", key(), "not_stored", "noindex", "indexer"),
        url_key=key(),
        job_id="adhoc",
        url=URL,
        host="www.example.org",
        domain="example.org",
        execution_id="run-1",
        crawl_spec_id="spec",
        decision="not_stored",
        reason="noindex",
        detail="",
        decided_by="indexer",
        fetch_sequence=4,
        status_code=200,
        depth=1,
        page_url="https://www.example.org/",
        redirect_target="",
        decided_at=VALIDATED_AT,
    )


@pytest.mark.parametrize(
    ("texts", "max_chars", "stored"),
    [
        pytest.param({"text": "all", "main_text": "main"}, 100, "main", id="main-first"),
        pytest.param({"text": "all", "main_text": ""}, 100, "all", id="else-all"),
        pytest.param({"text": "", "texts_object": "o"}, 100, "from afar", id="from-the-object-store"),
        pytest.param({"text": "abcdef"}, 4, "abc…", id="clipped"),
        pytest.param({"text": "abcdef"}, 6, "abcdef", id="just-fits"),
        pytest.param({"text": "abcdef"}, 0, "", id="none-is-wanted"),
    ],
)
def test_which_text_is_stored(texts: dict[str, str], max_chars: int, stored: str) -> None:
    page = a_parsed(**texts)

    assert choose_stored_text(page, max_chars=max_chars, object_text="from afar") == stored


@pytest.mark.parametrize(
    ("texts", "elsewhere"),
    [
        pytest.param({"text": "here"}, False, id="here"),
        pytest.param({"text": "", "texts_object": ""}, False, id="nowhere"),
        pytest.param({"text": "", "texts_object": "o"}, True, id="elsewhere"),
        pytest.param({"text": "", "main_text": "main", "texts_object": "o"}, False, id="enough-is-here"),
    ],
)
def test_only_texts_that_are_not_here_are_fetched(texts: dict[str, str], elsewhere: bool) -> None:
    assert is_text_in_object(a_parsed(**texts)) is elsewhere


@pytest.mark.parametrize(
    ("document", "text"),
    [
        pytest.param({"text": "all", "main_text": "main", "markdown": ""}, "main", id="main"),
        pytest.param({"text": "all", "main_text": ""}, "all", id="all"),
        pytest.param({}, "", id="nothing"),
    ],
)
def test_a_document_of_texts_is_read(document: dict[str, str], text: str) -> None:
    assert parse_text_object(json.dumps(document).encode()) == text


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"text": 3}', b"\xff"])
def test_what_is_no_document_of_texts_is_refused(content: bytes) -> None:
    """The page is stored without the text."""
    with pytest.raises(ValueError):
        parse_text_object(content)


@pytest.mark.parametrize(
    ("milliseconds", "moment"),
    [
        pytest.param(0, datetime(1970, 1, 1, tzinfo=UTC), id="unknown"),
        pytest.param(-5, datetime(1970, 1, 1, tzinfo=UTC), id="before-time"),
        pytest.param(1_700_000_000_001, FETCHED_AT.replace(microsecond=1000), id="plain"),
        pytest.param(2**62, datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC), id="after-time"),
    ],
)
def test_no_time_is_beyond_the_calendar(milliseconds: int, moment: datetime) -> None:
    """A wrong clock must not lose a page."""
    assert to_datetime(milliseconds) == moment


def test_each_url_of_a_decision_is_a_row() -> None:
    """Parallel arrays become rows; a single value holds for all."""
    other = "http://127.0.0.1/x"
    decided = a_decision(
        URL,
        other,
        reasons=("out_of_scope", "policy_blocked"),
        details=("", "private_address"),
        page_url="https://www.example.org/",
        depths=(1, 2),
    )

    first, second = decision_rows(decided)

    assert first == DecisionRow(
        id=decision_id("adhoc", "run-1", key(), "refused", "out_of_scope", "link-ingestion"),
        url_key=key(),
        job_id="adhoc",
        url=URL,
        host="www.example.org",
        domain="example.org",
        execution_id="run-1",
        crawl_spec_id="",
        decision="refused",
        reason="out_of_scope",
        detail="",
        decided_by="link-ingestion",
        fetch_sequence=0,
        status_code=0,
        depth=1,
        page_url="https://www.example.org/",
        redirect_target="",
        decided_at=FETCHED_AT,
    )
    assert (second.host, second.reason, second.detail, second.depth) == (
        "127.0.0.1",
        "policy_blocked",
        "private_address",
        2,
    )


def test_entries_of_several_runs_travel_together() -> None:
    """The scheduler closes entries of several jobs with one message."""
    decided = a_decision(
        URL,
        URL,
        decisions=("closed", "closed"),
        reasons=("not_found", "redirected"),
        job_id="",
        execution_id="",
        job_ids=("one", "two"),
        execution_ids=("one-1", "two-1"),
        fetch_sequences=(3, 4),
        statuses=(404, 301),
        redirect_targets=("", "https://www.example.org/b"),
    )

    rows = list(decision_rows(decided))

    assert [
        (row.job_id, row.execution_id, row.fetch_sequence, row.status_code, row.redirect_target)
        for row in rows
    ] == [("one", "one-1", 3, 404, ""), ("two", "two-1", 4, 301, "https://www.example.org/b")]
    assert rows[0].id != rows[1].id


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("javascript:void(0)", ("", ""), id="no-page"),
        pytest.param("", ("", ""), id="nothing"),
        pytest.param("https:/x/y", ("", ""), id="no-host"),
        pytest.param("https://a.co.uk/x", ("a.co.uk", "a.co.uk"), id="a-url"),
    ],
)
def test_what_is_no_url_has_no_host(text: str, place: tuple[str, str]) -> None:
    """A URL refused as invalid has its row all the same."""
    row = next(decision_rows(a_decision(text)))

    assert (row.url, row.host, row.domain) == (text, *place)


def test_texts_that_are_no_urls_have_different_refusals() -> None:
    """They have no key, and would otherwise share one row."""
    rows = list(decision_rows(a_decision("one", "two")))

    assert rows[0].id != rows[1].id


def test_a_refusal_on_the_next_page_is_the_same() -> None:
    """A site's navigation is refused once per run, not once per page."""
    first = next(decision_rows(a_decision(page_url="https://www.example.org/1")))
    again = next(decision_rows(a_decision(page_url="https://www.example.org/2", decided_at_ms=5)))
    other = next(decision_rows(a_decision(execution_id="run-2")))

    assert first.id == again.id
    assert first.id != other.id


def test_arrays_that_do_not_fit_are_no_decision() -> None:
    """A row with the wrong reason is worse than a dead letter."""
    with pytest.raises(ValueError):
        list(decision_rows(a_decision(URL, reasons=("out_of_scope", "too_deep"))))


def test_long_texts_are_clipped() -> None:
    """A URL that was refused for its length may be very long."""
    row = next(decision_rows(a_decision("x" * 10_000, details=("y" * 5_000,))))

    assert (len(row.url), len(row.detail)) == (4096, 1000)


def test_the_parts_of_an_id_cannot_be_shifted() -> None:
    """Otherwise a crafted job name could replace another decision."""
    assert decision_id("a", "bc") != decision_id("ab", "c")
    assert len(decision_id("a", "\ud800")) == 32


@pytest.mark.parametrize(
    ("word", "reason", "detail"),
    [
        pytest.param("captcha", "rejected", "captcha: .g-recaptcha", id="content"),
        pytest.param("near_duplicate", "near_duplicate", "near_duplicate: .g-recaptcha", id="duplicate"),
        pytest.param("handler_timeout", "handler_crashed", "handler_timeout: .g-recaptcha", id="our-fault"),
        pytest.param("malformed", "unreadable", "malformed: .g-recaptcha", id="unreadable"),
        pytest.param("of_tomorrow", "rejected", "of_tomorrow: .g-recaptcha", id="a-word-of-tomorrow"),
    ],
)
def test_a_rejected_page_is_not_stored(word: str, reason: str, detail: str) -> None:
    """Few reasons are stored; the detail has the original one."""
    row = rejection_row(a_rejection(rejection_reason=word, detail=".g-recaptcha", fetch_sequence=6))

    assert (row.decision, row.reason, row.detail, row.decided_by, row.fetch_sequence, row.decided_at) == (
        "not_stored",
        reason,
        detail,
        "validator",
        6,
        VALIDATED_AT,
    )


def test_an_unreadable_page_has_its_row() -> None:
    """Everything known of it is in the headers."""
    unread = a_rejection(rejection_reason="unreadable_message", rejected_by="parser")
    row = rejection_row(replace(unread, url=""))

    assert (row.url, row.url_key, row.host, row.reason) == ("", key(), "", "handler_crashed")


def test_every_rejection_has_a_decision_reason() -> None:
    """The reasons are those of the contracts."""
    reasons = {rejection_row(a_rejection(rejection_reason=word)).reason for word in RejectionReason}

    assert reasons <= set(DecisionReason)


@pytest.mark.req("S4.6.1")
@pytest.mark.req(
    "S4.6.5", part="network, of a failed request; parse and validation are declared and given to nothing"
)
def test_a_failed_request_becomes_a_row() -> None:
    """The row says how it failed, and when."""
    row = failure_row(
        a_completion(
            error_message="no head within 10 s",
            try_number=2,
            fetch_sequence=8,
            total_us=10_000_400,
            remote_address="203.0.113.9:443",
            worker_id="w1",
        )
    )

    assert row == FailureRow(
        url_key=key(),
        job_id="adhoc",
        fetch_sequence=8,
        url=URL,
        host="www.example.org",
        domain="example.org",
        execution_id="run-1",
        kind="page",
        outcome="timed_out",
        error_class="head_timeout",
        error_category="network",
        error_message="no head within 10 s",
        status_code=0,
        try_number=2,
        retry_after_seconds=-1.0,
        duration_ms=10_000,
        remote_address="203.0.113.9:443",
        worker_id="w1",
        failed_at=FETCHED_AT,
    )


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"outcome": "fetched", "status": 200}, id="fetched"),
        pytest.param({"outcome": "not_modified", "status": 304}, id="not-modified"),
        pytest.param({"outcome": "redirected", "status": 301}, id="redirected"),
        pytest.param({"outcome": "not_found", "status": 404, "kind": "robots"}, id="no-robots"),
    ],
)
def test_responses_are_no_failures(fields: dict[str, Any]) -> None:
    """A missing robots.txt is a valid answer: all is allowed."""
    assert failure_row(a_completion(**fields)) is None


def test_robots_that_cannot_be_reached_are_a_failure() -> None:
    """It is the reason why nothing of that site is crawled."""
    row = failure_row(a_completion(outcome="server_error", status=500, kind="robots"))

    assert row is not None
    assert (row.kind, row.outcome, row.status_code) == ("robots", "server_error", 500)
