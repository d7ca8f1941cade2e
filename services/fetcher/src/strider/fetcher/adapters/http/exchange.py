"""One request and its answer on one of aiohttp's connections: its head is written here, read by its parser.

The library's own requests and answers know cookies, bodies, redirects and sessions, and cost as much as
all the rest of a request. What its connector wants to know of a request, and what it wants done with an
answer that has ended, is all there is here; tests hold the library to that. Decides nothing about
an answer.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Iterable, Sequence
from typing import Any, Final

import aiohttp
from aiohttp import ClientRequest, http
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection
from aiohttp.helpers import TimerNoop
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_writer import _serialize_headers
from aiohttp.streams import StreamReader
from multidict import CIMultiDict
from yarl import URL

from strider.fetcher.adapters.proxies.handshake import proxy_authorization
from strider.fetcher.core import Proxy

from .error_mapping import FetchFailure
from .protocol import MAX_HEADERS, MAX_LINE_BYTES, READ_BUFFER_BYTES, Wire
from .timeline import CURRENT

_NO_TIMER: Final = TimerNoop()
_BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})

_PEER_CLOSED: Final = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR
"""What the system tells of a connection that the other side has closed."""


class StaleConnectionError(Exception):
    """A kept connection is of no use any more, and nothing was said on it: another one will do."""


class OutgoingRequest(ClientRequest):
    """A request without a body, as the connector has to know it; notes when and where its head is written."""

    def __init__(  # the library's own is what is spared
        self, method: str, url: URL, headers: Iterable[tuple[str, str]], *, context: Any
    ) -> None:
        if url.scheme not in {"http", "https"}:
            raise aiohttp.NonHttpUrlClientError(url)
        if not (host := url.host_port_subcomponent):
            raise aiohttp.InvalidUrlClientError(url)
        self.method, self.url, self.original_url = method, url, url
        self.proxy = self.proxy_auth = self.proxy_headers = self.server_hostname = None
        self._ssl = context
        self.headers = CIMultiDict({"Host": host})
        for name, value in headers:
            if name.lower() == "host":
                self.headers["Host"] = value
            else:
                self.headers.add(name, value)
        if method not in _BODILESS:
            self.headers["Content-Length"] = "0"

    @property
    def connection_key(self) -> ConnectionKey:
        """Say which connections will do: those by way of a proxy are that proxy's."""
        key, exchange = super().connection_key, CURRENT.get()
        if exchange is None or exchange.via is None:
            return key
        return key._replace(proxy_headers_hash=hash(exchange.via))

    def write(self, conn: Connection) -> None:
        """Write the head, unless it is too late for that."""
        exchange, protocol, transport = CURRENT.get(), conn.protocol, conn.transport
        target = self.url.raw_path_qs
        if exchange is not None and not exchange.connect_started_at and _is_readable_or_closed(transport):
            raise StaleConnectionError
        if exchange is not None:
            peer = None if transport is None else transport.get_extra_info("peername")
            try:
                exchange.before_head_sent(_format_peer(peer))
            except FetchFailure:
                conn.release()  # nothing was said on it: whoever asks next need not connect again
                raise
            if isinstance(protocol, Wire):
                protocol.expect_response(exchange)
                if exchange.via is not None and protocol.is_forward_proxy:
                    self._add_proxy_authorization(exchange.via)
                    target = str(self.url)
        if protocol is None or transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")
        protocol.start_timeout()
        # The serializer refuses line ends within a line.
        transport.write(_serialize_headers(f"{self.method} {target} HTTP/1.1", self.headers))
        if exchange is not None:
            # uvloop sends at the end of its turn, which may be long: the next delay counts from there.
            asyncio.get_running_loop().call_soon(exchange.after_head_sent)

    def _add_proxy_authorization(self, proxy: Proxy) -> None:
        """Ask a proxy that is no tunnel: it gets the whole URL, and its account."""
        if account := proxy_authorization(proxy):
            self.headers["Proxy-Authorization"] = account


class IncomingReply:
    """An answer whose head has come. Its connection is given back when its body has."""

    __slots__ = ("_connection", "content", "raw_headers", "status", "version", "protocol")

    def __init__(self, connection: Connection, message: http.RawResponseMessage, body: StreamReader) -> None:
        self._connection = connection
        self.status: int = message.code
        self.version: http.HttpVersion = message.version
        self.raw_headers: Sequence[tuple[bytes, bytes]] = message.raw_headers
        self.content = body
        protocol = connection.protocol
        self.protocol = protocol if isinstance(protocol, Wire) and not body.is_eof() else None
        """The connection, while something is still to come on it for this answer."""
        body.on_eof(self._on_end)

    def _on_end(self) -> None:
        protocol = self._connection.protocol
        if protocol is None or not protocol.upgraded:
            self._connection.release()

    def release(self) -> None:
        """Give the connection back."""
        self._connection.release()

    def close(self) -> None:
        """Close the connection, unless it was given back before; who still reads hears of it."""
        if self.content.exception() is None:
            self.content.set_exception(aiohttp.ClientConnectionError("Connection closed"))
        self._connection.close()


async def send_request(
    request: OutgoingRequest,
    connector: aiohttp.BaseConnector,
    timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # the library's, for parts of a request
) -> IncomingReply:
    """Connect, write the head, and wait for that of the answer."""
    try:
        connection = await connector.connect(request, traces=[], timeout=timeout)
    except TimeoutError as error:
        raise aiohttp.ConnectionTimeoutError(f"Connection timeout to host {request.url}") from error
    try:
        assert connection.protocol is not None
        _check_reusable(connection.protocol)
        connection.protocol.set_response_params(
            timer=_NO_TIMER,
            skip_payload=request.method == "HEAD",
            read_until_eof=True,
            auto_decompress=False,
            read_timeout=timeout.sock_read,
            read_bufsize=READ_BUFFER_BYTES,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
        )
        request.write(connection)
        return await _read(request, connection)
    except BaseException:
        connection.close()
        raise


def _check_reusable(protocol: ResponseHandler) -> None:
    """Refuse a kept connection that is about to be closed, or on which more has come than was asked for."""
    exchange = CURRENT.get()
    if exchange is None or exchange.connect_started_at or not isinstance(protocol, Wire):
        return
    if protocol.is_unusable(exchange.now()):
        raise StaleConnectionError


async def _read(asked: OutgoingRequest, connection: Connection) -> IncomingReply:
    protocol = connection.protocol
    assert protocol is not None
    while True:
        try:
            message, body = await protocol.read()
        except HttpProcessingError as error:
            raise aiohttp.ClientResponseError(
                asked.request_info, (), status=error.code, message=error.message, headers=error.headers
            ) from error
        if message.code < 100 or message.code > 199 or message.code == 101:  # noqa: PLR2004  # HTTP's own
            return IncomingReply(connection, message, body)


def _is_readable_or_closed(transport: asyncio.BaseTransport | None) -> bool:
    """Ask the system whether the other side has spoken, or hung up, which the loop has yet to hear."""
    known = None if transport is None else transport.get_extra_info("socket")
    if known is None or (place := known.fileno()) < 0:
        return True
    # With TLS there is more to say than answers: tickets for the next handshake come when a server likes.
    is_plain = transport is not None and transport.get_extra_info("ssl_object") is None
    look = select.poll()
    look.register(place, _PEER_CLOSED | select.POLLIN if is_plain else _PEER_CLOSED)
    return bool(look.poll(0))


def _format_peer(peer: Any) -> str:
    """Write an address and its port as URLs do."""
    if not peer:
        return ""
    host, port = str(peer[0]), peer[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
