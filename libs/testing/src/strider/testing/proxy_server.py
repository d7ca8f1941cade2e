"""An HTTP or SOCKS5 proxy for tests, with or without credentials, working or failing.

It connects only to loopback, and records the requests.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


@dataclass
class TestProxy:
    """A proxy. Its behaviour can be changed while it runs."""

    __test__ = False

    protocol: str = "http"
    credentials: str = ""
    """user:password; empty where none are required."""
    refusal_status: int = 0
    """Status, or SOCKS reply, of refusals; 0 for none."""
    supports_connect: bool = True
    """Whether it supports CONNECT: some proxies accept only URLs."""
    port: int = 0
    requested_targets: list[str] = field(default_factory=list)
    """Requested targets, as they were written."""
    request_heads: list[bytes] = field(default_factory=list)
    """Request heads, or SOCKS greetings."""

    @property
    def url(self) -> str:
        """Its URL, credentials included."""
        account = f"{self.credentials}@" if self.credentials else ""
        return f"{self.protocol}://{account}127.0.0.1:{self.port}"

    async def serve(self, reader: Reader, writer: Writer) -> None:
        """Serve a connection."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await (self._socks if self.protocol == "socks5" else self._http)(reader, writer)
        writer.close()

    async def _http(self, reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.request_heads.append(head)
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
        self.requested_targets.append(target)
        wanted = b"Proxy-Authorization: Basic " + base64.b64encode(self.credentials.encode())
        if self.credentials and wanted not in head:
            writer.write(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
        elif self.refusal_status:
            writer.write(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % self.refusal_status)
        elif method == "CONNECT" and not self.supports_connect:
            writer.write(b"HTTP/1.1 405 No tunnels here\r\nContent-Length: 0\r\n\r\n")
        elif method == "CONNECT":
            host, _, port = target.rpartition(":")
            await self._relay(reader, writer, host=host, port=int(port), answer=b"HTTP/1.1 200 Yes\r\n\r\n")
        else:
            inner, outer = await asyncio.open_connection("127.0.0.1", urlsplit(target).port or 80)
            outer.write(_rewrite_head(head))
            await asyncio.gather(self._forward_requests(reader, outer), _pump(inner, writer))

    async def _forward_requests(self, reader: Reader, outer: Writer) -> None:
        """Forward further requests of a connection; they are for the same site."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.request_heads.append(head)
                outer.write(_rewrite_head(head))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            outer.close()

    async def _socks(self, reader: Reader, writer: Writer) -> None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        self.request_heads.append(methods)
        method = 2 if self.credentials else 0
        writer.write(bytes((5, method if method in methods else 255)))
        if self.credentials and method in methods:
            name = await reader.readexactly((await reader.readexactly(2))[1])
            word = await reader.readexactly((await reader.readexactly(1))[0])
            is_known = f"{name.decode()}:{word.decode()}" == self.credentials
            writer.write(bytes((1, 0 if is_known else 1)))
        kind = (await reader.readexactly(4))[3]
        size = {1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0]
        packed = await reader.readexactly(size)
        host = packed.decode() if kind == 3 else str(ip_address(packed))  # noqa: PLR2004  # SOCKS' number
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.requested_targets.append(f"{host}:{port}")
        if self.refusal_status:
            writer.write(bytes((5, self.refusal_status, 0, 1, 0, 0, 0, 0, 0, 0)))
            return
        await self._relay(reader, writer, host=host, port=port, answer=b"\x05\x00\x00\x01" + bytes(6))

    async def _relay(self, reader: Reader, writer: Writer, *, host: str, port: int, answer: bytes) -> None:
        assert ip_address(host.strip("[]")).is_loopback
        inner, outer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(answer)
        await asyncio.gather(_pump(reader, outer), _pump(inner, writer))


def _rewrite_head(head: bytes) -> bytes:
    """Return a request head in the form that the site expects."""
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Proxy-")]
    method, target, version = lines[0].split(b" ")
    lines[0] = b" ".join((method, target[target.index(b"/", 8) :], version))
    return b"\r\n".join(lines)


async def _pump(reader: Reader, writer: Writer) -> None:
    try:
        while chunk := await reader.read(65_536):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


@contextlib.asynccontextmanager
async def serve_proxy(proxy: TestProxy, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[TestProxy]:
    """Run a proxy on loopback, on its port or a free one."""
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: Reader, writer: Writer) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await proxy.serve(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(accept, "127.0.0.1", proxy.port, ssl=tls)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
