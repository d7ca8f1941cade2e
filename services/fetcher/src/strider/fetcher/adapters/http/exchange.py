"""One HTTP exchange on an aiohttp connection: write the request, read the response's head.

aiohttp's own request and response classes handle cookies, bodies, redirects and sessions, and cost as much as
the rest of a request. Here is only what its connector needs to know of a request and of a response that has
ended; tests fix that. Decides nothing about a response.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Final, NamedTuple, Self

import aiohttp
from aiohttp import ClientRequest
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

from .error_mapping import FetchFailure, RequestPhase, map_exception
from .protocol import MAX_HEADERS, MAX_LINE_BYTES, READ_BUFFER_BYTES, ResponseProtocol
from .timeline import CURRENT_TIMELINE, RequestTimeline

_NO_TIMER: Final = TimerNoop()

_PEER_CLOSED: Final = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR
"""Poll events of a connection that the peer has closed."""


class StaleConnectionError(Exception):
    """A kept connection is unusable and nothing was sent on it: another one will do."""


class OutgoingRequest(ClientRequest):
    """A GET request as the connector needs it; records when and where its head is written."""

    def __init__(  # replaces the costly constructor of the library
        self, url: URL, headers: Iterable[tuple[str, str]], *, tls_context: Any
    ) -> None:
        if url.scheme not in {"http", "https"}:
            raise aiohttp.NonHttpUrlClientError(url)
        if not (host := url.host_port_subcomponent):
            raise aiohttp.InvalidUrlClientError(url)
        self.method, self.url, self.original_url = "GET", url, url
        self.proxy = self.proxy_auth = self.proxy_headers = self.server_hostname = None
        self._ssl = tls_context
        self.headers = CIMultiDict({"Host": host})
        for name, value in headers:
            if name.lower() == "host":
                self.headers["Host"] = value
            else:
                self.headers.add(name, value)

    @property
    def connection_key(self) -> ConnectionKey:
        """Return which connections may be used; those through a proxy are that proxy's only."""
        key, timeline = super().connection_key, CURRENT_TIMELINE.get()
        if timeline is None or timeline.proxy is None:
            return key
        return key._replace(proxy_headers_hash=hash(timeline.proxy))

    def write(self, conn: Connection) -> None:
        """Write the head, unless it is too late for that."""
        timeline, protocol, transport = CURRENT_TIMELINE.get(), conn.protocol, conn.transport
        target = self.url.raw_path_qs
        if timeline is not None and not timeline.connect_started_at and _is_readable_or_closed(transport):
            raise StaleConnectionError
        if timeline is not None:
            peer = None if transport is None else transport.get_extra_info("peername")
            try:
                timeline.before_head_sent(_format_peer(peer))
            except FetchFailure:
                conn.release()  # nothing was sent on it, so it can be reused
                raise
            if isinstance(protocol, ResponseProtocol):
                protocol.expect_response(timeline)
                if timeline.proxy is not None and protocol.is_forward_proxy:
                    self._add_proxy_authorization(timeline.proxy)
                    target = str(self.url)
        if protocol is None or transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")
        protocol.start_timeout()
        # The serializer refuses line ends within a header.
        transport.write(_serialize_headers(f"{self.method} {target} HTTP/1.1", self.headers))
        if timeline is not None:
            # uvloop sends at the end of its iteration, which may be long: the next delay counts from there.
            asyncio.get_running_loop().call_soon(timeline.after_head_sent)

    def _add_proxy_authorization(self, proxy: Proxy) -> None:
        """Add the credentials for a proxy without a tunnel, which receives the whole URL."""
        if account := proxy_authorization(proxy):
            self.headers["Proxy-Authorization"] = account


class HttpResponse(NamedTuple):
    """A response whose head was received, with its body still to be read."""

    status: int
    raw_headers: Sequence[tuple[bytes, bytes]]
    http_version: str
    body: ResponseBody


class ResponseBody(AsyncIterator[bytes]):
    """The body of a response, as sent; its connection is released when the body ends."""

    def __init__(self, connection: Connection, content: StreamReader, timeline: RequestTimeline) -> None:
        self._connection = connection
        self._content = content
        self._timeline = timeline
        protocol = connection.protocol
        self._protocol = protocol if isinstance(protocol, ResponseProtocol) and not content.is_eof() else None
        """The connection's protocol, while part of the body is still to be received."""
        content.on_eof(self._release_unless_upgraded)

    def __aiter__(self) -> Self:
        """Return the body itself; it can be read once."""
        return self

    async def __anext__(self) -> bytes:
        """Return the bytes received since the last call; raises FetchFailure if the body ends early."""
        try:
            chunk = await self._content.readany()
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            raise self._failure(error) from error
        if chunk:
            return chunk
        # A body without a length ends with its connection; only the connection knows whether in order.
        truncated_by = None if self._protocol is None else self._protocol.truncated_by
        if truncated_by is not None:
            raise self._failure(truncated_by)
        raise StopAsyncIteration

    @property
    def is_complete(self) -> bool:
        """Whether the whole body was received, read or not."""
        return self._content.is_eof()

    def close(self, *, is_whole: bool) -> None:
        """Release the connection for reuse, or close it if part of the body is still to come."""
        if is_whole and self._content.is_eof():
            self._connection.release()
            return
        if self._content.exception() is None:
            self._content.set_exception(aiohttp.ClientConnectionError("Connection closed"))
        self._connection.close()

    def _release_unless_upgraded(self) -> None:
        protocol = self._connection.protocol
        if protocol is None or not protocol.upgraded:
            self._connection.release()

    def _failure(self, error: BaseException) -> FetchFailure:
        return self._timeline.failure or map_exception(error, RequestPhase.RESPONSE_STARTED)


async def send_request(
    request: OutgoingRequest,
    connector: aiohttp.BaseConnector,
    timeline: RequestTimeline,
    *,
    connect_timeout_seconds: float,
) -> HttpResponse:
    """Connect, write the request's head and wait for the response's head."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout_seconds)
    try:
        connection = await connector.connect(request, traces=[], timeout=timeout)
    except TimeoutError as error:
        raise aiohttp.ConnectionTimeoutError(f"Connection timeout to host {request.url}") from error
    try:
        assert connection.protocol is not None
        _check_reusable(connection.protocol, timeline)
        connection.protocol.set_response_params(
            timer=_NO_TIMER,
            read_until_eof=True,
            auto_decompress=False,
            read_bufsize=READ_BUFFER_BYTES,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
        )
        request.write(connection)
        return await _read_head(request, connection, timeline)
    except BaseException:
        connection.close()
        raise


def _check_reusable(protocol: ResponseHandler, timeline: RequestTimeline) -> None:
    """Refuse a kept connection that is about to close, or that received more than one response."""
    if timeline.connect_started_at or not isinstance(protocol, ResponseProtocol):
        return
    if protocol.is_unusable(timeline.now()):
        raise StaleConnectionError


async def _read_head(
    request: OutgoingRequest, connection: Connection, timeline: RequestTimeline
) -> HttpResponse:
    protocol = connection.protocol
    assert protocol is not None
    while True:
        try:
            message, content = await protocol.read()
        except HttpProcessingError as error:
            raise aiohttp.ClientResponseError(
                request.request_info, (), status=error.code, message=error.message, headers=error.headers
            ) from error
        if message.code < 100 or message.code > 199 or message.code == 101:  # noqa: PLR2004  # HTTP's own
            body = ResponseBody(connection, content, timeline)
            version = f"{message.version.major}.{message.version.minor}"
            return HttpResponse(message.code, message.raw_headers, version, body)


def _is_readable_or_closed(transport: asyncio.BaseTransport | None) -> bool:
    """Whether the system has received data or a close that the event loop has not read yet."""
    sock = None if transport is None else transport.get_extra_info("socket")
    if sock is None or (descriptor := sock.fileno()) < 0:
        return True
    # Over TLS a server may send session tickets at any time.
    is_plain = transport is not None and transport.get_extra_info("ssl_object") is None
    poller = select.poll()
    poller.register(descriptor, _PEER_CLOSED | select.POLLIN if is_plain else _PEER_CLOSED)
    return bool(poller.poll(0))


def _format_peer(peer: Any) -> str:
    """Format an address and its port as in a URL."""
    if not peer:
        return ""
    host, port = str(peer[0]), peer[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
