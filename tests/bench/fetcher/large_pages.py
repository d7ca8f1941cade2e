"""A thousand connections whose pages are of 10 MB each, under a budget for bodies: what that takes in memory.

`python -m tests.bench.fetcher.large_pages fetch|serve …` are its two processes. The server sends as fast as
it is read, to all at once, so that only the fetcher's own limits keep ten gigabytes from coming in.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import uvloop

from strider.fetcher.adapters import RequestLimits, raise_open_file_limit
from tests.bench.measure import Row, resident_mib
from tests.integration.fetcher.http.runner import RunnerHarness, lookup_from, request, running_client

MIB: Final = 1024 * 1024
PAGE_BYTES: Final = 10_000_000
BUDGET_MB: Final = 256
"""The default of `FETCHER_IN_FLIGHT_MB`."""
BARE_MB: Final = 250.0
"""What as many connections may take with small pages."""
SEND_BYTES: Final = 32 * 1024
"""What the server's side keeps of a page: it is on the same machine, and not what is measured."""
MOST_SECONDS: Final = 600.0
HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % PAGE_BYTES
PART: Final = b"x" * 50_000


class _Server(asyncio.Protocol):
    """Sends one long page to everybody, in parts, as they are taken."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        self._left = 0
        self._may_write = True

    def data_received(self, data: bytes) -> None:
        del data
        self._transport.write(HEAD)
        self._left = PAGE_BYTES
        self._go_on()

    def pause_writing(self) -> None:
        self._may_write = False

    def resume_writing(self) -> None:
        self._may_write = True
        self._go_on()

    def _go_on(self) -> None:
        while self._left and self._may_write:
            self._transport.write(PART)
            self._left -= len(PART)


async def _serve() -> None:
    raise_open_file_limit(4_000)
    server = await asyncio.get_running_loop().create_server(_Server, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201  # the parent process waits for it
    await server.serve_forever()


@asynccontextmanager
async def _watched(asker: RunnerHarness) -> AsyncIterator[list[int]]:
    """Note how much is held, now and then."""
    most = [0]

    async def look() -> None:
        while True:
            most[0] = max(most[0], asker.body_budget.held_bytes)
            await asyncio.sleep(0.01)

    looking = asyncio.create_task(look())
    try:
        yield most
    finally:
        looking.cancel()


async def _asked(url: str, *, at_a_time: int) -> dict[str, float]:
    raise_open_file_limit(2 * at_a_time)
    async with running_client(
        lookup=lookup_from(large_localhost=["127.0.0.1"]),
        options=RequestLimits(max_deadline_seconds=MOST_SECONDS),
        budget_bytes=BUDGET_MB * MIB,
        connections=at_a_time,
    ) as asker:
        wanted = request(url, deadline_ms=round(MOST_SECONDS * 1000), max_body_bytes=PAGE_BYTES)
        began = time.process_time()

        async def one() -> bool:
            meaning = await asker.fetch(wanted)
            return meaning.page is not None and meaning.completed.body_bytes == PAGE_BYTES

        async with _watched(asker) as most:
            whole = sum(await asyncio.gather(*(one() for _ in range(at_a_time))))
        cost = (time.process_time() - began) / at_a_time
    return {"whole": whole, "memory_mb": resident_mib(), "held_mb": most[0] / MIB, "cost": cost}


def measure(*, short: bool) -> list[Row]:
    """Measure it; the short form with a third of the connections."""
    at_a_time = 300 if short else 1_000
    found = _measured(at_a_time)
    name = f"{at_a_time:,} connections, pages of {PAGE_BYTES // 1_000_000} MB, budget of {BUDGET_MB} MB"
    whole = f"{found['whole']:.0f} came whole, {found['held_mb']:.0f} MB held at most"
    return [
        Row(f"fetch: memory at {name}", found["memory_mb"], "MB", BUDGET_MB + BARE_MB, detail=whole),
        Row(f"fetch: CPU at {name}", found["cost"] * 1000, "ms a page", None),
    ]


def _measured(at_a_time: int) -> dict[str, float]:
    command = (sys.executable, "-m", "tests.bench.fetcher.large_pages")
    server = subprocess.Popen((*command, "serve"), stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        url = f"http://large.localhost:{int(server.stdout.readline())}/a"
        told = subprocess.run((*command, "fetch", url, str(at_a_time)), stdout=subprocess.PIPE, check=True)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    found: dict[str, float] = json.loads(told.stdout)
    return found


def _main(what: str, *more: str) -> None:
    if what == "serve":
        uvloop.run(_serve())
        return
    url, at_a_time = more
    print(json.dumps(uvloop.run(_asked(url, at_a_time=int(at_a_time)))))  # noqa: T201  # the parent process reads it


if __name__ == "__main__":
    _main(*sys.argv[1:])
