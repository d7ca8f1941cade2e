"""Settled pages: the verdict, the facts, and what is known when nothing could be read."""

from __future__ import annotations

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.partial_decode import is_partial
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import PageRejected, PageSettled
from strider.contracts.generated.topics import PAGES_VALIDATED
from strider.link_ingestion.core import LinkCounts, settle, settle_rejected, settle_undecodable
from strider.link_ingestion.core.page_links import USED_FIELDS

from .builders import a_page, admitted, validated


def test_a_page_is_admitted_and_settled_without_being_read_whole() -> None:
    """Its text, which is half of a page, is nothing to its links."""
    codec = Codec(SchemaStore.bundled())
    whole = a_page("https://www.a.test/next", alternate_urls=("https://www.a.test/feed",), text="words")
    event = codec.decode(PAGES_VALIDATED, *codec.encode(PAGES_VALIDATED, validated(whole)), only=USED_FIELDS)
    counts = LinkCounts(found=9)

    assert admitted(event.page) == admitted(whole)
    assert settle(event.page, counts, now_ms=77) == settle(whole, counts, now_ms=77)
    assert is_partial(event.page)


def test_a_page_is_settled_with_what_recrawling_is_decided_by() -> None:
    """Text hash, kind, pagination and numbers of links; the scheduler keeps no page."""
    page = a_page(
        raw_hash="r",
        text_hash="t",
        page_kind="list",
        document_kind="html",
        is_start=True,
        pagination_pattern="https://www.a.test/p/{N}",
        pagination_number=2,
        no_results=True,
        noindex=True,
        text_chars=120,
        status=203,
        etag='"e"',
        last_modified="yesterday",
        total_us=1_500,
        body_bytes=99,
    )

    assert settle(page, LinkCounts(found=9, accepted=1, seen=5, refused=3), now_ms=77) == PageSettled(
        url_key=page.url_key,
        group="www.a.test",
        job_id="adhoc",
        execution_id=page.execution_id,
        fetch_sequence=7,
        verdict="valid",
        settled_at_ms=77,
        url=page.url,
        raw_hash="r",
        text_hash="t",
        page_kind="list",
        document_kind="html",
        is_start=True,
        links_found=9,
        links_taken=1,
        links_seen=5,
        links_refused=3,
        pagination_pattern="https://www.a.test/p/{N}",
        pagination_number=2,
        no_results=True,
        noindex=True,
        text_chars=120,
        status=203,
        etag='"e"',
        last_modified="yesterday",
        total_us=1_500,
        body_bytes=99,
    )


def test_an_unchanged_page_is_settled_as_such() -> None:
    """It has neither text nor links; its interval doubles."""
    settled = settle(a_page(not_modified=True), LinkCounts(), now_ms=77)

    assert (settled.verdict, settled.not_modified) == ("not_modified", True)


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("soft_not_found", "rejected"),
        ("captcha", "rejected"),
        ("parser_crashed", "rejected"),
        ("handler_crashed", "given_up"),
        ("handler_timeout", "given_up"),
        ("unreadable_message", "given_up"),
    ],
)
def test_a_rejection_names_the_cause(reason: str, verdict: str) -> None:
    """A page that we crashed on says nothing about the site."""
    page = PageRejected(
        url_key="k",
        group="a.test",
        job_id="j",
        execution_id="e",
        fetch_sequence=7,
        validation_status="rejected",
        rejection_reason=reason,
        rejection_kind="hard",
        rejected_by="validator",
        rejected_at_ms=5,
        url="https://a.test/",
        detail="in the title",
        raw_hash="r",
        text_hash="t",
        text_chars=3,
    )

    assert settle_rejected(page, now_ms=77) == PageSettled(
        url_key="k",
        group="a.test",
        job_id="j",
        execution_id="e",
        fetch_sequence=7,
        verdict=verdict,
        settled_at_ms=77,
        url="https://a.test/",
        reason=reason,
        rejection_kind="hard",
        detail="in the title",
        raw_hash="r",
        text_hash="t",
        text_chars=3,
    )


@pytest.mark.parametrize(
    ("letter", "reason"),
    [
        ("handler_timeout", "handler_timeout"),
        ("handler_crashed", "handler_crashed"),
        ("answer_refused", "handler_crashed"),
        ("bad_magic", "unreadable_message"),
    ],
)
def test_headers_are_enough_to_settle_a_page(letter: str, reason: str) -> None:
    """The value may be anything; the topic's own headers say whose page it was."""
    page = a_page(job_id="team/j1")
    headers = (("traceparent", b"00"), *PAGES_VALIDATED.headers_of(validated(page)))

    assert settle_undecodable(headers, letter, now_ms=77) == PageSettled(
        url_key=page.url_key,
        group="www.a.test",
        job_id="team/j1",
        execution_id=page.execution_id,
        fetch_sequence=7,
        verdict="given_up",
        settled_at_ms=77,
        reason=reason,
        rejection_kind="plain",
        detail=f"link-ingestion gave the page up: {letter}",
    )


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"entry": b"nothing"}, id="no entry"),
        pytest.param({"group": b""}, id="no group"),
        pytest.param({"fetch-sequence": b"x"}, id="no number"),
        pytest.param({"fetch-sequence": "²".encode()}, id="a digit that is none"),
    ],
)
def test_nothing_is_logged_without_them(changed: dict[str, bytes]) -> None:
    """A foreign message on our topic; the scheduler finds lost pages by itself."""
    headers = dict(PAGES_VALIDATED.headers_of(validated(a_page()))) | changed

    assert settle_undecodable(tuple(headers.items()), "bad_magic", now_ms=77) is None
