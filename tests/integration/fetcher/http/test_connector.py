"""The fetcher's transport is one of httpx's: whatever holds for httpx's own holds for it.

Bodies stay packed, redirects are answers, and what fails is one of httpx's transport errors: which one
is left open, since ours say more (`adapters/failures.py`).
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator

import httpx
import pytest

from strider.testing.hostile import (
    CHUNKED,
    PAGE,
    UNTIL_CLOSE,
    HostileServer,
    http_response,
    redirect_response,
    sends,
    sends_nothing,
    serve_hostile,
)
from tests.integration.fetcher.http.runner import asking

PACKED = gzip.compress(PAGE)
PLAYS = {
    "/": sends(http_response(headers=("X-A: 1", "X-A: 2", "X-B: caf\xe9"))),
    "/packed": sends(http_response(PACKED, headers=("Content-Encoding: gzip",))),
    "/chunked": sends(CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"),
    "/until-close": sends(UNTIL_CLOSE + PAGE, then_close=True),
    "/moved": sends(redirect_response("/")),
    "/closed": sends(then_close=True),
    "/short": sends(http_response(length=1000), then_close=True),
    "/nonsense": sends(b"HELLO\r\n\r\n"),
    "/silent": sends_nothing,
    "/204": sends(b"HTTP/1.1 204 No Content\r\n\r\n"),
}


@pytest.fixture
async def server() -> AsyncIterator[HostileServer]:
    async with serve_hostile(PLAYS) as server:
        yield server


@pytest.fixture(params=["httpx", "ours"])
async def transport(request: pytest.FixtureRequest) -> AsyncIterator[httpx.AsyncBaseTransport]:
    if request.param == "httpx":
        async with httpx.AsyncHTTPTransport(trust_env=False) as transport:
            yield transport
    else:
        async with asking() as asker:
            yield asker.transport


async def _raw(response: httpx.Response) -> bytes:
    stream = response.stream
    assert isinstance(stream, httpx.AsyncByteStream)
    try:
        return b"".join([chunk async for chunk in stream])
    finally:
        await stream.aclose()


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        pytest.param("/", 200, PAGE, id="length"),
        pytest.param("/packed", 200, PACKED, id="packed-stays-packed"),
        pytest.param("/chunked", 200, b"hello", id="chunks"),
        pytest.param("/until-close", 200, PAGE, id="until-close"),
        pytest.param("/moved", 302, b"", id="redirects-are-not-followed"),
        pytest.param("/204", 204, b"", id="no-content"),
        pytest.param("/absent", 404, b"", id="absent"),
    ],
)
async def test_an_answer_is_given_as_it_came(
    server: HostileServer, transport: httpx.AsyncBaseTransport, path: str, status: int, body: bytes
) -> None:
    response = await transport.handle_async_request(httpx.Request("GET", server.url(path)))

    assert (response.status_code, response.http_version, await _raw(response)) == (status, "HTTP/1.1", body)


async def test_headers_are_kept_as_they_were_sent(
    server: HostileServer, transport: httpx.AsyncBaseTransport
) -> None:
    response = await transport.handle_async_request(httpx.Request("GET", server.url("/")))
    await _raw(response)

    sent = [(name, value) for name, value in response.headers.raw if name.startswith(b"X-")]
    assert sent == [(b"X-A", b"1"), (b"X-A", b"2"), (b"X-B", b"caf\xe9")]


async def test_a_request_is_sent_as_it_was_made(
    server: HostileServer, transport: httpx.AsyncBaseTransport
) -> None:
    """The target too: httpx would escape what it thinks odd, so that another page would be asked for."""
    made = httpx.Request(
        "GET", server.url("/"), headers=[(b"User-Agent", b"X")], extensions={"target": b"/a|b?q='%zz"}
    )
    response = await transport.handle_async_request(made)
    await _raw(response)

    lines = server.request_heads[0].split("\r\n")
    assert lines[0] == "GET /a|b?q='%zz HTTP/1.1"
    assert sorted(lines[1:-2]) == [f"Host: 127.0.0.1:{server.port}", "User-Agent: X"]


async def test_connections_are_kept(server: HostileServer, transport: httpx.AsyncBaseTransport) -> None:
    for _ in range(3):
        response = await transport.handle_async_request(httpx.Request("GET", server.url("/")))
        await _raw(response)

    assert server.connections == 1


async def test_a_body_that_is_not_read_costs_its_connection(
    server: HostileServer, transport: httpx.AsyncBaseTransport
) -> None:
    response = await transport.handle_async_request(httpx.Request("GET", server.url("/short")))
    await response.stream.aclose()  # type: ignore[union-attr]
    response = await transport.handle_async_request(httpx.Request("GET", server.url("/")))

    assert (await _raw(response), server.connections) == (PAGE, 2)


@pytest.mark.parametrize("path", ["/closed", "/short", "/nonsense"])
async def test_what_fails_is_a_transport_error(
    server: HostileServer, transport: httpx.AsyncBaseTransport, path: str
) -> None:
    async def ask() -> None:
        await _raw(await transport.handle_async_request(httpx.Request("GET", server.url(path))))

    with pytest.raises(httpx.TransportError):
        await ask()


async def test_nobody_listening_is_a_transport_error(transport: httpx.AsyncBaseTransport) -> None:
    async with serve_hostile({}) as gone:
        url = gone.url("/")
    with pytest.raises(httpx.TransportError):
        await transport.handle_async_request(httpx.Request("GET", url))


async def test_a_cancelled_request_is_cancelled_and_the_next_one_works(
    server: HostileServer, transport: httpx.AsyncBaseTransport
) -> None:
    """Libraries have lost connections, or answers to others, this way."""
    for _ in range(5):
        task = asyncio.create_task(
            transport.handle_async_request(httpx.Request("GET", server.url("/silent")))
        )
        asked = len(server.requested_paths)
        async with asyncio.timeout(30):
            while len(server.requested_paths) == asked:
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    response = await transport.handle_async_request(httpx.Request("GET", server.url("/")))
    assert await _raw(response) == PAGE


async def test_a_connection_that_was_closed_while_it_was_kept_is_replaced(
    server: HostileServer, transport: httpx.AsyncBaseTransport
) -> None:
    server.scripts["/last"] = sends(http_response(), then_close=True)
    for path in ("/last", "/"):
        response = await transport.handle_async_request(httpx.Request("GET", server.url(path)))
        assert await _raw(response) == PAGE
        await asyncio.sleep(0.05)  # so that the goodbye has come

    assert (server.requested_paths, server.connections) == (["/last", "/"], 2)


async def test_a_client_on_top_limits_its_waiting(
    server: HostileServer, transport: httpx.AsyncBaseTransport
) -> None:
    client = httpx.AsyncClient(transport=transport, timeout=0.2)

    with pytest.raises(httpx.TransportError):
        await client.get(server.url("/silent"))


async def test_a_client_on_top_works_as_on_any_transport(
    server: HostileServer, transport: httpx.AsyncBaseTransport
) -> None:
    client = httpx.AsyncClient(transport=transport, follow_redirects=True)

    found = await client.get(server.url("/moved"))
    packed = await client.get(server.url("/packed"))

    assert (found.status_code, found.content, len(found.history)) == (200, PAGE, 1)
    assert packed.content == PAGE
