"""What is said to a proxy before it hands a connection through: CONNECT, or SOCKS5 (RFC 1928, 1929).

Bytes in, bytes out, over a connection that somebody else has opened. A refusal of the proxy is told apart
from a site that the proxy could not reach.
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

MAX_HEAD_BYTES: Final = 16 * 1024

_STATUS: Final = re.compile(r"[1-5][0-9][0-9]", re.ASCII)

_CLASS_BY_CONNECT_STATUS: Final = {
    "502": ErrorClass.CONNECT_UNREACHABLE,
    "503": ErrorClass.CONNECT_UNREACHABLE,
    "504": ErrorClass.CONNECT_TIMEOUT,
    "407": ErrorClass.PROXY_AUTH,
}
"""What a status of CONNECT says; all others are a refusal."""

_METHOD_NO_AUTH: Final = 0
_METHOD_PASSWORD: Final = 2

_CLASS_BY_SOCKS_REPLY: Final = {
    3: (ErrorClass.CONNECT_UNREACHABLE, "the proxy cannot reach the site's network"),
    4: (ErrorClass.CONNECT_UNREACHABLE, "the proxy cannot reach the site"),
    5: (ErrorClass.CONNECT_REFUSED, "the site refused the proxy's connection"),
    6: (ErrorClass.CONNECT_TIMEOUT, "the proxy's way to the site is too long"),
}
_ADDRESS_LENGTHS: Final = {1: 4, 4: 16}


class TunnelRefusedError(FetchFailure):
    """A proxy that speaks HTTP has said that it makes no tunnel here: it may ask in our place instead."""


class ProxyChannel(asyncio.Protocol):
    """A connection on which one asks and the other answers, until it is handed on."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.buffer = bytearray()
        """What has come and was not read yet."""
        self._waiter: asyncio.Future[None] | None = None
        self._is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's are like it, and no such class

    def data_received(self, data: bytes) -> None:
        """Keep what has come."""
        self.buffer += data
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let nobody wait for more."""
        del exc
        self._is_over = True
        self._wake()

    def write(self, data: bytes) -> None:
        """Send."""
        if self.transport is not None:
            self.transport.write(data)

    async def read_exactly(self, count: int) -> bytes:
        """Give so many bytes."""
        while len(self.buffer) < count:
            await self._more()
        return self._taken(count)

    async def read_until(self, delimiter: bytes) -> bytes:
        """Give all bytes up to an end, and with it."""
        while (at := self.buffer.find(delimiter)) < 0:
            if len(self.buffer) > MAX_HEAD_BYTES:
                raise FetchFailure(ErrorClass.PROXY_REFUSED, "the proxy's answer has no end")
            await self._more()
        return self._taken(at + len(delimiter))

    def _taken(self, count: int) -> bytes:
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    async def _more(self) -> None:
        if self._is_over:
            raise FetchFailure(ErrorClass.PROXY_REFUSED, "the proxy hung up")
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def proxy_authorization(proxy: Proxy) -> str:
    """Write a proxy's account as HTTP wants it; empty for none."""
    if not proxy.username:
        return ""
    pair = f"{proxy.username}:{proxy.password}".encode()
    return "Basic " + base64.b64encode(pair).decode("ascii")


async def connect_through(channel: ProxyChannel, proxy: Proxy, *, address: str, port: int) -> None:
    """Have a proxy connect to an address; raises Failure."""
    shake = _socks if proxy.protocol == "socks5" else _connect
    await shake(channel, proxy, address=address, port=port)
    if channel.buffer:
        raise FetchFailure(ErrorClass.PROXY_REFUSED, "the proxy said more than was asked")


async def greet(channel: ProxyChannel, proxy: Proxy) -> None:
    """Find out whether a proxy is one, as far as that can be seen without a target."""
    if proxy.protocol == "socks5":
        await _socks_authenticate(channel, proxy)


async def _connect(channel: ProxyChannel, proxy: Proxy, *, address: str, port: int) -> None:
    place = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    account = proxy_authorization(proxy)
    more = f"Proxy-Authorization: {account}\r\n" if account else ""
    channel.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{more}\r\n".encode("ascii"))
    head = await channel.read_until(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
    if len(status) < 2 or not status[0].startswith("HTTP/1.") or not _STATUS.fullmatch(status[1]):  # noqa: PLR2004
        raise FetchFailure(ErrorClass.PROXY_REFUSED, "what answers is no HTTP proxy")
    if status[1].startswith("2"):
        return
    message = f"the proxy answered {' '.join(status[1:])[:100]}"
    if error := _CLASS_BY_CONNECT_STATUS.get(status[1]):
        raise FetchFailure(error, message)
    raise TunnelRefusedError(ErrorClass.PROXY_REFUSED, message)


async def _socks(channel: ProxyChannel, proxy: Proxy, *, address: str, port: int) -> None:
    await _socks_authenticate(channel, proxy)
    packed = ip_address(address).packed
    kind = 1 if len(packed) == _ADDRESS_LENGTHS[1] else 4
    channel.write(bytes((5, 1, 0, kind)) + packed + port.to_bytes(2, "big"))
    version, reply, _, kind = await channel.read_exactly(4)
    if version != 5:  # noqa: PLR2004  # the protocol's number
        raise FetchFailure(ErrorClass.PROXY_REFUSED, "what answers is no SOCKS5 proxy")
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
        raise FetchFailure(ErrorClass.PROXY_REFUSED, "what answers is no SOCKS5 proxy")
    if method == _METHOD_NO_AUTH:
        return
    if method != _METHOD_PASSWORD or not proxy.username:
        raise FetchFailure(ErrorClass.PROXY_AUTH, "the proxy wants an account")
    name, word = proxy.username.encode()[:255], proxy.password.encode()[:255]
    channel.write(bytes((1, len(name))) + name + bytes((len(word),)) + word)
    if (await channel.read_exactly(2))[1] != 0:
        raise FetchFailure(ErrorClass.PROXY_AUTH, "the proxy does not know this account")
