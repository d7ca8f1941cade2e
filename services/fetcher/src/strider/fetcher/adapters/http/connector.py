"""HTTP connections: aiohttp's connector with the address guard, without aiohttp's client.

No redirects, cookies, environment, decompression or retries, but for one: if a server has closed a kept
connection before it responded, the request is sent once more on a new one. Public hooks of aiohttp are used
where they exist; the connector's protocol factory is private, and tests fix what is relied on.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from weakref import WeakSet

import aiohttp
from aiohttp.connector import AddrInfoType
from yarl import URL

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.adapters.proxies.connector import ProxyAwareTcpConnector, ProxyConnector

from .address_guard import AddressGuard
from .dns import DnsResolver
from .error_mapping import FetchFailure, local_failure, map_exception
from .exchange import HttpResponse, OutgoingRequest, StaleConnectionError, send_request
from .protocol import ResponseProtocol
from .timeline import CURRENT_TIMELINE, RequestTimeline
from .tls import make_tls_context

MAX_RECEIVE_BUFFER_BYTES: Final = 128 * 1024
"""Receive buffer of one connection, in bytes; the system takes twice that in all.

By default it grows for fast readers up to 32 MB: a thousand large pages that wait for memory would fill what
all connections of the machine share, and none of them would continue. At this size a site 100 ms away can
still send a megabyte a second.
"""
MIN_RECEIVE_BUFFER_BYTES: Final = 32 * 1024
BUDGET_DIVISOR: Final = 4
"""The receive buffers of all connections together are at most the body budget divided by this."""


_STALE_ADDRESS_ERRORS: Final = frozenset(
    {ErrorClass.CONNECT_REFUSED, ErrorClass.CONNECT_UNREACHABLE, ErrorClass.CONNECT_TIMEOUT}
)
"""Errors that a site causes which has moved away from its cached address."""


@dataclass(frozen=True, slots=True)
class ConnectorOptions:
    """Limits of connections."""

    connect_timeout_seconds: float = 10.0
    """For one address, the TLS handshake included."""
    keep_alive_seconds: float = 15.0
    """How long an idle connection is kept."""
    max_idle: int = 512
    """Maximum idle connections; beyond it none is kept."""
    ca_file: str = ""
    """Trusted certificate authorities (PEM); empty: those of the system."""
    must_tunnel: bool = False
    """Whether HTTP proxies are used by tunnels only, as a proxy that is given a URL resolves its name itself.
    """
    receive_buffer_bytes: int = MAX_RECEIVE_BUFFER_BYTES


def receive_buffer_bytes(budget_bytes: int, *, connections: int) -> int:
    """Return the receive buffer of each of so many connections, in bytes."""
    return min(
        max(budget_bytes // (BUDGET_DIVISOR * connections), MIN_RECEIVE_BUFFER_BYTES),
        MAX_RECEIVE_BUFFER_BYTES,
    )


class HttpConnector:
    """Sends requests on connections that all requests share."""

    def __init__(
        self, resolver: DnsResolver, guard: AddressGuard, *, options: ConnectorOptions | None = None
    ) -> None:
        self._options = options or ConnectorOptions()
        self._resolver = resolver
        self._guard = guard
        self._contexts = {False: make_tls_context(self._options.ca_file, is_verified=True)}
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self.proxy_connector = ProxyConnector(
            resolver,
            make_socket=self._make_socket,
            tls_context=make_tls_context(self._options.ca_file, is_verified=True, records_handshake=False),
            timeout_seconds=self._options.connect_timeout_seconds,
            must_tunnel=self._options.must_tunnel,
        )
        self._connector: ProxyAwareTcpConnector | None = None
        self._active = 0
        self._is_closed = False

    async def send(
        self,
        url: str,
        headers: list[tuple[str, str]],
        *,
        timeline: RequestTimeline,
        is_insecure: bool = False,
    ) -> HttpResponse:
        """Send a GET request; returns the response's head with its body unread. Raises FetchFailure."""
        if self._is_closed:
            raise FetchFailure(ErrorClass.CANCELLED, "the connections are closed")
        connector = self._connector or self._open_connector()
        token = CURRENT_TIMELINE.set(timeline)
        self._active += 1
        try:
            tls_context = self._tls_context(is_insecure=is_insecure)
            request = OutgoingRequest(URL(url, encoded=True), headers, tls_context=tls_context)
            response = await self._send_with_retry(request, connector, timeline)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise map_exception(error) from error
        finally:
            self._active -= 1
            CURRENT_TIMELINE.reset(token)
        timeline.has_response_head = True
        return response

    async def close(self) -> None:
        """Close every connection; running requests fail."""
        self._is_closed = True
        connector, self._connector = self._connector, None
        if connector is not None:
            await connector.close()
        await self._resolver.close()

    def _open_connector(self) -> ProxyAwareTcpConnector:
        connector = self._connector = ProxyAwareTcpConnector(
            resolver=self._resolver,
            use_dns_cache=False,
            limit=0,
            keepalive_timeout=self._options.keep_alive_seconds,
            socket_factory=self._checked_socket,
        )
        connector.proxy_connector = self.proxy_connector
        factory: Any = partial(ResponseProtocol, loop=asyncio.get_running_loop())
        connector._factory = factory  # noqa: SLF001  # private, see the module docstring
        return connector

    async def _send_with_retry(
        self, request: OutgoingRequest, connector: ProxyAwareTcpConnector, timeline: RequestTimeline
    ) -> HttpResponse:
        """Send a request, again only if its kept connection was stale; raises FetchFailure.

        A request that was written on a kept connection may have been processed, whatever became of the
        connection: repeating it is the scheduler's decision, which keeps the host's delay.
        """
        if len(self._sockets) - self._active > self._options.max_idle:
            request.headers["Connection"] = "close"
        connect_timeout_seconds = self._options.connect_timeout_seconds
        while True:
            try:
                return await send_request(
                    request, connector, timeline, connect_timeout_seconds=connect_timeout_seconds
                )
            except StaleConnectionError:
                continue  # the stale connection was closed as well, so fewer of them are left
            except Exception as error:
                raise self._failure_of(request, error, timeline) from error

    def _failure_of(
        self, request: OutgoingRequest, error: Exception, timeline: RequestTimeline
    ) -> FetchFailure:
        failure = (
            timeline.failure
            or local_failure(error, timeline.address_family)
            or map_exception(error, timeline.phase)
        )
        if failure.error_class in _STALE_ADDRESS_ERRORS:
            self._resolver.forget(request.url.raw_host or "")
        return failure

    def _checked_socket(self, address_info: AddrInfoType) -> socket.socket:
        """Make a socket for an address unless it is refused: the last check before a connection."""
        refusal = self._guard.check(str(address_info[4][0]))
        if refusal is not None:
            timeline = CURRENT_TIMELINE.get()
            if timeline is not None:
                timeline.failure = refusal
            raise refusal
        return self._make_socket(address_info)

    def _make_socket(self, address_info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, _ = address_info
        timeline = CURRENT_TIMELINE.get()
        if timeline is not None:
            timeline.on_connect(family)
        try:
            new_socket = socket.socket(family=family, type=kind, proto=protocol)
        except OSError as error:
            failure = local_failure(error, family)
            if failure is None:
                raise
            if timeline is not None:
                timeline.failure = failure
            raise failure from error
        # Before the connect, which announces the window.
        new_socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._options.receive_buffer_bytes)
        self._sockets.add(new_socket)
        return new_socket

    def _tls_context(self, *, is_insecure: bool) -> ssl.SSLContext:
        context = self._contexts.get(is_insecure)
        if context is None:
            context = self._contexts[is_insecure] = make_tls_context("", is_verified=False)
        return context
