"""Misbehaviour of servers, one case each, with the outcome that must follow.

The table is binding: tests hold the fetcher to it, docs/security.md is written from it, and `python -m
strider.testing.hostile` serves it for trying out. How a case is recognised is the fetcher's matter.
"""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass
from typing import Final

from .server import (
    CHUNKED,
    PAGE,
    UNTIL_CLOSE,
    ResponseScript,
    chunked,
    gzipped,
    http_response,
    sends,
    sends_forever,
    sends_nothing,
    sends_then_resets,
)

LIMIT_BYTES: Final = 400_000
DEADLINE_MS: Final = 800

HEAD: Final = b"HTTP/1.1 200 OK\r\n"
HELLO: Final = b"Content-Length: 5\r\n\r\nhello"
BOMB: Final = gzip.compress(bytes(50_000_000), mtime=0)
LATE_BOMB: Final = gzip.compress(random.Random(0).randbytes(200_000) + bytes(60_000_000), mtime=0)  # noqa: S311


@dataclass(frozen=True, slots=True)
class FailingCase:
    """A case that fails."""

    description: str
    script: ResponseScript
    outcome: str
    error: str


@dataclass(frozen=True, slots=True)
class AcceptedCase:
    """A case that is a page all the same, as far as fetching goes."""

    description: str
    script: ResponseScript
    body: bytes
    decodes_to: str = ""
    """The parser's outcome, where that is not a page."""


FAILING_CASES: Final[dict[str, FailingCase]] = {
    "/slow-head": FailingCase("never answers", sends_nothing, "timed_out", "head_timeout"),
    "/half-head": FailingCase(
        "stops within a header", sends(HEAD + b"X: a", every_seconds=60), "timed_out", "head_timeout"
    ),
    "/slow-body": FailingCase(
        "stops within the body", sends(http_response(b"abc", length=100)), "timed_out", "body_timeout"
    ),
    "/drip": FailingCase(
        "sends a byte at a time", sends_forever(UNTIL_CLOSE, b"x", every_seconds=0.05), "too_slow", "too_slow"
    ),
    "/endless-in-time": FailingCase(
        "sends just fast enough, without end",
        sends_forever(UNTIL_CLOSE, b"x" * 800, every_seconds=0.05),
        "timed_out",
        "total_timeout",
    ),
    "/reset-head": FailingCase(
        "resets within the head", sends_then_resets(HEAD), "network_failed", "connection_reset"
    ),
    "/reset-body": FailingCase(
        "resets within the body",
        sends_then_resets(http_response(length=1000)),
        "network_failed",
        "connection_reset",
    ),
    "/reset-until-close": FailingCase(
        "resets a body without a length",
        sends_then_resets(UNTIL_CLOSE + PAGE),
        "network_failed",
        "connection_reset",
    ),
    "/truncated": FailingCase(
        "closes before the announced end",
        sends(http_response(length=1000), then_close=True),
        "network_failed",
        "body_truncated",
    ),
    "/truncated-chunk": FailingCase(
        "closes between two chunks",
        sends(CHUNKED + b"5\r\nhello\r\n", then_close=True),
        "network_failed",
        "body_truncated",
    ),
    "/closed": FailingCase(
        "closes without an answer", sends(then_close=True), "network_failed", "connection_closed"
    ),
    "/bad-chunk": FailingCase(
        "a chunk size that is no number", sends(CHUNKED + b"zz\r\nhello\r\n"), "protocol_error", "bad_framing"
    ),
    "/bad-chunk-later": FailingCase(
        "the same, after a good chunk",
        sends(CHUNKED + b"5\r\nhello\r\n", b"zz\r\nhello\r\n", every_seconds=0.02),
        "protocol_error",
        "bad_framing",
    ),
    "/two-lengths": FailingCase(
        "two lengths that differ",
        sends(HEAD + b"Content-Length: 6\r\n" + HELLO),
        "protocol_error",
        "bad_framing",
    ),
    "/length-and-chunks": FailingCase(
        "a length and chunks at once",
        sends(HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
        "protocol_error",
        "bad_framing",
    ),
    "/negative-length": FailingCase(
        "a negative length", sends(HEAD + b"Content-Length: -5\r\n\r\nhello"), "protocol_error", "bad_framing"
    ),
    "/no-http": FailingCase(
        "a first line that is no HTTP", sends(b"HELLO WORLD\r\n\r\n"), "protocol_error", "bad_status_line"
    ),
    "/http-0.9": FailingCase(
        "a page without any head", sends(PAGE, then_close=True), "protocol_error", "bad_status_line"
    ),
    "/status-99": FailingCase(
        "a status below 100", sends(b"HTTP/1.1 99 Odd\r\n" + HELLO), "protocol_error", "bad_status_line"
    ),
    "/nul-in-header": FailingCase(
        "NUL within a header", sends(HEAD + b"X: a\x00b\r\n" + HELLO), "protocol_error", "bad_header"
    ),
    "/no-colon": FailingCase(
        "a header without a colon", sends(HEAD + b"FOO\r\n" + HELLO), "protocol_error", "bad_header"
    ),
    "/huge-header": FailingCase(
        "a header of 2 MB", sends(HEAD + b"X: " + b"a" * 2_000_000), "protocol_error", "head_too_large"
    ),
    "/200000-headers": FailingCase(
        "200,000 headers", sends(HEAD + b"X: a\r\n" * 200_000), "protocol_error", "head_too_large"
    ),
    "/endless-headers": FailingCase(
        "headers without end", sends_forever(HEAD, b"X: aaaa\r\n" * 50), "protocol_error", "head_too_large"
    ),
    "/endless-1xx": FailingCase(
        "103 without end",
        sends_forever(b"", b"HTTP/1.1 103 Early\r\n\r\n"),
        "protocol_error",
        "too_many_informational",
    ),
    "/slow-1xx": FailingCase(
        "103 without end, slowly",
        sends_forever(b"", b"HTTP/1.1 103 Early\r\n\r\n", every_seconds=0.02),
        "protocol_error",
        "too_many_informational",
    ),
    "/endless-body": FailingCase(
        "a body without end", sends_forever(UNTIL_CLOSE, b"x" * 65_536), "too_large", "body_too_large"
    ),
    "/endless-chunks": FailingCase(
        "chunks without end, too few for the size limit",
        sends_forever(CHUNKED, (b"40\r\n" + b"hello..." * 8 + b"\r\n") * 8, every_seconds=0.02),
        "timed_out",
        "total_timeout",
    ),
    "/tiny-chunks": FailingCase(
        "chunks of a byte each, without end",
        sends_forever(CHUNKED, b"1\r\nx\r\n" * 10_000),
        "protocol_error",
        "bad_framing",
    ),
    "/endless-extension": FailingCase(
        "a chunk extension without end",
        sends_forever(CHUNKED + b"5;x=", b"y" * 65_536),
        "protocol_error",
        "bad_framing",
    ),
    "/status-000": FailingCase(
        "status 000",
        sends(b"HTTP/1.1 000 None\r\n" + HELLO),
        "protocol_error",
        "bad_status_line",
    ),
    "/gigabyte": FailingCase(
        "announces a gigabyte", sends(http_response(b"", length=10**9)), "too_large", "body_too_large"
    ),
    "/six-encodings": FailingCase(
        "six stacked encodings",
        sends(http_response(headers=("Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip",))),
        "protocol_error",
        "too_many_encodings",
    ),
    "/packed-picture": FailingCase(
        "a picture, packed",
        sends(http_response(BOMB, headers=("Content-Encoding: gzip",)).replace(b"text/html", b"image/png")),
        "unsupported_type",
        "unsupported_document",
    ),
    "/film": FailingCase(
        "a film",
        sends(
            b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 90000\r\n\r\n\x00\x00\x00\x18ftyp"
        ),
        "unsupported_type",
        "unsupported_document",
    ),
}
"""By path: what a server does, and the outcome and error class that must follow."""

ACCEPTED_CASES: Final[dict[str, AcceptedCase]] = {
    "/ok": AcceptedCase("a page", sends(http_response()), PAGE),
    "/until-close": AcceptedCase(
        "a body that ends with its connection", sends(UNTIL_CLOSE + PAGE, then_close=True), PAGE
    ),
    "/http-1.0": AcceptedCase("HTTP/1.0", sends(b"HTTP/1.0 200 OK\r\n\r\nhello", then_close=True), b"hello"),
    "/chunked": AcceptedCase(
        "chunks with extensions and trailers",
        sends(CHUNKED + b"5;x=1\r\nhello\r\n0\r\nTrailer: a\r\n\r\n"),
        b"hello",
    ),
    "/in-parts": AcceptedCase(
        "a head in pieces",
        sends(b"HTTP/1.1 2", b"00 OK\r", b"\n" + HELLO[:-3], b"llo", every_seconds=0.01),
        b"hello",
    ),
    "/early-hints": AcceptedCase(
        "three 103 before the answer",
        sends(b"HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n" * 3 + http_response()),
        PAGE,
    ),
    "/continue": AcceptedCase(
        "100 that was not requested", sends(b"HTTP/1.1 100 Continue\r\n\r\n" + http_response()), PAGE
    ),
    "/packed": AcceptedCase(
        "gzip", sends(http_response(gzipped(), headers=("Content-Encoding: gzip",))), gzipped()
    ),
    "/latin-1": AcceptedCase("8-bit bytes in a header", sends(HEAD + b"X: caf\xe9\r\n" + HELLO), b"hello"),
    "/many-headers": AcceptedCase("200 headers", sends(HEAD + b"X: a\r\n" * 200 + HELLO), b"hello"),
    "/gzip-bomb": AcceptedCase(
        "50 MB of zeros in 50 KB",
        sends(http_response(BOMB, headers=("Content-Encoding: gzip",))),
        BOMB,
        "decode_bomb",
    ),
    "/gzip-in-gzip-bomb": AcceptedCase(
        "the same, packed twice",
        sends(http_response(gzipped(BOMB), headers=("Content-Encoding: gzip, gzip",))),
        gzipped(BOMB),
        "decode_bomb",
    ),
    "/late-bomb": AcceptedCase(
        "a bomb behind 2 MB of text, in chunks",
        sends(CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + chunked(LATE_BOMB)),
        LATE_BOMB,
        "decode_bomb",
    ),
    "/empty": AcceptedCase("an empty body", sends(http_response(b"")), b""),
    "/204": AcceptedCase("204", sends(b"HTTP/1.1 204 No Content\r\n\r\n"), b""),
    "/204-with-body": AcceptedCase("204 with a body", sends(b"HTTP/1.1 204 No Content\r\n" + HELLO), b""),
    "/junk-behind": AcceptedCase(
        "noise behind a page, in one packet with it", sends(http_response() + bytes(4)), PAGE
    ),
    "/page-called-picture": AcceptedCase(
        "a page that is labelled as a picture",
        sends(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 7\r\n\r\n <html>"),
        b" <html>",
    ),
    "/more-than-told": AcceptedCase(
        "more bytes than announced", sends(http_response() + b"HTTP/1.1 200 OK\r\n" + HELLO), PAGE
    ),
}
"""By path: what is odd and allowed, and the body that must result, byte for byte."""
