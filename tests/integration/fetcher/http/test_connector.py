"""The connector over real sockets: responses as sent, connections reused, failures as FetchFailure."""

from __future__ import annotations

import asyncio
import gzip
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from strider.fetcher.adapters import FetchFailure
from strider.fetcher.adapters.http.connector import HttpConnector
from strider.fetcher.adapters.http.exchange import HttpResponse
from strider.fetcher.adapters.http.timeline import RequestTimeline
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
from tests.processes.open_files import without_new_files

from .runner import running_client

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


@pytest.fixture
async def connector() -> AsyncIterator[HttpConnector]:
    async with running_client() as client:
        yield client.connector


async def _send(connector: HttpConnector, url: str, *headers: tuple[str, str]) -> HttpResponse:
    timeline = RequestTimeline(asyncio.get_running_loop().time)
    return await connector.send(url, list(headers), timeline=timeline)


async def _read(response: HttpResponse) -> bytes:
    try:
        return b"".join([chunk async for chunk in response.body])
    finally:
        response.body.close(is_whole=True)


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        pytest.param("/", 200, PAGE, id="length"),
        pytest.param("/packed", 200, PACKED, id="compressed-stays-compressed"),
        pytest.param("/chunked", 200, b"hello", id="chunks"),
        pytest.param("/until-close", 200, PAGE, id="until-close"),
        pytest.param("/moved", 302, b"", id="redirects-are-not-followed"),
        pytest.param("/204", 204, b"", id="no-content"),
        pytest.param("/absent", 404, b"", id="absent"),
    ],
)
async def test_a_response_is_returned_as_sent(
    server: HostileServer, connector: HttpConnector, path: str, status: int, body: bytes
) -> None:
    response = await _send(connector, server.url(path))

    assert (response.status, response.http_version, await _read(response)) == (status, "1.1", body)


async def test_headers_are_kept_as_they_were_sent(server: HostileServer, connector: HttpConnector) -> None:
    response = await _send(connector, server.url("/"))
    await _read(response)

    sent = [(name, value) for name, value in response.raw_headers if name.startswith(b"X-")]
    assert sent == [(b"X-A", b"1"), (b"X-A", b"2"), (b"X-B", b"caf\xe9")]


async def test_a_request_is_sent_as_it_was_made(server: HostileServer, connector: HttpConnector) -> None:
    """The target too: escaping what looks odd would request another page."""
    await _read(await _send(connector, server.url("/a|b?q='%zz"), ("User-Agent", "X")))

    lines = server.request_heads[0].split("\r\n")
    assert lines[0] == "GET /a|b?q='%zz HTTP/1.1"
    assert sorted(lines[1:-2]) == [f"Host: 127.0.0.1:{server.port}", "User-Agent: X"]


async def test_connections_are_reused(server: HostileServer, connector: HttpConnector) -> None:
    for _ in range(3):
        await _read(await _send(connector, server.url("/")))

    assert server.connections == 1


async def test_a_body_that_is_not_read_costs_its_connection(
    server: HostileServer, connector: HttpConnector
) -> None:
    response = await _send(connector, server.url("/short"))
    response.body.close(is_whole=True)
    response = await _send(connector, server.url("/"))

    assert (await _read(response), server.connections) == (PAGE, 2)


@pytest.mark.parametrize("path", ["/closed", "/short", "/nonsense"])
async def test_a_broken_response_is_a_fetch_failure(
    server: HostileServer, connector: HttpConnector, path: str
) -> None:
    async def send_and_read() -> None:
        await _read(await _send(connector, server.url(path)))

    with pytest.raises(FetchFailure):
        await send_and_read()


async def test_a_refused_connection_is_a_fetch_failure(connector: HttpConnector) -> None:
    async with serve_hostile({}) as gone:
        url = gone.url("/")
    with pytest.raises(FetchFailure):
        await _send(connector, url)


async def test_a_cancelled_request_leaves_the_next_one_intact(
    server: HostileServer, connector: HttpConnector
) -> None:
    """Libraries have lost connections, or mixed up responses, this way."""
    for _ in range(5):
        task = asyncio.create_task(_send(connector, server.url("/silent")))
        requests = len(server.requested_paths)
        async with asyncio.timeout(30):
            while len(server.requested_paths) == requests:
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert await _read(await _send(connector, server.url("/"))) == PAGE


async def test_a_kept_connection_that_was_closed_is_replaced(
    server: HostileServer, connector: HttpConnector
) -> None:
    server.scripts["/last"] = sends(http_response(), then_close=True)
    for path in ("/last", "/"):
        assert await _read(await _send(connector, server.url(path))) == PAGE
        await asyncio.sleep(0.05)  # so that the close was received

    assert (server.requested_paths, server.connections) == (["/last", "/"], 2)


@pytest.mark.fault("F31", part="files of a connection to a site")
async def test_a_connection_without_a_file_blames_no_host(
    server: HostileServer, connector: HttpConnector
) -> None:
    """F31: the site is as good as it was before."""
    with without_new_files([os.getpid()]), pytest.raises(FetchFailure, match="Too many open files") as failed:
        await _send(connector, server.url("/"))
    response = await _send(connector, server.url("/"))

    assert failed.value.error_class == "offline"
    assert response.status == 200


_CAN_ISOLATE = subprocess.run(["unshare", "-Urn", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.fault("F31", part="ports of a connection to a site")
@pytest.mark.skipif(not _CAN_ISOLATE, reason="the system lets no user have a network of its own")
def test_a_connection_without_a_port_blames_no_host() -> None:
    """F31: in a network of its own, with four ports."""
    program = Path(__file__).with_name("few_ports.py")
    setup = "ip link set lo up && echo 60000 60003 > /proc/sys/net/ipv4/ip_local_port_range && exec"
    done = subprocess.run(
        ["unshare", "-Urn", "sh", "-c", f"{setup} {sys.executable} {program}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    *fetched, failed, last = done.stdout.splitlines() or ["", done.stderr]
    assert failed == "offline: no connection can be made from here: no local port is left"
    assert {*fetched, last} == {"200"}, "connections that there are can be used"
