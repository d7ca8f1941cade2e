"""The connections: aiohttp's connector and its parser, and of all that it has around them nothing.

No redirects, no cookies, no environment, no unpacking, no second try but one: where a server has
closed a connection that was kept, before it answered anything, the request is made once more on a new
one. The hooks are the public ones where there are any; the connector's factory is not, and tests hold
the library to what is relied on.
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

from .dns import Guard, Names
from .error_mapping import FetchFailure, failure_of
from .exchange import IncomingReply, OutgoingRequest, StaleConnectionError, send_request
from .protocol import Wire
from .timeline import CURRENT, RequestTimeline
from .tls import make_tls_context

MAX_RECEIVE_BUFFER_BYTES: Final = 128 * 1024
"""What the system may keep of an answer that is not read yet, for one connection; it takes twice that in all.

Left to itself it keeps ever more for who reads quickly, 32 MB in the end: a thousand large pages that wait
for room would fill the memory that all connections of the machine share, and none of them would go on.
A site 100 ms away still sends a megabyte a second.
"""
MIN_RECEIVE_BUFFER_BYTES: Final = 32 * 1024
BUDGET_DIVISOR: Final = 4
"""All connections together are given so many times less than there may be of bodies in hand."""


_STALE_ADDRESS_ERRORS: Final = frozenset(
    {ErrorClass.CONNECT_REFUSED, ErrorClass.CONNECT_UNREACHABLE, ErrorClass.CONNECT_TIMEOUT}
)
"""What a site that has moved looks like to who knows its old address."""


@dataclass(frozen=True, slots=True)
class ConnectorOptions:
    """How connections are kept."""

    connect_timeout_seconds: float = 10.0
    """For one address, its handshake included."""
    keep_seconds: float = 15.0
    """How long a connection waits for its next request."""
    max_idle: int = 512
    """Connections that are open and not used; beyond it none is kept."""
    ca_file: str = ""
    """Authorities to trust (PEM); the system's where empty."""
    must_tunnel: bool = False
    """Whether no proxy is given a URL, of which it would resolve the name itself."""
    receive_buffer_bytes: int = MAX_RECEIVE_BUFFER_BYTES


def receive_buffer_bytes(budget_bytes: int, *, connections: int) -> int:
    """Say how much one connection of so many may be given: what has come is read at once, whatever it is."""
    return min(
        max(budget_bytes // (BUDGET_DIVISOR * connections), MIN_RECEIVE_BUFFER_BYTES),
        MAX_RECEIVE_BUFFER_BYTES,
    )


class HttpConnector:
    """Asks one thing at a time of one host, on connections that are shared by all requests."""

    def __init__(self, resolver: Names, guard: Guard, *, options: ConnectorOptions | None = None) -> None:
        self._options = options or ConnectorOptions()
        self._names = resolver
        self._guard = guard
        self._contexts = {False: make_tls_context(self._options.ca_file, is_verified=True)}
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self.tunnels = ProxyConnector(
            resolver,
            make_socket=self._made,
            tls_context=make_tls_context(self._options.ca_file, is_verified=True, records_handshake=False),
            timeout_seconds=self._options.connect_timeout_seconds,
            must_tunnel=self._options.must_tunnel,
        )
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._options.connect_timeout_seconds)
        self._lines: ProxyAwareTcpConnector | None = None
        self._running = 0
        self._is_closed = False

    async def send(
        self,
        url: str,
        headers: list[tuple[str, str]],
        *,
        is_insecure: bool = False,
        method: str = "GET",
        timeout: aiohttp.ClientTimeout | None = None,  # noqa: ASYNC109  # the library's, for parts of a request
    ) -> IncomingReply:
        """Give the answer's head, with its body still to come; raises Failure."""
        if self._is_closed:
            raise FetchFailure(ErrorClass.CANCELLED, "the connections are closed")
        lines = self._lines or self._open()
        self._running += 1
        try:
            context = self._tls_context(is_insecure=is_insecure)
            asked = OutgoingRequest(method, URL(url, encoded=True), headers, context=context)
            return await self._once(asked, lines, timeout or self._timeout)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise failure_of(error) from error
        finally:
            self._running -= 1

    async def close(self) -> None:
        """Close every connection; requests that run fail."""
        self._is_closed = True
        lines, self._lines = self._lines, None
        if lines is not None:
            await lines.close()
        await self._names.close()

    def _open(self) -> ProxyAwareTcpConnector:
        lines = self._lines = ProxyAwareTcpConnector(
            resolver=self._names,
            use_dns_cache=False,
            limit=0,
            keepalive_timeout=self._options.keep_seconds,
            socket_factory=self._checked_socket,
        )
        lines.tunnels = self.tunnels
        factory: Any = partial(Wire, loop=asyncio.get_running_loop())
        lines._factory = factory  # noqa: SLF001  # told above
        return lines

    async def _once(
        self,
        request: OutgoingRequest,
        connector: ProxyAwareTcpConnector,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # the library's, for parts of a request
    ) -> IncomingReply:
        """Make a request; whatever is raised is a Failure.

        What was said on a kept connection may have been heard, whatever became of the connection: saying it
        again is the scheduler's, which keeps the delay.
        """
        exchange = CURRENT.get()
        if exchange is not None and len(self._sockets) - self._running > self._options.max_idle:
            request.headers["Connection"] = "close"
        while True:
            try:
                return await send_request(request, connector, timeout)
            except StaleConnectionError:
                continue  # it was closed as well, so there is one less of them
            except Exception as error:
                raise self._failure(request, error, exchange) from error

    def _failure(
        self, request: OutgoingRequest, error: Exception, exchange: RequestTimeline | None
    ) -> FetchFailure:
        failure = _map_error(error, exchange)
        if failure.error_class in _STALE_ADDRESS_ERRORS:
            self._names.forget(request.url.raw_host or "")
        return failure

    def _checked_socket(self, address_info: AddrInfoType) -> socket.socket:
        """Make a socket for an address, unless it may not be connected to: nothing comes after this."""
        refusal = self._guard.check(str(address_info[4][0]))
        if refusal is not None:
            exchange = CURRENT.get()
            if exchange is not None:
                exchange.failure = refusal
            raise refusal
        return self._made(address_info)

    def _made(self, address_info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, _ = address_info
        exchange = CURRENT.get()
        if exchange is not None:
            exchange.on_connect()
        made = socket.socket(family=family, type=kind, proto=protocol)
        # Before it is connected: the window is told then.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._options.receive_buffer_bytes)
        self._sockets.add(made)
        return made

    def _tls_context(self, *, is_insecure: bool) -> ssl.SSLContext:
        context = self._contexts.get(is_insecure)
        if context is None:
            context = self._contexts[is_insecure] = make_tls_context("", is_verified=False)
        return context


def _map_error(error: Exception, exchange: RequestTimeline | None) -> FetchFailure:
    if exchange is None:
        return failure_of(error)
    if exchange.failure is not None:
        return exchange.failure
    return failure_of(error, exchange.phase)
