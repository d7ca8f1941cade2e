"""What one producer's servers do to his own requests costs other people's nothing.

The pipeline has the defaults of a deployment: far more leases may be in flight than the fetcher has places.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from strider.testing.owner import OWNER_SETTINGS
from strider.testing.site import SiteShape
from tests.e2e.pipeline import running_ring
from tests.processes.waiting import until

from .neighbours import DELAY_SECONDS, Stage

pytestmark = pytest.mark.timeout(600)

SETTINGS = {**OWNER_SETTINGS, "STRIDER_HOST_DELAY": f"{DELAY_SECONDS:g}"}
SHAPE = SiteShape(hosts=2, pages_per_host=60, children=60, is_plain=True)
"""Sites that are crawled for longer than a request may take, so that an attack meets most of them."""
SILENT_HOSTS = 1_500
FAT_HOSTS = 80

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
def wide_stage(tmp_path: Path) -> Iterator[Stage]:
    """A pipeline for each attack: what is left of one would change the pace before the next."""
    with running_ring(SETTINGS, counts_statements=False) as ring:
        yield Stage(ring, tmp_path, shape=SHAPE)


@dataclass(slots=True)
class AttackerHosts:
    """One server that answers on all loopback addresses, each of them a host of the attacker."""

    port: int = 0
    open: set[asyncio.StreamWriter] = field(default_factory=set)
    most_open: int = 0
    pages: int = 0

    def url(self, number: int, path: str = "/x") -> str:
        """Return a URL of one of its hosts."""
        return f"http://127.20.{number // 250}.{number % 250 + 1}:{self.port}{path}"


@contextmanager
def attacker_hosts(serve: Callable[[AttackerHosts], Serve]) -> Iterator[AttackerHosts]:
    """Serve every connection in the same way while the context lasts."""
    hosts, ready, loop = AttackerHosts(), threading.Event(), asyncio.new_event_loop()
    tasks: set[asyncio.Task[None]] = set()

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(hosts)(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            hosts.open.discard(writer)
            writer.close()

    def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # at once and not in the task, which may be cancelled before it begins
        hosts.open.add(writer)
        hosts.most_open = max(hosts.most_open, len(hosts.open))
        tasks.add(loop.create_task(respond(reader, writer)))

    async def run() -> None:
        server = await asyncio.start_server(on_connection, "0.0.0.0", 0, backlog=1_024)
        hosts.port = server.sockets[0].getsockname()[1]
        ready.set()
        await server.serve_forever()

    serving = loop.create_task(run())

    async def end() -> None:
        while left := asyncio.all_tasks() - {asyncio.current_task()}:
            for writer in hosts.open:
                writer.transport.abort()  # what is closed with unsent bytes would stay open
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        await asyncio.sleep(0)  # transports close their sockets in the next iteration

    def work() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(serving)
        loop.run_until_complete(end())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield hosts
    finally:
        loop.call_soon_threadsafe(serving.cancel)
        thread.join(10)
        loop.close()


def _silence(_hosts: AttackerHosts) -> Serve:
    """Accept the connection, and never say anything."""

    async def serve(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            pass

    return serve


def _fat_pages(hosts: AttackerHosts) -> Serve:
    """Send 9 MB of each page at once, and the rest just fast enough not to be too slow."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if b" /robots.txt " in head:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                continue
            hosts.pages += 1
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9900000\r\n\r\n<html>"
            )
            for _ in range(90):
                writer.write(b"x" * 100_000)
                await writer.drain()
            while True:
                writer.write(b"a" * 3_000)
                await writer.drain()
                await asyncio.sleep(1)

    return serve


@pytest.mark.fault("A18")
async def test_hosts_that_never_respond_take_no_places_of_others(wide_stage: Stage) -> None:
    """1,500 hosts, each of which holds a connection until the deadline of its robots.txt."""
    with attacker_hosts(_silence) as hosts:
        async with wide_stage.unharmed_neighbours("A18 silent hosts", paced=("owner",)):
            wide_stage.send_all(
                [{"url": hosts.url(number), "job_id": "silent"} for number in range(SILENT_HOSTS)]
            )
            await until(
                lambda: hosts.most_open >= 50,
                what="the silent hosts hold places",
                tell=wide_stage.ring.tell,
                seconds=60,
            )


@pytest.mark.fault("A19")
async def test_bodies_that_end_never_take_no_memory_of_others(wide_stage: Stage) -> None:
    """80 hosts, of whose pages 27 fill the whole memory for bodies."""
    with attacker_hosts(_fat_pages) as hosts:
        async with wide_stage.unharmed_neighbours("A19 fat hosts", paced=("owner",)):
            urls = [hosts.url(number, f"/{page}") for number in range(FAT_HOSTS) for page in range(10)]
            wide_stage.send_all([{"url": url, "job_id": "fat"} for url in urls])
            await until(
                lambda: hosts.pages >= 40,
                what="the fat pages are requested",
                tell=wide_stage.ring.tell,
                seconds=60,
            )
