"""A TCP proxy whose traffic a test can hold, delay, truncate or drop.

Forwards bytes and knows no protocol. `faulty_tcp_proxy` runs in the test's own event loop;
`threaded_faulty_tcp_proxy` in a thread of its own, for clients that are processes and outlive a test.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

_READ_BYTES: Final = 65536
_MAX_HELD_CHUNKS: Final = 1024


class FaultyTcpProxy:
    """Forwards bytes both ways, with the faults that are set. Use it in the loop that it runs in."""

    def __init__(self, host: str, port: int) -> None:
        self._server_address = (host, port)
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._requests_open = asyncio.Event()
        self._requests_open.set()
        self._held_connections = 0
        self.connections = 0
        self.response_held = asyncio.Event()
        """Set when a response waits behind `hold`."""
        self.request_held = asyncio.Event()
        """Set when a request waits behind `hold_requests`."""
        self.delay_seconds = 0.0
        """Delay of every response after its arrival."""
        self.drops_everything = False
        """Whether everything sent either way is dropped: connections open, and nothing arrives."""
        self.truncated_responses = 0
        """How many of the next responses are forwarded by half, and their connections closed then."""

    def hold(self) -> None:
        """Hold responses back from now on."""
        self.response_held.clear()
        self._open.clear()

    def hold_requests(self) -> None:
        """Hold what is sent over the connections that exist back; further ones are as always."""
        self.request_held.clear()
        self._held_connections = self.connections
        self._requests_open.clear()

    def release(self) -> None:
        """Forward held responses and requests, also those of clients that have gone."""
        self._open.set()
        self._requests_open.set()

    def cut(self) -> None:
        """Abort every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection."""
        self.connections += 1
        self._writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._server_address)
        except OSError:
            writer.transport.abort()  # as a server that is down would refuse it
            return
        self._writers.add(far_writer)
        number = self.connections
        for task in (
            self._forward(reader, far_writer, number, is_answer=False),
            self._forward(far_reader, writer, number, is_answer=True),
        ):
            carrying = asyncio.create_task(task)
            self._tasks.add(carrying)
            carrying.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop forwarding."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.cut()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int, *, is_answer: bool
    ) -> None:
        with suppress(OSError):
            async for data, came_at in _timestamped_chunks(reader):
                if self.drops_everything:
                    continue
                if is_answer:
                    await self._delay(came_at)
                    if self.truncated_responses > 0:
                        self.truncated_responses -= 1
                        writer.write(data[: len(data) // 2])
                        break
                elif number <= self._held_connections and not self._requests_open.is_set():
                    self.request_held.set()
                    await self._requests_open.wait()
                writer.write(data)
                await writer.drain()
        self._writers.discard(writer)
        writer.close()

    async def _delay(self, came_at: float) -> None:
        if self.delay_seconds > 0:
            await asyncio.sleep(came_at + self.delay_seconds - asyncio.get_running_loop().time())
        if not self._open.is_set():
            self.response_held.set()
            await self._open.wait()


async def _timestamped_chunks(reader: asyncio.StreamReader) -> AsyncIterator[tuple[bytes, float]]:
    """Yield chunks with their arrival times: a chunk that arrives while another is held is not late."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[tuple[bytes, float]] = asyncio.Queue(_MAX_HELD_CHUNKS)

    async def read() -> None:
        data = b"."
        while data:
            try:
                data = await reader.read(_READ_BYTES)
            except OSError:
                data = b""
            await arrived.put((data, loop.time()))

    reading = asyncio.create_task(read())
    try:
        while (arrival := await arrived.get())[0]:
            yield arrival
    finally:
        reading.cancel()


@asynccontextmanager
async def faulty_tcp_proxy(host: str, port: int) -> AsyncIterator[tuple[FaultyTcpProxy, int]]:
    """Run a proxy; yield it and the port to connect to."""
    wire = FaultyTcpProxy(host, port)
    server = await asyncio.start_server(wire.accept, "127.0.0.1", 0)
    try:
        yield wire, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await wire.close()


class ThreadedFaultyTcpProxy:
    """A proxy that runs in another thread."""

    def __init__(self, wire: FaultyTcpProxy, port: int, loop: asyncio.AbstractEventLoop) -> None:
        self._wire = wire
        self._loop = loop
        self.port = port

    def apply(self, change: Callable[[FaultyTcpProxy], object]) -> None:
        """Apply a change to the proxy, and wait until it is done."""
        done = threading.Event()

        def make() -> None:
            change(self._wire)
            done.set()

        self._loop.call_soon_threadsafe(make)
        done.wait()

    def reset_faults(self) -> None:
        """Remove all faults; dropped bytes stay lost, so connections are aborted."""
        self.apply(_reset_faults)


@contextmanager
def threaded_faulty_tcp_proxy(host: str, port: int) -> Iterator[ThreadedFaultyTcpProxy]:
    """Run a proxy in a thread of its own."""
    opened: list[ThreadedFaultyTcpProxy] = []
    is_open, may_end = threading.Event(), asyncio.Event()

    async def live() -> None:
        async with faulty_tcp_proxy(host, port) as (wire, own_port):
            opened.append(ThreadedFaultyTcpProxy(wire, own_port, asyncio.get_running_loop()))
            is_open.set()
            await may_end.wait()

    thread = threading.Thread(target=lambda: asyncio.run(live()), name="wire", daemon=True)
    thread.start()
    is_open.wait()
    try:
        yield opened[0]
    finally:
        opened[0].apply(lambda _: may_end.set())
        thread.join()


def _reset_faults(wire: FaultyTcpProxy) -> None:
    wire.delay_seconds, wire.truncated_responses, wire.drops_everything = 0.0, 0, False
    wire.release()
    wire.cut()
