"""Proxy handshakes: HTTP CONNECT and SOCKS5 (RFC 1928, 1929).

Reads and writes bytes on a connection that is already open. A refusal by the proxy is distinguished from a
site that the proxy could not reach.
"""

from __future__ import annotations

import asyncio
import base64
import re
from ipaddress import ip_address
from typing import Final, cast

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.adapters.http.error_mapping import FetchFailure
from strider.fetcher.core import Proxy

MAX_PROXY_HEAD_BYTES: Final = 16 * 1024

_STATUS: Final = re.compile(r"[1-5][0-9][0-9]", re.ASCII)

_CLASS_BY_CONNECT_STATUS: Final = {
    "502": ErrorClass.CONNECT_UNREACHABLE,
    "503": ErrorClass.CONNECT_UNREACHABLE,
    "504": ErrorClass.CONNECT_TIMEOUT,
    "407": ErrorClass.PROXY_AUTH,
}
"""Error class by status of the response to CONNECT; all others are a refusal."""

_METHOD_NO_AUTH: Final = 0
_METHOD_PASSWORD: Final = 2

_CLASS_BY_SOCKS_REPLY: Final = {
    3: (ErrorClass.CONNECT_UNREACHABLE, "the proxy cannot reach the site's network"),
    4: (ErrorClass.CONNECT_UNREACHABLE, "the proxy cannot reach the site"),
    5: (ErrorClass.CONNECT_REFUSED, "the site refused the proxy's connection"),
    6: (ErrorClass.CONNECT_TIMEOUT, "the site is too many hops away from the proxy"),
}
_ADDRESS_LENGTHS: Final = {1: 4, 4: 16}


class TunnelRefusedError(FetchFailure):
    """An HTTP proxy refuses a tunnel to this port: it may forward the request instead."""


class ProxyChannel(asyncio.Protocol):
    """A connection for request and reply during a handshake, until it is passed on."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.buffer = bytearray()
        """Bytes that were received and not yet read."""
        self._waiter: asyncio.Future[None] | None = None
        self._is_closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(
            "asyncio.Transport", transport
        )  # uvloop's transports have its interface without being subclasses

    def data_received(self, data: bytes) -> None:
        """Append received bytes."""
        self.buffer += data
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake the reader, which fails."""
        del exc
        self._is_closed = True
        self._wake()

    def write(self, data: bytes) -> None:
        """Send bytes."""
        if self.transport is not None:
            self.transport.write(data)

    async def read_exactly(self, count: int) -> bytes:
        """Return exactly so many bytes."""
        while len(self.buffer) < count:
            await self._wait_for_data()
        return self._take_bytes(count)

    async def read_until(self, delimiter: bytes) -> bytes:
        """Return all bytes up to a delimiter, and the delimiter."""
        while (at := self.buffer.find(delimiter)) < 0:
            if len(self.buffer) > MAX_PROXY_HEAD_BYTES:
                raise FetchFailure(ErrorClass.PROXY_REFUSED, "the head of the proxy's response is too large")
            await self._wait_for_data()
        return self._take_bytes(at + len(delimiter))

    def _take_bytes(self, count: int) -> bytes:
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    async def _wait_for_data(self) -> None:
        if self._is_closed:
            raise FetchFailure(ErrorClass.PROXY_REFUSED, "the proxy closed the connection")
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def proxy_authorization(proxy: Proxy) -> str:
    """Return the value of Proxy-Authorization; empty without credentials."""
    if not proxy.username:
        return ""
    pair = f"{proxy.username}:{proxy.password}".encode()
    return "Basic " + base64.b64encode(pair).decode("ascii")


async def connect_through(channel: ProxyChannel, proxy: Proxy, *, address: str, port: int) -> None:
    """Make a proxy connect to an address; raises FetchFailure."""
    handshake = _socks_connect if proxy.protocol == "socks5" else _http_connect
    await handshake(channel, proxy, address=address, port=port)
    if channel.buffer:
        raise FetchFailure(ErrorClass.PROXY_REFUSED, "the proxy sent more than its reply")


async def check_handshake(channel: ProxyChannel, proxy: Proxy) -> None:
    """Check that a peer is a proxy, as far as that is possible without a target."""
    if proxy.protocol == "socks5":
        await _socks_authenticate(channel, proxy)


async def _http_connect(channel: ProxyChannel, proxy: Proxy, *, address: str, port: int) -> None:
    target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    authorization = proxy_authorization(proxy)
    headers = f"Proxy-Authorization: {authorization}\r\n" if authorization else ""
    channel.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{headers}\r\n".encode("ascii"))
    head = await channel.read_until(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
    if len(status) < 2 or not status[0].startswith("HTTP/1.") or not _STATUS.fullmatch(status[1]):  # noqa: PLR2004
        raise FetchFailure(ErrorClass.PROXY_REFUSED, "the response is not that of an HTTP proxy")
    if status[1].startswith("2"):
        return
    message = f"the proxy responded {' '.join(status[1:])[:100]}"
    if error := _CLASS_BY_CONNECT_STATUS.get(status[1]):
        raise FetchFailure(error, message)
    raise TunnelRefusedError(ErrorClass.PROXY_REFUSED, message)


async def _socks_connect(channel: ProxyChannel, proxy: Proxy, *, address: str, port: int) -> None:
    await _socks_authenticate(channel, proxy)
    packed = ip_address(address).packed
    kind = 1 if len(packed) == _ADDRESS_LENGTHS[1] else 4
    channel.write(bytes((5, 1, 0, kind)) + packed + port.to_bytes(2, "big"))
    version, reply, _, kind = await channel.read_exactly(4)
    if version != 5:  # noqa: PLR2004  # the protocol's number
        raise FetchFailure(ErrorClass.PROXY_REFUSED, "the reply is not that of a SOCKS5 proxy")
    if reply:
        refused = (ErrorClass.PROXY_REFUSED, f"the proxy refused (SOCKS reply {reply})")
        raise FetchFailure(*_CLASS_BY_SOCKS_REPLY.get(reply, refused))
    size = _ADDRESS_LENGTHS.get(kind)
    if size is None:
        size = (await channel.read_exactly(1))[0]
    await channel.read_exactly(size + 2)


async def _socks_authenticate(channel: ProxyChannel, proxy: Proxy) -> None:
    methods = (_METHOD_NO_AUTH, _METHOD_PASSWORD) if proxy.username else (_METHOD_NO_AUTH,)
    channel.write(bytes((5, len(methods), *methods)))
    version, method = await channel.read_exactly(2)
    if version != 5:  # noqa: PLR2004
        raise FetchFailure(ErrorClass.PROXY_REFUSED, "the reply is not that of a SOCKS5 proxy")
    if method == _METHOD_NO_AUTH:
        return
    if method != _METHOD_PASSWORD or not proxy.username:
        raise FetchFailure(ErrorClass.PROXY_AUTH, "the proxy requires authentication")
    username, password = proxy.username.encode()[:255], proxy.password.encode()[:255]
    channel.write(bytes((1, len(username))) + username + bytes((len(password),)) + password)
    if (await channel.read_exactly(2))[1] != 0:
        raise FetchFailure(ErrorClass.PROXY_AUTH, "the proxy rejected the username or password")
