"""Bodies on their way: in chunks of any size, and waiting for each other."""

from __future__ import annotations

import asyncio
import socket

import pytest

from strider.fetcher.adapters import RequestLimits
from strider.fetcher.adapters.http.connector import (
    MAX_RECEIVE_BUFFER_BYTES,
    MIN_RECEIVE_BUFFER_BYTES,
    receive_buffer_bytes,
)
from strider.fetcher.adapters.http.deadlines import BUFFERED_BODY_BYTES
from strider.testing.hostile import Reader, Writer, http_response, sends, serve_hostile
from strider.testing.hostile.server import CHUNKED, chunked
from tests.integration.fetcher.http.runner import asking, request

PAGE = b"".join(b"%07d\n" % number for number in range(125_000))
"""A million bytes, none of which may be lost or come twice."""


@pytest.mark.parametrize(
    ("size_bytes", "length"),
    [
        pytest.param(500_000, 1_000_000, id="two"),
        pytest.param(8_192, 1_000_000, id="usual"),
        pytest.param(40, 400_000, id="by-lines"),
        pytest.param(7, 50_000, id="by-words"),
    ],
)
async def test_chunks_of_honest_sizes_come_whole(size_bytes: int, length: int) -> None:
    """Also where there is so much that its sender has to wait now and then."""
    body = PAGE[:length]
    plays = {"/": sends(CHUNKED + chunked(body, size=size_bytes))}
    async with serve_hostile(plays) as server, asking() as asker:
        for _ in range(2):
            meaning = await asker.ask(request(server.url("/"), deadline_ms=20_000))

            assert meaning.page is not None, meaning.completed.error_message
            assert meaning.page.body == body
    assert server.connections == 1, "and leave the connection as it was"


async def test_who_waits_for_others_is_not_called_slow() -> None:
    """A body that may not be read yet stands still for as long as the bodies before it take."""
    holds = asyncio.Event()

    async def slow_end(_reader: Reader, writer: Writer) -> None:
        writer.write(http_response(b"x" * 50_000, length=50_001))
        await holds.wait()
        writer.write(b"x")
        await writer.drain()

    options = RequestLimits(slow_body_seconds=0.3, min_bytes_per_second=1_000)
    plays = {"/first": slow_end, "/second": sends(http_response(b"y" * 100))}
    async with serve_hostile(plays) as server, asking(budget_bytes=40_000, options=options) as asker:
        patient = request(server.url("/first", host="a.localhost"), deadline_ms=20_000)
        first = asyncio.create_task(asker.ask(patient))
        async with asyncio.timeout(20):
            while asker.budget.held_bytes < 50_000:
                await asyncio.sleep(0.01)
            second = asyncio.create_task(asker.ask(request(server.url("/second"), deadline_ms=20_000)))
            while "/second" not in server.requested_paths:
                await asyncio.sleep(0.01)
            done, _ = await asyncio.wait((second,), timeout=0.5)
            assert not done, "it is not its turn"
            holds.set()

            assert (await first).completed.outcome == "fetched"
            assert (await second).completed.outcome == "fetched"


@pytest.mark.parametrize(
    ("come", "unread"),
    [pytest.param(50_000, 0, id="small"), pytest.param(300_000, BUFFERED_BODY_BYTES, id="large")],
)
async def test_what_of_a_large_body_is_here_unread_is_counted_with_it(come: int, unread: int) -> None:
    """Or a thousand large ones would take a fifth of a GB more than they may."""
    holds = asyncio.Event()

    async def slow_end(_reader: Reader, writer: Writer) -> None:
        writer.write(http_response(b"x" * come, length=come + 1))
        await holds.wait()
        writer.write(b"x")
        await writer.drain()

    options = RequestLimits(slow_body_seconds=20)
    async with serve_hostile({"/": slow_end}) as server, asking(options=options) as asker:
        asked = asyncio.create_task(asker.ask(request(server.url("/"), deadline_ms=20_000)))
        async with asyncio.timeout(20):
            while asker.budget.held_bytes < come + unread:
                await asyncio.sleep(0.01)
        assert asker.budget.held_bytes == come + unread
        holds.set()
        meaning = await asked

        assert (meaning.completed.outcome, meaning.completed.body_bytes) == ("fetched", come + 1)
        assert asker.budget.held_bytes == 0


async def test_the_system_keeps_little_of_what_nobody_has_read() -> None:
    """Left to itself it keeps more and more for who reads quickly, up to what the machine has for all."""
    page = sends(http_response(b"x" * 9_000_000))
    async with serve_hostile({"/": page}) as server, asking() as asker:
        meaning = await asker.ask(request(server.url("/"), deadline_ms=20_000))
        assert meaning.completed.outcome == "fetched"
        (made,) = asker.transport._engine._sockets

        kept = made.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    assert kept <= 2 * MAX_RECEIVE_BUFFER_BYTES, "it says twice what was wished, for what it needs itself"


@pytest.mark.parametrize(
    ("connections", "each"),
    [
        pytest.param(64, MAX_RECEIVE_BUFFER_BYTES, id="few"),
        pytest.param(1_000, 256 * 1024**2 // 4_000, id="many"),
        pytest.param(4_096, MIN_RECEIVE_BUFFER_BYTES, id="as-many-as-may-be"),
    ],
)
def test_the_system_keeps_less_of_each_where_there_are_many(connections: int, each: int) -> None:
    """All that it keeps is a part of what may be in hand."""
    assert receive_buffer_bytes(256 * 1024**2, connections=connections) == each
