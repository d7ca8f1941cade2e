"""Bodies in transit: chunks of any size, and waiting for the budget."""

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
from tests.integration.fetcher.http.runner import request, running_client

PAGE = b"".join(b"%07d\n" % number for number in range(125_000))
"""A million bytes, none of which may be lost or repeated."""


@pytest.mark.parametrize(
    ("size_bytes", "length"),
    [
        pytest.param(500_000, 1_000_000, id="two"),
        pytest.param(8_192, 1_000_000, id="usual"),
        pytest.param(40, 400_000, id="by-lines"),
        pytest.param(7, 50_000, id="by-words"),
    ],
)
async def test_chunked_bodies_are_read_whole(size_bytes: int, length: int) -> None:
    """Also for so many that the sender is paused now and then."""
    body = PAGE[:length]
    plays = {"/": sends(CHUNKED + chunked(body, size=size_bytes))}
    async with serve_hostile(plays) as server, running_client() as client:
        for _ in range(2):
            meaning = await client.fetch(request(server.url("/"), deadline_ms=20_000))

            assert meaning.page is not None, meaning.completed.error_message
            assert meaning.page.body == body
    assert server.connections == 1, "and leave the connection as it was"


async def test_waiting_for_the_budget_does_not_count_as_slow() -> None:
    """A body that may not be read yet pauses for as long as the bodies before it take."""
    holds = asyncio.Event()

    async def slow_end(_reader: Reader, writer: Writer) -> None:
        writer.write(http_response(b"x" * 50_000, length=50_001))
        await holds.wait()
        writer.write(b"x")
        await writer.drain()

    options = RequestLimits(slow_body_seconds=0.3, min_bytes_per_second=1_000)
    plays = {"/first": slow_end, "/second": sends(http_response(b"y" * 100))}
    async with serve_hostile(plays) as server, running_client(budget_bytes=40_000, options=options) as client:
        patient = request(server.url("/first", host="a.localhost"), deadline_ms=20_000)
        first = asyncio.create_task(client.fetch(patient))
        async with asyncio.timeout(20):
            while client.body_budget.held_bytes < 50_000:
                await asyncio.sleep(0.01)
            second = asyncio.create_task(client.fetch(request(server.url("/second"), deadline_ms=20_000)))
            while "/second" not in server.requested_paths:
                await asyncio.sleep(0.01)
            done, _ = await asyncio.wait((second,), timeout=0.5)
            assert not done, "it is not its turn"
            holds.set()

            assert (await first).completed.outcome == "fetched"
            assert (await second).completed.outcome == "fetched"


@pytest.mark.fault("A19", part="a body that hardly grows, and another that waits for its memory")
async def test_a_body_that_hardly_grows_is_ended_for_one_that_waits() -> None:
    """It is faster than the minimum, so that alone it would be read until its deadline."""

    async def trickles(_reader: Reader, writer: Writer) -> None:
        writer.write(http_response(b"x" * 600_000, length=9_000_000))
        while True:
            writer.write(b"x" * 100)
            await writer.drain()
            await asyncio.sleep(0.01)

    body = b"y" * 600_000
    plays = {"/trickles": trickles, "/whole": sends(http_response(body))}
    async with (
        serve_hostile(plays) as server,
        running_client(budget_bytes=1_000_000, patience_seconds=0.3) as client,
    ):
        slow = request(server.url("/trickles", host="a.localhost"), deadline_ms=60_000)
        first = asyncio.create_task(client.fetch(slow))
        async with asyncio.timeout(20):
            while client.body_budget.held_bytes < 600_000:
                await asyncio.sleep(0.01)
            whole = await client.fetch(request(server.url("/whole"), deadline_ms=20_000))
            ended = await first

    assert whole.page is not None
    assert whole.page.body == body
    assert (ended.completed.outcome, ended.completed.error_class) == ("too_slow", "too_slow")
    assert "others waited" in ended.completed.error_message


@pytest.mark.parametrize(
    ("come", "unread"),
    [pytest.param(50_000, 0, id="small"), pytest.param(300_000, BUFFERED_BODY_BYTES, id="large")],
)
async def test_the_unread_buffer_of_a_large_body_is_held_in_the_budget(come: int, unread: int) -> None:
    """Otherwise a thousand large ones would exceed the budget by a fifth of a GB."""
    holds = asyncio.Event()

    async def slow_end(_reader: Reader, writer: Writer) -> None:
        writer.write(http_response(b"x" * come, length=come + 1))
        await holds.wait()
        writer.write(b"x")
        await writer.drain()

    options = RequestLimits(slow_body_seconds=20)
    async with serve_hostile({"/": slow_end}) as server, running_client(options=options) as client:
        asked = asyncio.create_task(client.fetch(request(server.url("/"), deadline_ms=20_000)))
        async with asyncio.timeout(20):
            while client.body_budget.held_bytes < come + unread:
                await asyncio.sleep(0.01)
        assert client.body_budget.held_bytes == come + unread
        holds.set()
        meaning = await asked

        assert (meaning.completed.outcome, meaning.completed.body_bytes) == ("fetched", come + 1)
        assert client.body_budget.held_bytes == 0


async def test_the_receive_buffer_is_limited() -> None:
    """By default it grows for fast readers, up to the memory of the machine."""
    page = sends(http_response(b"x" * 9_000_000))
    async with serve_hostile({"/": page}) as server, running_client() as client:
        meaning = await client.fetch(request(server.url("/"), deadline_ms=20_000))
        assert meaning.completed.outcome == "fetched"
        (made,) = client.connector._sockets

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
def test_the_receive_buffer_shrinks_with_the_number_of_connections(connections: int, each: int) -> None:
    """All buffers together are a part of the body budget."""
    assert receive_buffer_bytes(256 * 1024**2, connections=connections) == each
