"""One request and its answer on one of aiohttp's connections: its head is written here, read by its parser.

The library's own requests and answers know cookies, bodies, redirects and sessions, and cost as much as
all the rest of a request. What its connector wants to know of a request, and what it wants done with an
answer that has ended, is all there is here; tests hold the library to that. Decides nothing about
an answer but how large its head may be.
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

from strider.contracts.generated.words import ErrorClass
from strider.fetcher.core import Proxy

from .exchange import CURRENT, Exchange
from .failures import Failure
from .handshakes import account_of

MAX_LINE_BYTES: Final = 16 * 1024
MAX_HEADERS: Final = 256
MAX_HEAD_BYTES: Final = 256 * 1024
"""The whole head, 1xx answers included, and what of the body came with it."""
MAX_INFORMATIONAL: Final = 20
READ_BYTES: Final = 32 * 1024
"""Twice this is buffered of a body before its sender has to wait."""
MAX_CRUMBS: Final = 10
"""Times that a sender may have to wait for the number of its chunks and not for their size: chunks of a few
bytes are read at a hundredth of the usual pace, and these are more than ten thousand of them."""

_NO_TIMER: Final = TimerNoop()
_BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


_HUNG_UP: Final = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR


class GoneError(Exception):
    """A kept connection was closed by the other side, and nothing was said on it: another one will do."""


class Asked(ClientRequest):
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
        if exchange is not None and not exchange.connecting_at and _has_hung_up(transport):
            raise GoneError
        if exchange is not None:
            peer = None if transport is None else transport.get_extra_info("peername")
            try:
                exchange.on_head(_spelled(peer))
            except Failure:
                conn.release()  # nothing was said on it: whoever asks next need not connect again
                raise
            if isinstance(protocol, Wire):
                protocol.begin(exchange)
                if exchange.via is not None and protocol.ends_at_proxy:
                    self._address_to(exchange.via)
                    target = str(self.url)
        if protocol is None or transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")
        protocol.start_timeout()
        # The serializer refuses line ends within a line.
        transport.write(_serialize_headers(f"{self.method} {target} HTTP/1.1", self.headers))
        if exchange is not None:
            # uvloop sends at the end of its turn, which may be long: the next delay counts from there.
            asyncio.get_running_loop().call_soon(exchange.on_sent)

    def _address_to(self, proxy: Proxy) -> None:
        """Ask a proxy that is no tunnel: it gets the whole URL, and its account."""
        if account := account_of(proxy):
            self.headers["Proxy-Authorization"] = account


class Reply:
    """An answer whose head has come. Its connection is given back when its body has."""

    __slots__ = ("_connection", "content", "raw_headers", "status", "version", "wire")

    def __init__(self, connection: Connection, message: http.RawResponseMessage, body: StreamReader) -> None:
        self._connection = connection
        self.status: int = message.code
        self.version: http.HttpVersion = message.version
        self.raw_headers: Sequence[tuple[bytes, bytes]] = message.raw_headers
        self.content = body
        self.wire: ResponseHandler | None = None if body.is_eof() else connection.protocol
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


async def reply_to(
    asked: Asked,
    lines: aiohttp.BaseConnector,
    timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # the library's, for parts of a request
) -> Reply:
    """Connect, write the head, and wait for that of the answer."""
    try:
        connection = await lines.connect(asked, traces=[], timeout=timeout)
    except TimeoutError as error:
        raise aiohttp.ConnectionTimeoutError(f"Connection timeout to host {asked.url}") from error
    try:
        assert connection.protocol is not None
        connection.protocol.set_response_params(
            timer=_NO_TIMER,
            skip_payload=asked.method == "HEAD",
            read_until_eof=True,
            auto_decompress=False,
            read_timeout=timeout.sock_read,
            read_bufsize=READ_BYTES,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
        )
        asked.write(connection)
        return await _read(asked, connection)
    except BaseException:
        connection.close()
        raise


async def _read(asked: Asked, connection: Connection) -> Reply:
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
            return Reply(connection, message, body)


class Wire(ResponseHandler):
    """A connection that counts what comes before an answer: a head without end is no head."""

    ends_at_proxy = False
    """Whether a proxy at its other end reads what is asked, and asks the site itself."""
    _exchange: Exchange | None = None
    _head_bytes = 0
    _informational = 0
    _body: StreamReader | None = None
    _waited_at_bytes = 0
    """How much of the body had come when its sender had to wait last."""
    _crumbs = 0

    def begin(self, exchange: Exchange) -> None:
        """Watch the next answer."""
        self._exchange, self._body = exchange, None
        self._head_bytes = self._informational = self._waited_at_bytes = self._crumbs = 0

    def data_received(self, data: bytes) -> None:
        """Take bytes; beyond the limit of a head they end the connection."""
        exchange = self._exchange
        if exchange is None:
            super().data_received(data)
            return
        if not exchange.answered_at:
            exchange.answered_at = exchange.now()
        self._head_bytes += len(data)
        super().data_received(data)
        if self._exchange is not None and self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(ErrorClass.HEAD_TOO_LARGE, f"a head of more than {MAX_HEAD_BYTES} bytes")

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take a parsed head; only so many may say that the answer is still to come."""
        status = data[0].code
        if status >= 200 or status == 101:  # noqa: PLR2004  # HTTP's own numbers
            self._exchange, self._body = None, data[1]
        else:
            self._informational += 1
            if self._informational > MAX_INFORMATIONAL:
                self._refuse(
                    ErrorClass.TOO_MANY_INFORMATIONAL, f"more than {MAX_INFORMATIONAL} answers of 1xx"
                )
                return
        super().feed_data(data, size)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        """Note that the connection has failed; whoever reads a body of it must hear so too."""
        super().set_exception(exc, *cause)
        body = self._body
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(exc, *cause)

    def pause_reading(self) -> None:
        """Have the sender wait, which it has to for much that is unread, or for many chunks."""
        super().pause_reading()
        body = self._body
        if body is None:
            return
        come_bytes = body.total_bytes - self._waited_at_bytes
        self._waited_at_bytes = body.total_bytes
        self._crumbs += come_bytes < READ_BYTES
        if self._crumbs == MAX_CRUMBS:
            failure = Failure(ErrorClass.BAD_FRAMING, "chunks of a few bytes each, without end")
            self._loop.call_soon(self._end, failure)  # the parser is at work now

    def _refuse(self, error: ErrorClass, message: str) -> None:
        exchange, self._exchange = self._exchange, None
        self._end(exchange.refuse(error, message) if exchange is not None else None)

    def _end(self, failure: Failure | None) -> None:
        if failure is not None:
            self.set_exception(failure)
        if self.transport is not None:
            self.transport.abort()


def _has_hung_up(transport: asyncio.BaseTransport | None) -> bool:
    """Ask the system whether the other side has closed a connection: the loop may not have heard of it."""
    known = None if transport is None else transport.get_extra_info("socket")
    if known is None or (place := known.fileno()) < 0:
        return True
    look = select.poll()
    look.register(place, _HUNG_UP)
    return bool(look.poll(0))


def _spelled(peer: Any) -> str:
    """Write an address and its port as URLs do."""
    if not peer:
        return ""
    host, port = str(peer[0]), peer[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
