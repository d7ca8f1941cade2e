"""Clients of the API that are silent, slow or many, on real sockets: other clients get their responses."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from strider.api import log_events
from strider.runtime.observability import log_events as runtime_events
from strider.testing.callers import AUTH_SETTINGS
from tests.figures import record_figure
from tests.integration.examples.processes import ServiceProcess
from tests.integration.examples.test_telemetry import closed_port

HEAD_SECONDS = 2.0
BODY_SECONDS = 2.0
CONNECTIONS = 256
"""The limit of connections by default."""
DOCUMENT = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
TRICKLE_SECONDS = 0.2

pytestmark = pytest.mark.fault("A9")

Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class RunningApi:
    """An API without any server behind it: it serves, and says what is missing."""

    def __init__(self, log: Path, *, body_seconds: float = BODY_SECONDS) -> None:
        nowhere = f"127.0.0.1:{closed_port()}"
        settings = {
            "POSTGRES_DSN": f"postgresql://{nowhere}/strider",
            "REDIS_URL": f"redis://{nowhere}",
            "STRIDER_API_PORT": "0",
            **AUTH_SETTINGS,
            "STRIDER_API_HEAD_TIMEOUT": f"{HEAD_SECONDS:g}s",
            "STRIDER_API_BODY_TIMEOUT": f"{body_seconds:g}s",
        }
        self.process = ServiceProcess("api", nowhere, log, settings)
        place = urlsplit(str(self.process.wait_for_event(log_events.API_LISTENING.text)["url"]))
        self.port = place.port or 0
        health = self.process.wait_for_event(runtime_events.HEALTH_SERVER_STARTED.text)["url"]
        self.health_port = urlsplit(str(health)).port or 0

    def errors(self) -> list[str]:
        """What it logged as an error."""
        lines = (json.loads(line) for line in self.process.log.read_text().splitlines() if line[:1] == "{")
        return [str(line) for line in lines if line["level"] in {"error", "critical"}]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApi]:
    running = RunningApi(tmp_path_factory.mktemp("api") / "api.log")
    yield running
    running.process.close()


@pytest.fixture(scope="module")
def patient_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApi]:
    """Clients have a minute to read a response, as by default."""
    running = RunningApi(tmp_path_factory.mktemp("api") / "patient.log", body_seconds=60.0)
    yield running
    running.process.close()


@asynccontextmanager
async def opened(port: int, count: int, *, source: str = "127.0.0.1") -> AsyncIterator[list[Wire]]:
    """Hold so many connections from an address of this machine."""
    wires = [await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0)) for _ in range(count)]
    try:
        yield wires
    finally:
        for _, writer in wires:
            writer.close()


async def status_of(port: int, request: bytes = DOCUMENT, *, source: str = "127.0.0.1") -> tuple[int, float]:
    """Send a request on a connection of its own: status, or 0 without a response, and seconds."""
    began = time.monotonic()
    async with asyncio.timeout(15), opened(port, 1, source=source) as [(reader, writer)]:
        try:
            writer.write(request)
            line = await reader.readline()
        except ConnectionError:
            line = b""
    return int(line.split()[1]) if line else 0, time.monotonic() - began


async def seconds_until_closed(reader: asyncio.StreamReader) -> float:
    began = time.monotonic()
    async with asyncio.timeout(30):
        try:
            while await reader.read(65536):
                pass
        except ConnectionError:
            pass
    return time.monotonic() - began


def _record(name: str, found: list[tuple[int, float]]) -> None:
    served = sum(status == 200 for status, _ in found)
    slowest = max(seconds for _, seconds in found)
    record_figure(f"{name}: served={served} of {len(found)} slowest={slowest:.3f}s")


@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"])
async def test_silent_connections_stop_no_client(api: RunningApi, source: str) -> None:
    """As many as may be open at all; clients at the same address and at another one are served."""
    async with opened(api.port, CONNECTIONS):
        found = [await status_of(api.port, source=source) for _ in range(20)]

    _record(f"{CONNECTIONS} silent connections, a client at {source}", found)
    assert {status for status, _ in found} == {200}


async def test_a_head_must_arrive_in_time(api: RunningApi) -> None:
    """A byte at a time does not extend the limit; nor does a connection that was used before."""

    async def trickle(writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET / HTTP/1.1\r\n")
        while not writer.is_closing():
            writer.write(b"a")
            await asyncio.sleep(TRICKLE_SECONDS)

    async with opened(api.port, 2) as [(silent, _), (slow, slow_writer)]:
        tasks = [asyncio.create_task(seconds_until_closed(each)) for each in (silent, slow)]
        sending = asyncio.create_task(trickle(slow_writer))
        ended = await asyncio.gather(*tasks)
        sending.cancel()

    record_figure(f"head within {HEAD_SECONDS:g} s: silent={ended[0]:.2f}s a byte at a time={ended[1]:.2f}s")
    assert all(seconds < HEAD_SECONDS + 2 for seconds in ended)


async def test_a_body_must_arrive_in_time(api: RunningApi) -> None:
    head = b"POST /api/v1/seeds HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    async with opened(api.port, 1) as [(reader, writer)]:
        writer.write(head + b"Content-Length: 100000\r\n\r\n[")
        ended = await seconds_until_closed(reader)

    record_figure(f"body within {BODY_SECONDS:g} s: closed after {ended:.2f}s")
    assert ended < BODY_SECONDS + 2
    assert api.errors() == []


async def test_a_response_must_be_read_in_time(api: RunningApi) -> None:
    """A client that reads nothing holds its connection and its responses no longer than a slow sender."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.connect(("127.0.0.1", api.port))
    try:
        wire.settimeout(0.2)
        began = time.monotonic()
        ended = await asyncio.to_thread(_send_until_closed, wire, began)
    finally:
        wire.close()

    record_figure(f"unread responses, limit {BODY_SECONDS:g} s: closed after {ended:.2f}s")
    assert ended < BODY_SECONDS + HEAD_SECONDS + 4
    assert (await status_of(api.port))[0] == 200


def _send_until_closed(wire: socket.socket, began: float) -> float:
    while time.monotonic() - began < 30:
        try:
            wire.sendall(DOCUMENT * 20)
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


async def test_unread_responses_stop_no_client(patient_api: RunningApi) -> None:
    """As many connections as may be open, from several addresses, with many requests and nothing read."""
    began = time.monotonic()
    wires: list[socket.socket] = []
    try:
        for number in range(CONNECTIONS + 64):
            wire = socket.socket()
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.bind((f"127.0.1.{number % 5 + 1}", 0))
            wire.connect(("127.0.0.1", patient_api.port))
            wire.setblocking(False)
            with suppress(BlockingIOError, ConnectionError):
                wire.send(DOCUMENT * 400)
            wires.append(wire)
        while (await status_of(patient_api.port, source="127.0.0.9"))[0] != 200:
            assert time.monotonic() - began < 20, "no new client is served"
        found = [await status_of(patient_api.port, source="127.0.0.9") for _ in range(10)]
    finally:
        for wire in wires:
            wire.close()

    _record(f"{CONNECTIONS} connections that read nothing", found)
    assert {status for status, _ in found} == {200}
    assert patient_api.errors() == []


async def test_pipelined_requests_are_few(patient_api: RunningApi) -> None:
    """One connection makes no work for which it does not wait; what it got is whole."""
    async with opened(patient_api.port, 1) as [(reader, writer)]:
        writer.write(DOCUMENT * 100)
        async with asyncio.timeout(15):
            received = await reader.read(-1)

    assert 1 <= received.count(b"HTTP/1.1 200") <= 20
    assert received.endswith(b"}")


async def test_silent_connections_to_the_health_port_fail_no_probe(api: RunningApi) -> None:
    """Else an orchestrator restarts a process that works."""
    probe = b"GET /livez HTTP/1.1\r\n\r\n"
    async with opened(api.health_port, CONNECTIONS):
        found = [await status_of(api.health_port, probe) for _ in range(20)]

    _record(f"{CONNECTIONS} silent connections to the health port", found)
    assert {status for status, _ in found} == {200}


async def test_files_of_the_process_do_not_grow_with_connections(api: RunningApi) -> None:
    """Four times as many connections as may be open leave no more than may be open."""
    async with opened(api.port, 4 * CONNECTIONS):
        held = api.process.open_files()

    record_figure(f"{4 * CONNECTIONS} connections opened: files held={held}")
    assert held < CONNECTIONS + 64
