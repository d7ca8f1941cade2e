"""Unrequested bytes on a kept connection are never the response to the next request."""

from __future__ import annotations

import asyncio

import pytest

from strider.fetcher.adapters.http.timeline import RequestTimeline
from strider.testing.hostile import (
    PAGE,
    Reader,
    ResponseScript,
    Writer,
    http_response,
    reset_connection,
    sends,
    serve_hostile,
)
from tests.integration.fetcher.http.runner import request, running_client

POISON = http_response(b"<html>poison</html>")


def says_unasked(more: bytes) -> tuple[ResponseScript, asyncio.Event, asyncio.Event]:
    """Return a server that sends more once its response was read, and events for both moments."""
    taken, said = asyncio.Event(), asyncio.Event()

    async def play(_reader: Reader, writer: Writer) -> None:
        writer.write(http_response())
        if said.is_set():
            return
        await taken.wait()
        writer.write(more)
        await writer.drain()
        said.set()

    return play, taken, said


@pytest.mark.parametrize(
    "unasked",
    [
        pytest.param(POISON, id="a response"),
        pytest.param(http_response(b"", status="408 Request Timeout"), id="that it was tired of waiting"),
        pytest.param(POISON[:30], id="a part of a head"),
        pytest.param(b"\x00\x00", id="noise"),
        pytest.param(b"\r\n", id="a line end"),
    ],
)
@pytest.mark.parametrize("is_heard", [False, True])
async def test_bytes_between_two_requests_are_no_response(unasked: bytes, is_heard: bool) -> None:
    """They are discarded with the connection, whether the event loop has read them or only the system."""
    play, taken, said = says_unasked(unasked)
    async with (
        serve_hostile({"/a": play, "/b": sends(http_response())}) as server,
        running_client() as client,
    ):
        await client.fetch(request(server.url("/a")))
        taken.set()
        await said.wait()
        async with asyncio.timeout(5):
            while is_heard and not server.closed_connections:
                await asyncio.sleep(0)
        found = await client.fetch(request(server.url("/b")))

    assert found.page is not None
    assert (found.page.status, found.page.body) == (200, PAGE)
    assert (found.completed.connection_reused, server.connections) == (False, 2)


async def test_a_408_for_an_idle_connection_is_no_response() -> None:
    """The 408 crossed the request; as its response it would end the page for good."""

    async def play(_reader: Reader, writer: Writer) -> None:
        status, *headers = next(says_next)
        writer.write(http_response(status=status, headers=tuple(headers)))

    tired = ("408 Request Timeout", "Connection: close")
    says_next = iter((("200 OK",), tired, tired))
    async with serve_hostile({"/": play}) as server, running_client() as client:
        ends = [(await client.fetch(request(server.url("/")))).completed for _ in range(3)]

    assert [(end.outcome, end.connection_reused) for end in ends] == [
        ("fetched", False),
        ("network_failed", True),
        ("client_error", False),
    ]


@pytest.mark.parametrize("more", [POISON, POISON[:30]], ids=["an answer", "a part of a head"])
async def test_bytes_in_the_same_packet_after_a_response_are_discarded(more: bytes) -> None:
    """The connection is released in the middle of that packet."""
    whole = http_response()
    play = sends(whole[:-5], whole[-5:] + more, every_seconds=0.05)
    async with (
        serve_hostile({"/a": play, "/b": sends(http_response())}) as server,
        running_client() as client,
    ):
        first = await client.fetch(request(server.url("/a")))
        found = await client.fetch(request(server.url("/b")))

    assert first.page is not None
    assert found.page is not None
    assert (first.page.body, found.page.body, server.connections) == (PAGE, PAGE, 2)


async def test_a_reset_after_a_complete_body_loses_nothing() -> None:
    """Some servers close like this; a reader that waits for the budget has yet to read the body."""

    async def play(_reader: Reader, writer: Writer) -> None:
        for part in (whole[:-5], whole[-5:]):
            writer.write(part)
            await asyncio.sleep(0.05)
        reset_connection(writer)

    body = b"x" * 40_000
    whole = http_response(body)
    async with serve_hostile({"/": play}) as server, running_client() as client:
        timeline = RequestTimeline(asyncio.get_running_loop().time)
        response = await client.connector.send(server.url("/"), [], timeline=timeline)
        protocol = response.body._protocol  # only the connection knows when it has ended
        assert protocol is not None, "the body was still on its way"
        async with asyncio.timeout(5):
            while protocol.transport is not None:
                await asyncio.sleep(0.01)
        assert b"".join([chunk async for chunk in response.body]) == body


@pytest.mark.parametrize(
    ("keep_alive", "is_kept"),
    [("timeout=60, max=100", True), ("max=5,Timeout = 60", True), ("60", True), ("timeout=1", False)],
)
async def test_the_keep_alive_timeout_is_respected(keep_alive: str, is_kept: bool) -> None:
    """A request sent just then is lost, and costs its page a try with a delay of five seconds."""
    play = sends(http_response(headers=(f"Keep-Alive: {keep_alive}",)))
    async with serve_hostile({"/": play}) as server, running_client() as client:
        found = [(await client.fetch(request(server.url("/")))).completed for _ in range(2)]

    assert [each.outcome for each in found] == ["fetched"] * 2
    assert (found[1].connection_reused, server.connections) == (is_kept, 1 if is_kept else 2)


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_an_unexpected_body_spoils_no_response(status: str) -> None:
    """Whether it arrives with the head or after it must make no difference."""
    head = f"HTTP/1.1 {status}\r\nETag: x\r\nContent-Length: 5\r\n\r\n".encode()
    plays = {"/one": sends(head + b"hello"), "/two": sends(head, b"hello", every_seconds=0.02)}
    async with serve_hostile(plays) as server, running_client() as client:
        found = [(await client.fetch(request(server.url(path), etag="x"))).completed for path in plays]

    assert [each.status for each in found] == [int(status[:3])] * 2
    assert {each.error_class for each in found} == {""}


async def test_an_invalid_chunk_does_not_lose_the_head() -> None:
    """The head is valid, in however many packets everything arrives."""
    head = b"HTTP/1.1 200 OK\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n"
    plays = {
        "/one": sends(head + b"-5\r\n"),
        "/two": sends(head[:-2], head[-2:] + b"-5\r\n", every_seconds=0.02),
    }
    async with serve_hostile(plays) as server, running_client() as client:
        found = [(await client.fetch(request(server.url(path)))).completed for path in plays]

    told = [(each.error_class, each.status, each.retry_after_seconds) for each in found]
    assert told == [("bad_framing", 200, 7.0)] * 2
    assert not any(each.error_message.startswith("400") for each in found), "no site has said that"
