"""One result, and the two events that it means."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import ErrorClass
from strider.contracts.generated.events import FetchCompleted, PageFetched
from strider.contracts.generated.topics import FETCHES_COMPLETED, PAGES_FETCHED
from strider.fetcher.core import (
    FailedFetch,
    FetchedResponse,
    FetchEvents,
    RedirectRules,
    build_crash_event,
    decode_head,
    interpret_result,
    max_inline_body_bytes,
    outcome_of_error,
)
from tests.unit.fetcher.builders import TRACE, a_head, a_request, a_response

CODEC = Codec(SchemaStore.bundled())
RULES = RedirectRules()


def _meaning(result: FetchedResponse | FailedFetch, **more: Any) -> FetchEvents:
    return interpret_result(a_request(**more), result, trace=TRACE, rules=RULES)


def test_the_page_event_is_complete_and_the_completion_brief() -> None:
    more: dict[str, Any] = {
        "metadata": {"a": "b"},
        "redirect_chain": ("https://x.test/",),
        "hop": 1,
        "depth": 2,
    }
    result = a_response(
        b"<p>", etag='"v"', last_modified="then", content_type="text/html", content_encoding="GZIP, identity"
    )

    events = _meaning(result, **more)

    entry: dict[str, Any] = {
        "url": "https://site.test/a",
        "url_key": "k" * 64,
        "origin": "https://site.test",
        "group": "site.test",
        "job_id": "job",
        "execution_id": "run",
        "crawl_spec_id": "spec",
        "fetch_sequence": 7,
        "lease_id": "3-a1-7",
        "try_number": 1,
        **more,
        "status": 200,
        "http_version": "1.1",
        "content_type": "text/html",
        "etag": '"v"',
        "last_modified": "then",
        "user_agent": TRACE.user_agent,
        "worker_id": "w",
        "started_at_us": 1_200_000,
        "body_bytes": 3,
    }
    digest = sha256(b"<p>").hexdigest()
    assert events.page == PageFetched(
        **entry,
        fetched_at_ms=1_700_000_000_000,
        header_names=("etag", "last-modified", "content-type", "content-encoding"),
        header_values=('"v"', "then", "text/html", "GZIP, identity"),
        content_encoding="gzip",
        body=b"<p>",
        body_sha256=digest,
    )
    assert events.completed == FetchCompleted(
        **entry,
        outcome="fetched",
        completed_at_ms=1_700_000_000_000,
        has_page=True,
        marked_at_us=1_000_000,
        raw_hash=digest,
    )


@pytest.mark.parametrize("error", ErrorClass)
def test_every_class_of_error_has_an_outcome_that_is_no_page(error: ErrorClass) -> None:
    """An unlisted class is a fault of our own, and reported as such."""
    events = _meaning(FailedFetch(error, "why\x00", a_head(500), 9))

    completed = events.completed
    outcome, category = outcome_of_error(error)
    told = (completed.outcome, completed.error_class, completed.error_category, completed.has_page)
    assert told == (outcome, error, category, False)
    assert (completed.error_message, completed.status, completed.body_bytes) == ("why", 500, 9)
    assert events.page is None


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(ErrorClass.DNS_NOT_FOUND, "network_failed", id="no-name"),
        pytest.param(ErrorClass.TLS_TIMEOUT, "timed_out", id="handshake"),
        pytest.param(ErrorClass.TOO_SLOW, "too_slow", id="slow"),
        pytest.param(ErrorClass.BODY_TOO_LARGE, "too_large", id="large"),
        pytest.param(ErrorClass.BODY_TRUNCATED, "network_failed", id="short"),
        pytest.param(ErrorClass.BAD_FRAMING, "protocol_error", id="framing"),
        pytest.param(ErrorClass.REFUSED_ADDRESS, "policy_blocked", id="address"),
        pytest.param(ErrorClass.NO_CONTACT, "policy_blocked", id="contact"),
        pytest.param(ErrorClass.UNSUPPORTED_DOCUMENT, "unsupported_type", id="type"),
        pytest.param(ErrorClass.CANCELLED, "interrupted", id="stop"),
        pytest.param(ErrorClass.INTERNAL, "crashed", id="ours"),
        pytest.param(ErrorClass.PROXY_AUTH, "proxy_failed", id="proxy"),
        pytest.param(ErrorClass.BAD_CHARSET, "crashed", id="not-the-fetchers"),
    ],
)
def test_error_classes_map_to_outcomes(error: ErrorClass, outcome: str) -> None:
    assert outcome_of_error(error)[0] == outcome


def test_a_robots_txt_is_part_of_its_completion_and_no_page() -> None:
    text = "User-agent: *\nCrawl-delay: 2\nSitemap: /s.xml\n"
    result = replace(
        a_response(text.encode()),
        final_url="https://other.test/r",
        redirect_chain=("https://site.test/robots.txt",),
    )

    events = _meaning(result, kind="robots")

    told = events.completed
    assert (told.outcome, told.has_page, events.page, told.robots_text) == ("fetched", False, None, text)
    assert (told.robots_url, told.robots_hops, told.robots_truncated) == ("https://other.test/r", 1, False)
    assert (told.crawl_delay_seconds, told.sitemap_urls) == (2.0, ("https://other.test/s.xml",))


def test_a_partial_robots_txt_is_binding() -> None:
    """Taken for a missing file, it would allow everything."""
    told = _meaning(
        a_response(b"User-agent: *\nDisallow: /a\nDisallow: /b", status=206), kind="robots"
    ).completed

    assert (told.outcome, told.robots_truncated, told.robots_text[-11:]) == (
        "fetched",
        True,
        "Disallow: /b"[1:],
    )


@pytest.mark.parametrize("status", [404, 500, 302])
def test_a_missing_robots_txt_has_no_text(status: int) -> None:
    told = _meaning(a_response(b"<html>", status=status, location="/x"), kind="robots").completed

    assert (told.robots_text, told.status, told.crawl_delay_seconds) == ("", status, -1.0)


def test_the_largest_robots_txt_fits_its_event() -> None:
    """A completion that cannot be encoded would let the lease expire, and never fetch the site."""
    lines = "".join(f"Sitemap: https://site.test/{n}-{'x' * 1900}\n" for n in range(60))
    wide = {"metadata": {"k": "v" * 4000}, "redirect_chain": ("https://site.test/" + "y" * 2000,) * 5}
    for body in (b"\xff" * 600_000, b"a" * 600_000, lines.encode()):
        told = _meaning(a_response(body), kind="robots", **wide).completed
        assert len(CODEC.encode(FETCHES_COMPLETED, told).value) <= FETCHES_COMPLETED.max_bytes


def test_the_largest_inline_body_fits_the_event() -> None:
    headers = {f"x_{n}": "é" * 200 for n in range(100)}
    page = _meaning(a_response(b"", **headers), metadata={"k": "ü" * 9000}).page
    assert page is not None
    room = max_inline_body_bytes(page, max_bytes=PAGES_FETCHED.max_bytes)

    full = replace(page, body=b"x" * room)

    size = len(CODEC.encode(PAGES_FETCHED, full).value)
    assert PAGES_FETCHED.max_bytes - 8_192 < size <= PAGES_FETCHED.max_bytes


def test_long_headers_are_truncated_in_fields_of_their_own() -> None:
    """But half a validator is useless: servers would respond with 400, and the page would be lost."""
    events = _meaning(a_response(b"x", etag="e" * 9000, last_modified="m" * 1024, content_type="t" * 9000))

    page = events.page
    assert page is not None
    assert (len(page.etag), len(page.last_modified), len(page.content_type)) == (0, 1024, 1024)
    assert len(page.header_values[0]) == 9000


def test_an_internal_failure_ends_the_lease() -> None:
    told = build_crash_event(a_request(), "gave up", trace=TRACE)

    assert (told.lease_id, told.outcome, told.error_class, told.has_page) == (
        "3-a1-7",
        "crashed",
        "internal",
        False,
    )


@pytest.mark.parametrize("location", ["", "  ", "http://", "http://[::1", "a" * 20_000])
def test_an_invalid_redirect_is_refused_with_its_reason(location: str) -> None:
    told = _meaning(a_response(status=301, location=location)).completed

    assert told.outcome == "redirected"
    assert told.redirect_refused in {"", "bad_redirect", "url_too_long"}
    assert bool(told.redirect_target) != bool(told.redirect_refused)


@pytest.mark.parametrize(
    ("etag", "outcome"), [("v1", "not_modified"), ("v\n1", "odd_status"), ("", "odd_status")]
)
def test_not_modified_requires_a_conditional_request(etag: str, outcome: str) -> None:
    """A validator with control characters is not sent, so nothing can have matched it."""
    assert _meaning(a_response(status=304), etag=etag).completed.outcome == outcome


def _sent(status: int, *headers: tuple[bytes, bytes]) -> FetchedResponse:
    return FetchedResponse(decode_head(status, headers))


@pytest.mark.parametrize(
    ("second", "target", "refused"),
    [(b" /a", "https://site.test/a", ""), (b"/b", "", "bad_redirect"), (b"", "", "bad_redirect")],
)
def test_a_redirect_has_one_target(second: bytes, target: str, refused: str) -> None:
    """Joined by a comma, two of them would be a third that no server has sent."""
    told = _meaning(
        _sent(302, (b"Location", b"/a"), (b"location", second)), url="https://site.test/x"
    ).completed

    assert (told.redirect_target, told.redirect_refused) == (target, refused)


def test_the_longest_retry_after_counts() -> None:
    wishes = [(b"Retry-After", wish) for wish in (b"5", b"soon", b"Tue, 14 Nov 2023 22:13:50 GMT", b"7")]
    sent = (*wishes, (b"Date", b"Tue, 14 Nov 2023 22:13:20 GMT"))

    assert _meaning(_sent(503, *sent)).completed.retry_after_seconds == 30.0
