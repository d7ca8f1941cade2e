"""What servers do that they should not: each has its outcome and costs one deadline at most."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from strider.contracts.generated.events import FetchCompleted
from tests.integration.fetcher.asking import Asking, asking, request
from tests.integration.fetcher.hostile import (
    CHUNKED,
    PAGE,
    UNTIL_CLOSE,
    Hostile,
    Play,
    answer,
    for_ever,
    gzipped,
    resets_after,
    running,
    says,
    silent,
)

LIMIT_BYTES = 200_000
DEADLINE_MS = 800

HEAD = b"HTTP/1.1 200 OK\r\n"
HELLO = b"Content-Length: 5\r\n\r\nhello"

FAILING: dict[str, tuple[Play, str, str]] = {
    "/slow-head": (silent, "timed_out", "head_timeout"),
    "/half-head": (says(HEAD + b"X: a", every_seconds=60), "timed_out", "head_timeout"),
    "/slow-body": (says(answer(b"abc", length=100)), "timed_out", "body_timeout"),
    "/drip": (for_ever(UNTIL_CLOSE, b"x", every_seconds=0.05), "too_slow", "too_slow"),
    "/endless-in-time": (for_ever(UNTIL_CLOSE, b"x" * 800, every_seconds=0.05), "timed_out", "total_timeout"),
    "/reset-head": (resets_after(HEAD), "network_failed", "connection_reset"),
    "/reset-body": (resets_after(answer(length=1000)), "network_failed", "connection_reset"),
    "/reset-until-close": (resets_after(UNTIL_CLOSE + PAGE), "network_failed", "connection_reset"),
    "/truncated": (says(answer(length=1000), then_close=True), "network_failed", "body_truncated"),
    "/truncated-chunk": (
        says(CHUNKED + b"5\r\nhello\r\n", then_close=True),
        "network_failed",
        "body_truncated",
    ),
    "/closed": (says(then_close=True), "network_failed", "connection_closed"),
    "/bad-chunk": (says(CHUNKED + b"zz\r\nhello\r\n"), "protocol_error", "bad_framing"),
    "/bad-chunk-later": (
        says(CHUNKED + b"5\r\nhello\r\n", b"zz\r\nhello\r\n", every_seconds=0.02),
        "protocol_error",
        "bad_framing",
    ),
    "/two-lengths": (says(HEAD + b"Content-Length: 6\r\n" + HELLO), "protocol_error", "bad_framing"),
    "/length-and-chunks": (
        says(HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
        "protocol_error",
        "bad_framing",
    ),
    "/negative-length": (says(HEAD + b"Content-Length: -5\r\n\r\nhello"), "protocol_error", "bad_framing"),
    "/no-http": (says(b"HELLO WORLD\r\n\r\n"), "protocol_error", "bad_status_line"),
    "/http-0.9": (says(PAGE, then_close=True), "protocol_error", "bad_status_line"),
    "/status-99": (says(b"HTTP/1.1 99 Odd\r\n" + HELLO), "protocol_error", "bad_status_line"),
    "/nul-in-header": (says(HEAD + b"X: a\x00b\r\n" + HELLO), "protocol_error", "bad_header"),
    "/no-colon": (says(HEAD + b"FOO\r\n" + HELLO), "protocol_error", "bad_header"),
    "/huge-header": (says(HEAD + b"X: " + b"a" * 2_000_000), "protocol_error", "head_too_large"),
    "/200000-headers": (says(HEAD + b"X: a\r\n" * 200_000), "protocol_error", "head_too_large"),
    "/endless-headers": (for_ever(HEAD, b"X: aaaa\r\n" * 50), "protocol_error", "head_too_large"),
    "/endless-1xx": (
        for_ever(b"", b"HTTP/1.1 103 Early\r\n\r\n"),
        "protocol_error",
        "too_many_informational",
    ),
    "/slow-1xx": (
        for_ever(b"", b"HTTP/1.1 103 Early\r\n\r\n", every_seconds=0.02),
        "protocol_error",
        "too_many_informational",
    ),
    "/endless-body": (for_ever(UNTIL_CLOSE, b"x" * 65_536), "too_large", "body_too_large"),
    "/endless-chunks": (for_ever(CHUNKED, b"5\r\nhello\r\n" * 100), "too_large", "body_too_large"),
    "/gigabyte": (says(answer(b"", length=10**9)), "too_large", "body_too_large"),
    "/six-encodings": (
        says(answer(headers=("Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip",))),
        "protocol_error",
        "too_many_encodings",
    ),
    "/film": (
        says(
            b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 90000\r\n\r\n\x00\x00\x00\x18ftyp"
        ),
        "unsupported_type",
        "unsupported_document",
    ),
}
"""What a server does, and the outcome and class that it must come to."""

FINE: dict[str, tuple[Play, bytes]] = {
    "/ok": (says(answer()), PAGE),
    "/until-close": (says(UNTIL_CLOSE + PAGE, then_close=True), PAGE),
    "/http-1.0": (says(b"HTTP/1.0 200 OK\r\n\r\nhello", then_close=True), b"hello"),
    "/chunked": (says(CHUNKED + b"5;x=1\r\nhello\r\n0\r\nTrailer: a\r\n\r\n"), b"hello"),
    "/in-parts": (says(b"HTTP/1.1 2", b"00 OK\r", b"\n" + HELLO[:-3], b"llo", every_seconds=0.01), b"hello"),
    "/early-hints": (says(b"HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n" * 3 + answer()), PAGE),
    "/continue": (says(b"HTTP/1.1 100 Continue\r\n\r\n" + answer()), PAGE),
    "/packed": (says(answer(gzipped(), headers=("Content-Encoding: gzip",))), gzipped()),
    "/latin-1": (says(HEAD + b"X: caf\xe9\r\n" + HELLO), b"hello"),
    "/many-headers": (says(HEAD + b"X: a\r\n" * 200 + HELLO), b"hello"),
    "/empty": (says(answer(b"")), b""),
    "/204": (says(b"HTTP/1.1 204 No Content\r\n\r\n"), b""),
    "/page-called-picture": (
        says(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 7\r\n\r\n <html>"),
        b" <html>",
    ),
    "/more-than-told": (says(answer() + b"HTTP/1.1 200 OK\r\n" + HELLO), PAGE),
}
"""What is odd and allowed, and the body that must come of it, byte for byte."""


@pytest.fixture
async def server() -> AsyncIterator[Hostile]:
    plays = {path: play for path, (play, *_) in (FAILING | FINE).items()}
    async with running(plays) as hostile:
        yield hostile


@pytest.fixture
async def asker() -> AsyncIterator[Asking]:
    async with asking() as asker:
        yield asker


def _brief(completed: FetchCompleted) -> tuple[str, str, bool, bool]:
    return completed.outcome, completed.error_class, completed.has_page, completed.before_connect


@pytest.mark.parametrize("path", FAILING)
@pytest.mark.req("S3.7.4", "S3.7.6", "S3.7.7", "S3.17.4", "S3.17.5")
async def test_each_misdeed_has_its_outcome(server: Hostile, asker: Asking, path: str) -> None:
    """Rules about trying again go by these words, so they are to be the same each time."""
    _, outcome, error = FAILING[path]
    began = time.monotonic()

    meaning = await asker.ask(request(server.url(path), max_body_bytes=LIMIT_BYTES, deadline_ms=DEADLINE_MS))

    assert _brief(meaning.completed) == (outcome, error, False, False)
    assert meaning.completed.started_at_us > 0
    assert meaning.page is None
    assert time.monotonic() - began < DEADLINE_MS / 1000 + 0.7
    assert server.asked == [path], "one request for one fetch request, whatever the server does"


@pytest.mark.parametrize("path", FAILING)
async def test_a_misdeed_spoils_no_connection_for_the_next(server: Hostile, asker: Asking, path: str) -> None:
    """What is left of a broken answer must not be taken for the next one's."""
    await asker.ask(request(server.url(path), max_body_bytes=LIMIT_BYTES, deadline_ms=DEADLINE_MS))

    meaning = await asker.ask(request(server.url("/ok")))

    assert meaning.page is not None
    assert meaning.page.body == PAGE


@pytest.mark.parametrize("path", FINE)
async def test_what_is_odd_and_allowed_is_a_page(server: Hostile, asker: Asking, path: str) -> None:
    meaning = await asker.ask(request(server.url(path)))

    assert _brief(meaning.completed) == ("fetched", "", True, False)
    assert meaning.page is not None
    assert meaning.page.body == FINE[path][1]


async def test_what_comes_after_an_answer_is_thrown_away_with_its_connection(
    server: Hostile, asker: Asking
) -> None:
    """Bytes nobody has asked for are how answers are smuggled into the next request."""
    await asker.ask(request(server.url("/more-than-told")))

    meaning = await asker.ask(request(server.url("/ok")))

    assert meaning.page is not None
    assert (meaning.page.body, server.connections) == (PAGE, 2)


async def test_a_hundred_misdeeds_at_once_end_within_one_deadline(server: Hostile, asker: Asking) -> None:
    """One bad server costs one deadline of one place, however many there are."""
    urls = [server.url(path) for path in FAILING for _ in range(3)]
    began = time.monotonic()

    meanings = await asyncio.gather(
        *(asker.ask(request(url, max_body_bytes=LIMIT_BYTES, deadline_ms=DEADLINE_MS)) for url in urls)
    )

    assert {meaning.completed.has_page for meaning in meanings} == {False}
    assert time.monotonic() - began < 3 * DEADLINE_MS / 1000
    assert asker.budget.held_bytes == 0
