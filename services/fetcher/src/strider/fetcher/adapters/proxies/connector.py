"""Connections by way of a proxy, for the engine's connector.

The target is resolved and judged here, as without a proxy, and what is handed over is the address that was
judged: the proxy has nothing left to resolve. The one exception is plain HTTP by an HTTP proxy that says that
it makes no tunnel to that port, as many do for 443 alone: it is given the URL, unless that is forbidden; one
that hangs up or talks nonsense is not, since what it does to pages would look like their sites' doing. (To
give it the judged address as the URL's host would not do: a proxy has to write Host anew from the URL.)
The proxy itself is a machine of the operator's choice, which may well be a private one.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar, cast

import aiohttp
from aiohttp import ClientRequest, ClientTimeout
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import AddrInfoType

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.adapters.http.dns import Names
from strider.fetcher.adapters.http.error_mapping import FetchFailure
from strider.fetcher.adapters.http.protocol import Wire
from strider.fetcher.adapters.http.timeline import CURRENT
from strider.fetcher.core import Proxy

from .handshake import ProxyChannel, TunnelRefusedError, connect_through, greet

TUNNEL_REFUSAL_TTL_SECONDS: Final = 600.0
"""How long a proxy that made no tunnel for a plain page is not asked for another to that port."""
MOST_REFUSALS: Final = 1_000

T = TypeVar("T")

MakeSocket = Callable[[AddrInfoType], socket.socket]


class ProxyConnector:
    """Opens connections to proxies, and through them."""

    def __init__(
        self,
        resolver: Names,
        *,
        make_socket: MakeSocket,
        tls_context: ssl.SSLContext,
        timeout_seconds: float,
        must_tunnel: bool = False,
    ) -> None:
        """`context` is for proxies that speak TLS themselves; who must tunnel gives no proxy a URL."""
        self._names = resolver
        self._make_socket = make_socket
        self._tls_context = tls_context
        self._timeout_seconds = timeout_seconds
        self._must_tunnel = must_tunnel
        self._refused: dict[tuple[str, int], float] = {}
        """By proxy and port, until when: where plain pages go without a tunnel."""

    async def check_proxy(self, proxy: Proxy) -> None:
        """Look whether a proxy is there; raises Failure."""
        channel = await self._told(proxy, self._open(proxy))
        try:
            await self._told(proxy, greet(channel, proxy))
        finally:
            _abort(channel)

    async def connect(
        self, proxy: Proxy, *, host: str, port: int, is_ssl: bool
    ) -> tuple[asyncio.Transport, bool]:
        """Connect through a proxy to an address of the host's; gives whether it is a tunnel."""
        judged = await self._names.resolve(host, port)
        must_tunnel = self._must_tunnel or is_ssl or proxy.protocol == "socks5"
        if must_tunnel or self._now() >= self._refused.get((proxy.key, port), 0.0):
            try:
                return await self._open_tunnel(proxy, address=str(judged[0]["host"]), port=port), True
            except TunnelRefusedError:
                if must_tunnel:
                    raise
            self._note_refusal(proxy, port)
        return _transport_of(await self._told(proxy, self._open(proxy))), False

    async def _open_tunnel(self, proxy: Proxy, *, address: str, port: int) -> asyncio.Transport:
        channel = await self._told(proxy, self._open(proxy))
        try:
            await self._told(proxy, connect_through(channel, proxy, address=address, port=port))
        except BaseException:
            _abort(channel)
            raise
        return _transport_of(channel)

    def _note_refusal(self, proxy: Proxy, port: int) -> None:
        self._refused.pop((proxy.key, port), None)
        self._refused[proxy.key, port] = self._now() + TUNNEL_REFUSAL_TTL_SECONDS
        if len(self._refused) > MOST_REFUSALS:
            del self._refused[next(iter(self._refused))]

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _told(self, proxy: Proxy, operation: Awaitable[T]) -> T:
        """Take a step in time; whatever goes wrong with a proxy is told as the proxy's."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await operation
        except TimeoutError:
            why = f"{proxy.display_url} took too long"
            raise FetchFailure(ErrorClass.PROXY_UNREACHABLE, why) from None
        except (OSError, UnicodeError) as error:
            why = " ".join(str(error).split())[:200]
            raise FetchFailure(ErrorClass.PROXY_UNREACHABLE, f"{proxy.display_url}: {why}") from error

    async def _open(self, proxy: Proxy) -> ProxyChannel:
        loop = asyncio.get_running_loop()
        made = await self._connected(await self._places(proxy))
        is_secure = proxy.protocol == "https"
        try:
            _, channel = await loop.create_connection(
                ProxyChannel,
                sock=made,
                ssl=self._tls_context if is_secure else None,
                server_hostname=proxy.host if is_secure else None,
            )
        except BaseException:
            made.close()
            raise
        return channel

    async def _places(self, proxy: Proxy) -> list[AddrInfoType]:
        try:
            addresses = await self._names.addresses(proxy.host)
        except FetchFailure as failure:
            raise OSError(failure.message or failure.error_class) from failure
        families = (socket.AF_INET6 if ":" in address else socket.AF_INET for address in addresses)
        return [
            (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, proxy.port))
            for family, address in zip(families, addresses, strict=True)
        ]

    async def _connected(self, addresses: Sequence[AddrInfoType]) -> socket.socket:
        """Connect to the first address that answers."""
        loop, failure = asyncio.get_running_loop(), OSError("the proxy's name has no address")
        for place in addresses:
            made = self._make_socket(place)
            made.setblocking(False)  # noqa: FBT003  # the library's
            try:
                await loop.sock_connect(made, place[4])
            except OSError as error:
                made.close()
                failure = error
            except BaseException:
                made.close()
                raise
            else:
                return made
        raise failure


class ProxyAwareTcpConnector(aiohttp.TCPConnector):
    """aiohttp's connector, which goes by way of the exchange's proxy where it has one."""

    tunnels: ProxyConnector

    async def _create_direct_connection(
        self,
        req: ClientRequest,
        traces: list[Any],
        timeout: ClientTimeout,  # noqa: ASYNC109  # the library's, for parts of a request
        **more: Any,
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        exchange = CURRENT.get()
        if exchange is None or exchange.via is None:
            return await super()._create_direct_connection(req, traces, timeout, **more)
        try:
            transport, is_tunnel = await self._connect_through(exchange.via, req)
        except FetchFailure as failure:
            exchange.failure = exchange.failure or failure
            raise
        if not req.is_ssl():
            protocol: ResponseHandler = self._factory()
            if isinstance(protocol, Wire):
                protocol.is_forward_proxy = not is_tunnel
            transport.set_protocol(protocol)
            protocol.connection_made(transport)
            return transport, protocol
        inner, protocol = await self._start_tls_connection(transport, req, timeout)
        return cast("asyncio.Transport", inner), protocol

    async def _connect_through(self, proxy: Proxy, req: ClientRequest) -> tuple[asyncio.Transport, bool]:
        host, port = req.url.raw_host or "", req.port or 0
        return await self.tunnels.connect(proxy, host=host, port=port, is_ssl=req.is_ssl())


def _abort(channel: ProxyChannel) -> None:
    if channel.transport is not None:
        channel.transport.abort()


def _transport_of(channel: ProxyChannel) -> asyncio.Transport:
    assert channel.transport is not None
    return channel.transport
