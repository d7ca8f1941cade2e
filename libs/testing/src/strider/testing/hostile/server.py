"""A server of scripted responses on raw sockets, byte by byte.

No HTTP library: it would correct what has to be wrong. Counts connections and requests, so that a test can
check how many were really made.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
ResponseScript = Callable[[Reader, Writer], Awaitable[None]]

PAGE = b"<html><title>t</title><p>hello</p></html>"


def http_response(
    body: bytes = PAGE, *, status: str = "200 OK", headers: tuple[str, ...] = (), length: int | None = None
) -> bytes:
    """Return a response; `length` may contradict the body."""
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: text/html",
        f"Content-Length: {len(body) if length is None else length}",
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def sends(*parts: bytes, then_close: bool = False, every_seconds: float = 0.0) -> ResponseScript:
    """Return a script that sends these parts, one after the other."""

    async def play(_reader: Reader, writer: Writer) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(every_seconds)
        if then_close:
            writer.close()

    return play


def sends_forever(first: bytes, again: bytes, *, every_seconds: float = 0.0) -> ResponseScript:
    """Return a script that never ends."""

    async def play(_reader: Reader, writer: Writer) -> None:
        writer.write(first)
        while not writer.is_closing():
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(every_seconds)

    return play


async def sends_nothing(_reader: Reader, _writer: Writer) -> None:
    """Send nothing, and keep the connection."""
    await asyncio.Event().wait()


def sends_then_resets(part: bytes) -> ResponseScript:
    """Return a script that ends with a reset."""

    async def play(_reader: Reader, writer: Writer) -> None:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(0.05)  # so that the bytes are not discarded with the connection
        reset_connection(writer)

    return play


def reset_connection(writer: Writer) -> None:
    """Reset a connection."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def redirect_response(location: str, status: str = "302 Found") -> bytes:
    """Return a redirect response."""
    return http_response(b"", status=status, headers=(f"Location: {location}",))


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


@dataclass
class HostileServer:
    """A running server."""

    scripts: dict[str, ResponseScript]
    port: int = 0
    connections: int = 0
    closed_connections: int = 0
    """Connections that are closed, by either side."""
    requested_paths: list[str] = field(default_factory=list)
    request_heads: list[str] = field(default_factory=list)

    def url(self, path: str, *, host: str = "127.0.0.1", scheme: str = "http") -> str:
        """Return the URL of a path."""
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: Reader, writer: Writer) -> None:
        """Run the script of each requested path, as long as a connection makes requests."""
        self.connections += 1
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode()
                self.requested_paths.append(path)
                self.request_heads.append(head.decode())
                play = self.scripts.get(
                    path.partition("?")[0], sends(http_response(b"", status="404 Not Found"))
                )
                await play(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
            pass
        finally:
            self.closed_connections += 1
            writer.close()


@contextlib.asynccontextmanager
async def serve_hostile(
    scripts: dict[str, ResponseScript], *, tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncIterator[HostileServer]:
    """Serve on loopback while the context lasts."""
    hostile = HostileServer(scripts)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: Reader, writer: Writer) -> None:
        task = asyncio.create_task(hostile.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", port, ssl=tls)
    hostile.port = server.sockets[0].getsockname()[1]
    try:
        yield hostile
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def gzipped(content: bytes = PAGE) -> bytes:
    """Return a compressed body."""
    return gzip.compress(content)


def chunked(content: bytes, *, size: int = 8_192) -> bytes:
    """Return a body in chunks."""
    parts = (content[at : at + size] for at in range(0, len(content), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
