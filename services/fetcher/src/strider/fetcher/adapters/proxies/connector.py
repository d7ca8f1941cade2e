"""Connections through proxies: CONNECT tunnels, SOCKS5, or plain forwarding of http URLs.

The target is resolved and guarded here, as without a proxy, and the proxy is given the checked address: it
has nothing left to resolve. The one exception is plain HTTP by a proxy that refuses tunnels to that port, as
many do except for 443: it is given the URL, unless that is forbidden. A proxy that hangs up or sends an
invalid response is not, as its changes to pages would look like the site's. (The checked address in the URL
would not do either: a proxy has to derive Host from the URL.) The proxy itself is a machine of the operator's
choice and may have a private address.
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
from strider.fetcher.adapters.http.dns import DnsResolver
from strider.fetcher.adapters.http.error_mapping import FetchFailure, local_failure
from strider.fetcher.adapters.http.protocol import ResponseProtocol
from strider.fetcher.adapters.http.timeline import CURRENT_TIMELINE
from strider.fetcher.core import Proxy

from .handshake import ProxyChannel, TunnelRefusedError, check_handshake, connect_through

TUNNEL_REFUSAL_TTL_SECONDS: Final = 600.0
"""How long a proxy that refused a tunnel for a plain page is not asked for another one to that port."""
MAX_TUNNEL_REFUSALS: Final = 1_000

T = TypeVar("T")

MakeSocket = Callable[[AddrInfoType], socket.socket]


class ProxyConnector:
    """Opens connections to proxies, and through them."""

    def __init__(
        self,
        resolver: DnsResolver,
        *,
        make_socket: MakeSocket,
        tls_context: ssl.SSLContext,
        timeout_seconds: float,
        must_tunnel: bool = False,
    ) -> None:
        """`tls_context` is for https proxies; with `must_tunnel` no proxy is ever given a URL."""
        self._resolver = resolver
        self._make_socket = make_socket
        self._tls_context = tls_context
        self._timeout_seconds = timeout_seconds
        self._must_tunnel = must_tunnel
        self._tunnel_refusals: dict[tuple[str, int], float] = {}
        """By proxy and port: until when plain pages are requested without a tunnel."""

    async def check_proxy(self, proxy: Proxy) -> None:
        """Check that a proxy can be connected to; raises FetchFailure."""
        channel = await self._within_timeout(proxy, self._connect_to_proxy(proxy))
        try:
            await self._within_timeout(proxy, check_handshake(channel, proxy))
        finally:
            _abort(channel)

    async def connect(
        self, proxy: Proxy, *, host: str, port: int, is_ssl: bool
    ) -> tuple[asyncio.Transport, bool]:
        """Connect to a host through a proxy; returns the transport, and whether it is a tunnel."""
        addresses_found = await self._resolver.resolve(host, port)
        must_tunnel = self._must_tunnel or is_ssl or proxy.protocol == "socks5"
        if must_tunnel or self._now() >= self._tunnel_refusals.get((proxy.key, port), 0.0):
            try:
                return await self._open_tunnel(
                    proxy, address=str(addresses_found[0]["host"]), port=port
                ), True
            except TunnelRefusedError:
                if must_tunnel:
                    raise
            self._note_refusal(proxy, port)
        return _transport_of(await self._within_timeout(proxy, self._connect_to_proxy(proxy))), False

    async def _open_tunnel(self, proxy: Proxy, *, address: str, port: int) -> asyncio.Transport:
        channel = await self._within_timeout(proxy, self._connect_to_proxy(proxy))
        try:
            await self._within_timeout(proxy, connect_through(channel, proxy, address=address, port=port))
        except BaseException:
            _abort(channel)
            raise
        return _transport_of(channel)

    def _note_refusal(self, proxy: Proxy, port: int) -> None:
        self._tunnel_refusals.pop((proxy.key, port), None)
        self._tunnel_refusals[proxy.key, port] = self._now() + TUNNEL_REFUSAL_TTL_SECONDS
        if len(self._tunnel_refusals) > MAX_TUNNEL_REFUSALS:
            del self._tunnel_refusals[next(iter(self._tunnel_refusals))]

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _within_timeout(self, proxy: Proxy, operation: Awaitable[T]) -> T:
        """Await an operation within the time limit; its errors become failures of the proxy."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await operation
        except TimeoutError:
            reason = f"{proxy.display_url} did not respond in time"
            raise FetchFailure(ErrorClass.PROXY_UNREACHABLE, reason) from None
        except (OSError, UnicodeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise FetchFailure(ErrorClass.PROXY_UNREACHABLE, f"{proxy.display_url}: {reason}") from error

    async def _connect_to_proxy(self, proxy: Proxy) -> ProxyChannel:
        loop = asyncio.get_running_loop()
        new_socket = await self._connect_first(await self._proxy_addresses(proxy))
        is_secure = proxy.protocol == "https"
        try:
            _, channel = await loop.create_connection(
                ProxyChannel,
                sock=new_socket,
                ssl=self._tls_context if is_secure else None,
                server_hostname=proxy.host if is_secure else None,
            )
        except BaseException:
            new_socket.close()
            raise
        return channel

    async def _proxy_addresses(self, proxy: Proxy) -> list[AddrInfoType]:
        try:
            addresses = await self._resolver.resolve_unchecked(proxy.host)
        except FetchFailure as failure:
            raise OSError(failure.message or failure.error_class) from failure
        families = (socket.AF_INET6 if ":" in address else socket.AF_INET for address in addresses)
        return [
            (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, proxy.port))
            for family, address in zip(families, addresses, strict=True)
        ]

    async def _connect_first(self, addresses: Sequence[AddrInfoType]) -> socket.socket:
        """Connect to the first address that accepts."""
        loop, failure = asyncio.get_running_loop(), OSError("the proxy's name has no address")
        for address in addresses:
            new_socket = self._make_socket(address)
            new_socket.setblocking(False)  # noqa: FBT003  # the library's
            try:
                await loop.sock_connect(new_socket, address[4])
            except OSError as error:
                new_socket.close()
                if (shortage := local_failure(error, address[0])) is not None:
                    raise shortage from error  # which is not the proxy's fault
                failure = error
            except BaseException:
                new_socket.close()
                raise
            else:
                return new_socket
        raise failure


class ProxyAwareTcpConnector(aiohttp.TCPConnector):
    """aiohttp's connector, which connects through the proxy of the running request if it has one."""

    proxy_connector: ProxyConnector

    async def _create_direct_connection(
        self,
        req: ClientRequest,
        traces: list[Any],
        timeout: ClientTimeout,  # noqa: ASYNC109  # the library's, for parts of a request
        **more: Any,
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        timeline = CURRENT_TIMELINE.get()
        if timeline is None or timeline.proxy is None:
            return await super()._create_direct_connection(req, traces, timeout, **more)
        try:
            transport, is_tunnel = await self._connect_through(timeline.proxy, req)
        except FetchFailure as failure:
            timeline.failure = timeline.failure or failure
            raise
        if not req.is_ssl():
            protocol: ResponseHandler = self._factory()
            if isinstance(protocol, ResponseProtocol):
                protocol.is_forward_proxy = not is_tunnel
            transport.set_protocol(protocol)
            protocol.connection_made(transport)
            return transport, protocol
        inner, protocol = await self._start_tls_connection(transport, req, timeout)
        return cast("asyncio.Transport", inner), protocol

    async def _connect_through(self, proxy: Proxy, req: ClientRequest) -> tuple[asyncio.Transport, bool]:
        host, port = req.url.raw_host or "", req.port or 0
        return await self.proxy_connector.connect(proxy, host=host, port=port, is_ssl=req.is_ssl())


def _abort(channel: ProxyChannel) -> None:
    if channel.transport is not None:
        channel.transport.abort()


def _transport_of(channel: ProxyChannel) -> asyncio.Transport:
    assert channel.transport is not None
    return channel.transport
