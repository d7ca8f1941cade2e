"""What a request costs: our transport beside a stock httpx client, on one server, in one run.

The server is a process of its own. httpx undoes the body's encoding, as it always does; ours hands it
on as it came, as the fetcher does.
"""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvloop

from strider.fetcher.adapters.http.timeline import RequestTimeline
from strider.testing.hostile import http_response
from tests.bench.measure import Row
from tests.integration.fetcher.http.runner import RunnerHarness, request, running_client

from . import large_pages, many_connections

BODY = gzip.compress(b"<html>" + b"some words of text here " * 1_250, mtime=0)
ANSWER = http_response(BODY, headers=("Content-Encoding: gzip",))

BARS = {100: 6.0, 400: 10.0}
"""By connections: how much dearer a stock httpx request has to be at least."""


class _Server(asyncio.Protocol):
    """Gives one page to everybody."""

    def __init__(self, page: bytes) -> None:
        self._page = page

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(self._page * data.count(b"\r\n\r\n"))


async def _serve(size_bytes: int) -> None:
    page = http_response(b"x" * size_bytes) if size_bytes else ANSWER
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Server(page), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201  # the parent process waits for it
    await server.serve_forever()


@contextmanager
def serving(size_bytes: int = 0) -> Iterator[int]:
    """Give the port of a server with one page, of that size or with the page of this file."""
    server = subprocess.Popen(
        (sys.executable, "-m", "tests.bench.fetcher.client", str(size_bytes)),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield int(server.stdout.readline())
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def measure(*, short: bool) -> list[Row]:
    """Measure requests at 100 and 400 connections, at a thousand, and over TLS."""
    with serving() as port:
        url, count = f"http://127.0.0.1:{port}/a", 500 if short else 1_500
        rows = [
            row
            for connections in BARS
            for row in uvloop.run(_rows(url, connections=connections, count=count))
        ]
    return [*rows, *many_connections.measure(short=short), *large_pages.measure(short=short)]


async def bare_cost(url: str, *, connections: int, count: int) -> float:
    """CPU seconds a request of our transport alone."""
    async with running_client() as asker:
        return await _cost(lambda: _bare(asker, url), connections=connections, count=count)


async def _bare(asker: RunnerHarness, target: str) -> None:
    timeline = RequestTimeline(asyncio.get_running_loop().time)
    response = await asker.connector.send(target, [], timeline=timeline)
    async for _ in response.body:
        pass
    response.body.close(is_whole=True)


async def _rows(url: str, *, connections: int, count: int) -> list[Row]:
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    async with httpx.AsyncClient(limits=limits, timeout=60) as client, running_client() as asker:

        async def stock() -> None:
            await client.get(url)

        async def ours() -> None:
            await _bare(asker, url)

        async def whole() -> None:
            await asker.fetch(request(url, deadline_ms=60_000))

        costs = [await _cost(each, connections=connections, count=count) for each in (stock, ours, whole)]
    name = f"at {connections} connections"
    return [
        Row(
            f"fetch: stock httpx beside our transport {name}",
            costs[0] / costs[1],
            "×",
            BARS[connections],
            True,
        ),
        Row(f"fetch: our transport {name}", costs[1] * 1e6, "µs a request", None),
        Row(f"fetch: with limits, timings and outcome {name}", costs[2] * 1e6, "µs a request", None),
    ]


async def _cost(once: Callable[[], Awaitable[None]], *, connections: int, count: int) -> float:
    """CPU seconds a request, once all connections are open."""

    async def some(number: int) -> None:
        for _ in range(number):
            await once()

    await asyncio.gather(*(some(1) for _ in range(connections)))
    each = max(1, count // connections)
    began = time.process_time()
    await asyncio.gather(*(some(each) for _ in range(connections)))
    return (time.process_time() - began) / (each * connections)


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
