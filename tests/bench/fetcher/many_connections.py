"""A thousand connections at a time, and encrypted ones: what a request costs, and what they hold in memory.

`python -m tests.bench.fetcher.many_connections fetch|serve …` are its two processes, so that neither the
server's memory nor that of other measurements is counted. The server answers after 0.3 s, as sites do.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import uvloop

from strider.fetcher.adapters import RequestLimits, raise_open_file_limit
from strider.testing.hostile import http_response
from tests.bench.measure import Row, resident_mib
from tests.integration.fetcher.http.runner import RunnerHarness, lookup_from, request, running_client

CERTIFICATES = Path(__file__).parents[2] / "integration" / "fetcher" / "certificates"
PAGE_BYTES = 30_000
ANSWER = http_response(b"x" * PAGE_BYTES)
SITE_SECONDS = 0.3

MOST_ROUNDS_TO_OPEN = 9
MANY, MANY_CPU_US, MANY_MB = 1_000, 350.0, 250.0
"""How many at a time, and what the design asks for."""
ENCRYPTED = 100


class _Server(asyncio.Protocol):
    """Gives one page to everybody, after a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        for _ in range(data.count(b"\r\n\r\n")):
            asyncio.get_running_loop().call_later(self._seconds, self._transport.write, ANSWER)


async def _serve(*, is_encrypted: bool) -> None:
    raise_open_file_limit(2 * MANY)
    context = None
    if is_encrypted:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATES / "good.pem")
    seconds = 0.0 if is_encrypted else SITE_SECONDS
    server = await asyncio.get_running_loop().create_server(
        lambda: _Server(seconds), "127.0.0.1", 0, backlog=2048, ssl=context
    )
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201  # the parent process waits for it
    await server.serve_forever()


async def _asked(url: str, *, at_a_time: int, rounds: int) -> dict[str, float]:
    """Send requests in rounds; the first, in which connections are opened, is returned apart."""
    raise_open_file_limit(2 * at_a_time)
    lookup = lookup_from(good_localhost=["127.0.0.1"])
    ca_file = str(CERTIFICATES / "authority.pem")
    async with running_client(
        lookup=lookup, ca_file=ca_file, max_idle=2 * at_a_time, options=RequestLimits()
    ) as asker:
        opening, fetched = await _round(asker, url, count=at_a_time)
        for _ in range(MOST_ROUNDS_TO_OPEN):  # what connects too late is kept for the next round
            if fetched == at_a_time:
                break
            _, fetched = await _round(asker, url, count=at_a_time)
        met = [await _round(asker, url, count=at_a_time) for _ in range(rounds)]
    assert {fetched for _, fetched in met} == {at_a_time}
    return {"opening": opening, "cost": sorted(met)[rounds // 2][0], "memory_mb": resident_mib()}


async def _round(asker: RunnerHarness, url: str, *, count: int) -> tuple[float, int]:
    """Give CPU seconds a request, and how many brought a page."""
    began = time.process_time()
    met = await asyncio.gather(*(asker.fetch(request(url, deadline_ms=60_000)) for _ in range(count)))
    cost = (time.process_time() - began) / count
    return cost, sum(meaning.page is not None for meaning in met)


def measure(*, short: bool) -> list[Row]:
    """Measure both."""
    rounds = 3 if short else 9
    many = _measured("http", at_a_time=MANY, rounds=rounds)
    tls = _measured("https", at_a_time=ENCRYPTED, rounds=rounds)
    name, secure = (
        f"at {MANY:,} connections to servers of {SITE_SECONDS} s",
        f"over TLS at {ENCRYPTED} connections",
    )
    return [
        Row(f"fetch: CPU {name}", many["cost"] * 1e6, "µs a request", MANY_CPU_US),
        Row(f"fetch: memory {name}, pages of 30 KB", many["memory_mb"], "MB", MANY_MB),
        Row(f"fetch: CPU {secure}, pages of 30 KB", tls["cost"] * 1e6, "µs a request", None),
        Row(f"fetch: CPU {secure}, handshake included", tls["opening"] * 1e6, "µs a request", None),
    ]


def _measured(scheme: str, *, at_a_time: int, rounds: int) -> dict[str, float]:
    command = (sys.executable, "-m", "tests.bench.fetcher.many_connections")
    server = subprocess.Popen((*command, "serve", scheme), stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        url = f"{scheme}://good.localhost:{int(server.stdout.readline())}/a"
        told = subprocess.run(
            (*command, "fetch", url, str(at_a_time), str(rounds)), stdout=subprocess.PIPE, check=True
        )
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    found: dict[str, float] = json.loads(told.stdout)
    return found


def _main(what: str, *more: str) -> None:
    if what == "serve":
        uvloop.run(_serve(is_encrypted=more[0] == "https"))
        return
    url, at_a_time, rounds = more
    found = uvloop.run(_asked(url, at_a_time=int(at_a_time), rounds=int(rounds)))
    print(json.dumps(found))  # noqa: T201  # the parent process reads it


if __name__ == "__main__":
    _main(*sys.argv[1:])
