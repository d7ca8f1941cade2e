"""What servers do that they should not, a row each, with what must come of it.

The table is the promise: tests hold the fetcher to it, docs/security.md is written from it, and
`python -m strider.testing.hostile` serves it for whoever wants to try. Decides nothing about how a row is
told apart; that is the fetcher's.
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
    Play,
    answer,
    chunked,
    for_ever,
    gzipped,
    resets_after,
    says,
    silent,
)

LIMIT_BYTES: Final = 400_000
DEADLINE_MS: Final = 800

HEAD: Final = b"HTTP/1.1 200 OK\r\n"
HELLO: Final = b"Content-Length: 5\r\n\r\nhello"
BOMB: Final = gzip.compress(bytes(50_000_000), mtime=0)
LATE_BOMB: Final = gzip.compress(random.Random(0).randbytes(200_000) + bytes(60_000_000), mtime=0)  # noqa: S311


@dataclass(frozen=True, slots=True)
class Misdeed:
    """A row that fails."""

    words: str
    play: Play
    outcome: str
    error: str


@dataclass(frozen=True, slots=True)
class Fine:
    """A row that is a page all the same, as far as fetching goes."""

    words: str
    play: Play
    body: bytes
    decodes_to: str = ""
    """What the parser says of it, where that is not a page."""


FAILING: Final[dict[str, Misdeed]] = {
    "/slow-head": Misdeed("never answers", silent, "timed_out", "head_timeout"),
    "/half-head": Misdeed(
        "stops within a header", says(HEAD + b"X: a", every_seconds=60), "timed_out", "head_timeout"
    ),
    "/slow-body": Misdeed(
        "stops within the body", says(answer(b"abc", length=100)), "timed_out", "body_timeout"
    ),
    "/drip": Misdeed(
        "sends a byte at a time", for_ever(UNTIL_CLOSE, b"x", every_seconds=0.05), "too_slow", "too_slow"
    ),
    "/endless-in-time": Misdeed(
        "sends just fast enough, without end",
        for_ever(UNTIL_CLOSE, b"x" * 800, every_seconds=0.05),
        "timed_out",
        "total_timeout",
    ),
    "/reset-head": Misdeed(
        "resets within the head", resets_after(HEAD), "network_failed", "connection_reset"
    ),
    "/reset-body": Misdeed(
        "resets within the body", resets_after(answer(length=1000)), "network_failed", "connection_reset"
    ),
    "/reset-until-close": Misdeed(
        "resets a body without a length",
        resets_after(UNTIL_CLOSE + PAGE),
        "network_failed",
        "connection_reset",
    ),
    "/truncated": Misdeed(
        "closes before the announced end",
        says(answer(length=1000), then_close=True),
        "network_failed",
        "body_truncated",
    ),
    "/truncated-chunk": Misdeed(
        "closes between two chunks",
        says(CHUNKED + b"5\r\nhello\r\n", then_close=True),
        "network_failed",
        "body_truncated",
    ),
    "/closed": Misdeed(
        "closes without an answer", says(then_close=True), "network_failed", "connection_closed"
    ),
    "/bad-chunk": Misdeed(
        "a chunk size that is no number", says(CHUNKED + b"zz\r\nhello\r\n"), "protocol_error", "bad_framing"
    ),
    "/bad-chunk-later": Misdeed(
        "the same, after a good chunk",
        says(CHUNKED + b"5\r\nhello\r\n", b"zz\r\nhello\r\n", every_seconds=0.02),
        "protocol_error",
        "bad_framing",
    ),
    "/two-lengths": Misdeed(
        "two lengths that differ",
        says(HEAD + b"Content-Length: 6\r\n" + HELLO),
        "protocol_error",
        "bad_framing",
    ),
    "/length-and-chunks": Misdeed(
        "a length and chunks at once",
        says(HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
        "protocol_error",
        "bad_framing",
    ),
    "/negative-length": Misdeed(
        "a negative length", says(HEAD + b"Content-Length: -5\r\n\r\nhello"), "protocol_error", "bad_framing"
    ),
    "/no-http": Misdeed(
        "a first line that is no HTTP", says(b"HELLO WORLD\r\n\r\n"), "protocol_error", "bad_status_line"
    ),
    "/http-0.9": Misdeed(
        "a page without any head", says(PAGE, then_close=True), "protocol_error", "bad_status_line"
    ),
    "/status-99": Misdeed(
        "a status below 100", says(b"HTTP/1.1 99 Odd\r\n" + HELLO), "protocol_error", "bad_status_line"
    ),
    "/nul-in-header": Misdeed(
        "NUL within a header", says(HEAD + b"X: a\x00b\r\n" + HELLO), "protocol_error", "bad_header"
    ),
    "/no-colon": Misdeed(
        "a header without a colon", says(HEAD + b"FOO\r\n" + HELLO), "protocol_error", "bad_header"
    ),
    "/huge-header": Misdeed(
        "a header of 2 MB", says(HEAD + b"X: " + b"a" * 2_000_000), "protocol_error", "head_too_large"
    ),
    "/200000-headers": Misdeed(
        "200,000 headers", says(HEAD + b"X: a\r\n" * 200_000), "protocol_error", "head_too_large"
    ),
    "/endless-headers": Misdeed(
        "headers without end", for_ever(HEAD, b"X: aaaa\r\n" * 50), "protocol_error", "head_too_large"
    ),
    "/endless-1xx": Misdeed(
        "103 without end",
        for_ever(b"", b"HTTP/1.1 103 Early\r\n\r\n"),
        "protocol_error",
        "too_many_informational",
    ),
    "/slow-1xx": Misdeed(
        "103 without end, slowly",
        for_ever(b"", b"HTTP/1.1 103 Early\r\n\r\n", every_seconds=0.02),
        "protocol_error",
        "too_many_informational",
    ),
    "/endless-body": Misdeed(
        "a body without end", for_ever(UNTIL_CLOSE, b"x" * 65_536), "too_large", "body_too_large"
    ),
    "/endless-chunks": Misdeed(
        "chunks without end, too few for the size limit",
        for_ever(CHUNKED, (b"40\r\n" + b"hello..." * 8 + b"\r\n") * 8, every_seconds=0.02),
        "timed_out",
        "total_timeout",
    ),
    "/tiny-chunks": Misdeed(
        "chunks of a byte each, without end",
        for_ever(CHUNKED, b"1\r\nx\r\n" * 10_000),
        "protocol_error",
        "bad_framing",
    ),
    "/endless-extension": Misdeed(
        "a chunk extension without end",
        for_ever(CHUNKED + b"5;x=", b"y" * 65_536),
        "protocol_error",
        "bad_framing",
    ),
    "/status-000": Misdeed(
        "status 000",
        says(b"HTTP/1.1 000 None\r\n" + HELLO),
        "protocol_error",
        "bad_status_line",
    ),
    "/gigabyte": Misdeed(
        "announces a gigabyte", says(answer(b"", length=10**9)), "too_large", "body_too_large"
    ),
    "/six-encodings": Misdeed(
        "six stacked encodings",
        says(answer(headers=("Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip",))),
        "protocol_error",
        "too_many_encodings",
    ),
    "/packed-picture": Misdeed(
        "a picture, packed",
        says(answer(BOMB, headers=("Content-Encoding: gzip",)).replace(b"text/html", b"image/png")),
        "unsupported_type",
        "unsupported_document",
    ),
    "/film": Misdeed(
        "a film",
        says(
            b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 90000\r\n\r\n\x00\x00\x00\x18ftyp"
        ),
        "unsupported_type",
        "unsupported_document",
    ),
}
"""By path: what a server does, and the outcome and class that it must come to."""

FINE: Final[dict[str, Fine]] = {
    "/ok": Fine("a page", says(answer()), PAGE),
    "/until-close": Fine(
        "a body that ends with its connection", says(UNTIL_CLOSE + PAGE, then_close=True), PAGE
    ),
    "/http-1.0": Fine("HTTP/1.0", says(b"HTTP/1.0 200 OK\r\n\r\nhello", then_close=True), b"hello"),
    "/chunked": Fine(
        "chunks with extensions and trailers",
        says(CHUNKED + b"5;x=1\r\nhello\r\n0\r\nTrailer: a\r\n\r\n"),
        b"hello",
    ),
    "/in-parts": Fine(
        "a head in pieces",
        says(b"HTTP/1.1 2", b"00 OK\r", b"\n" + HELLO[:-3], b"llo", every_seconds=0.01),
        b"hello",
    ),
    "/early-hints": Fine(
        "three 103 before the answer", says(b"HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n" * 3 + answer()), PAGE
    ),
    "/continue": Fine("100 nobody asked for", says(b"HTTP/1.1 100 Continue\r\n\r\n" + answer()), PAGE),
    "/packed": Fine("gzip", says(answer(gzipped(), headers=("Content-Encoding: gzip",))), gzipped()),
    "/latin-1": Fine("8-bit bytes in a header", says(HEAD + b"X: caf\xe9\r\n" + HELLO), b"hello"),
    "/many-headers": Fine("200 headers", says(HEAD + b"X: a\r\n" * 200 + HELLO), b"hello"),
    "/gzip-bomb": Fine(
        "50 MB of zeros in 50 KB",
        says(answer(BOMB, headers=("Content-Encoding: gzip",))),
        BOMB,
        "decode_bomb",
    ),
    "/gzip-in-gzip-bomb": Fine(
        "the same, packed twice",
        says(answer(gzipped(BOMB), headers=("Content-Encoding: gzip, gzip",))),
        gzipped(BOMB),
        "decode_bomb",
    ),
    "/late-bomb": Fine(
        "a bomb behind 2 MB of text, in chunks",
        says(CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + chunked(LATE_BOMB)),
        LATE_BOMB,
        "decode_bomb",
    ),
    "/empty": Fine("an empty body", says(answer(b"")), b""),
    "/204": Fine("204", says(b"HTTP/1.1 204 No Content\r\n\r\n"), b""),
    "/204-with-body": Fine("204 with a body", says(b"HTTP/1.1 204 No Content\r\n" + HELLO), b""),
    "/junk-behind": Fine("noise behind a page, in one packet with it", says(answer() + bytes(4)), PAGE),
    "/page-called-picture": Fine(
        "a page that is labelled as a picture",
        says(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 7\r\n\r\n <html>"),
        b" <html>",
    ),
    "/more-than-told": Fine(
        "more bytes than announced", says(answer() + b"HTTP/1.1 200 OK\r\n" + HELLO), PAGE
    ),
}
"""By path: what is odd and allowed, and the body that must come of it, byte for byte."""
