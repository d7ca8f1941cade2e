"""A wire between client and server that a test can hold up, cut, or make swallow everything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Wire:
    """Carries bytes both ways; `hold` keeps the server's answers back until `release`."""

    def __init__(self, host: str, port: int) -> None:
        self._server_address = (host, port)
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.connections = 0
        self.held = asyncio.Event()
        """Set when an answer waits behind `hold`."""

    def hold(self) -> None:
        """Keep answers back from now on."""
        self.held.clear()
        self._open.clear()

    def release(self) -> None:
        """Let them pass again."""
        self._open.set()

    def cut(self) -> None:
        """Break every connection there is."""
        for writer in self._writers:
            writer.transport.abort()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        self.connections += 1
        far_reader, far_writer = await asyncio.open_connection(*self._server_address)
        self._writers |= {writer, far_writer}
        for task in (
            self._carry(reader, far_writer, is_answer=False),
            self._carry(far_reader, writer, is_answer=True),
        ):
            self._tasks.add(asyncio.create_task(task))

    async def close(self) -> None:
        """End all that is carried."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.cut()

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                if is_answer and not self._open.is_set():
                    self.held.set()
                    await self._open.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def wire_to(host: str, port: int) -> AsyncIterator[tuple[Wire, int]]:
    """Open a wire; gives it and the port to connect to."""
    wire = Wire(host, port)
    server = await asyncio.start_server(wire.accept, "127.0.0.1", 0)
    try:
        yield wire, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await wire.close()
