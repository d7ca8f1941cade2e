"""Bytes of a connection, up to the parser: how they are split into packets makes no difference."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import pytest
from aiohttp.helpers import TimerNoop
from aiohttp.http_exceptions import HttpProcessingError
from hypothesis import given, settings
from hypothesis import strategies as st

from strider.fetcher.adapters.http.error_mapping import FetchFailure, RequestPhase, map_exception
from strider.fetcher.adapters.http.protocol import (
    MAX_HEADERS,
    MAX_LINE_BYTES,
    READ_BUFFER_BYTES,
    ResponseProtocol,
)
from strider.fetcher.adapters.http.timeline import RequestTimeline

OK: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

ANSWERS: Final = {
    "plain": OK,
    "blank lines first": b"\r\n\r\n\r\n" + OK,
    "bare line ends": OK.replace(b"\r\n", b"\n"),
    "after early hints": b"HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n" * 2 + OK,
    "chunks": CHUNKED + b"5;x=1\r\nhello\r\n0\r\nX: y\r\n\r\n",
    "no content, and some": b"HTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\nhello",
    "noise behind": OK + b"\x00\x00\r\n\r\n",
    "another answer behind": OK + OK,
    "a part of one behind": OK + OK[:20],
    "a chunk that is wrong": CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
    "a header that is wrong": b"HTTP/1.1 200 OK\r\nA b: c\r\n\r\nhello",
    "no status": b"HTTP/1.1 000 None\r\nContent-Length: 5\r\n\r\nhello",
    "two line ends in the body": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na\r\n\r\nb\n\nc",
}


class Line(asyncio.Transport):
    """The transport, which can only be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.is_over = False

    def abort(self) -> None:
        self.is_over = True

    def close(self) -> None:
        self.is_over = True

    def is_closing(self) -> bool:
        return self.is_over

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def _told(packets: Sequence[bytes]) -> tuple[int, bytes, str, bool]:
    """Return status, body, error class, and whether the connection may be kept."""
    line, wire = Line(), ResponseProtocol(loop=asyncio.get_running_loop())
    wire.connection_made(line)
    limits: dict[str, Any] = {"max_line_size": MAX_LINE_BYTES, "max_field_size": MAX_LINE_BYTES}
    wire.set_response_params(
        timer=TimerNoop(), read_until_eof=True, auto_decompress=False, read_bufsize=READ_BUFFER_BYTES,
        max_headers=MAX_HEADERS, **limits,
    )  # fmt: skip
    wire.expect_response(RequestTimeline(lambda: 0.0))
    for packet in packets:
        if not line.is_over:
            wire.data_received(packet)
    status, body = 0, b""
    try:
        while status < 200:
            message, content = await wire.read()
            status = message.code
        body = await content.read()
    except (FetchFailure, HttpProcessingError) as error:
        return status, body, map_exception(error, RequestPhase.RESPONSE_STARTED).error_class, False
    return status, body, "", not (line.is_over or wire.is_unusable(0.0))


@pytest.mark.parametrize("name", ANSWERS)
@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(1, 120), max_size=8))
def test_packet_boundaries_make_no_difference(name: str, cuts: list[int]) -> None:
    whole = ANSWERS[name]
    ends = sorted({0, *(cut for cut in cuts if cut < len(whole)), len(whole)})
    packets = [whole[start:end] for start, end in pairwise(ends)]

    assert asyncio.run(_told(packets)) == asyncio.run(_told([whole]))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("plain", (200, b"hello", "", True)),
        ("no content, and some", (204, b"", "", False)),
        ("noise behind", (200, b"hello", "", False)),
        ("a part of one behind", (200, b"hello", "", False)),
        ("a chunk that is wrong", (200, b"", "bad_framing", False)),
        ("no status", (0, b"", "bad_status_line", False)),
    ],
)
def test_invalid_bytes_after_a_response_cost_only_the_connection(
    name: str, told: tuple[int, bytes, str, bool]
) -> None:
    assert asyncio.run(_told([ANSWERS[name]])) == told
