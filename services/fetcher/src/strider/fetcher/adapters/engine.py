"""The connections: aiohttp, told to do one thing and nothing besides.

No redirects, no cookies, no environment, no unpacking, no second try but one: where a server has
closed a connection that was kept, before it answered anything, the request is made once more on a new
one. The hooks are the public ones where there are any; `Wire` and the connector's factory are not,
and a test holds the library to what they rely on.
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
from aiohttp import ClientHandlerType, ClientRequest, ClientResponse
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import AddrInfoType, Connection
from aiohttp.streams import StreamReader
from yarl import URL

from strider.contracts.generated.words import ErrorClass
from strider.fetcher.core import Proxy

from .encryption import context_of
from .exchange import CURRENT, Exchange
from .failures import Failure, failure_of
from .handshakes import account_of
from .names import Guard, Names
from .tunnels import Lines, Tunnels, goes_through

MAX_LINE_BYTES: Final = 16 * 1024
MAX_HEADERS: Final = 256
MAX_HEAD_BYTES: Final = 256 * 1024
"""The whole head, 1xx answers included, and what of the body came with it."""
MAX_INFORMATIONAL: Final = 20
READ_BYTES: Final = 64 * 1024
"""What is buffered of a body before its sender has to wait."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How connections are kept."""

    connect_timeout_seconds: float = 10.0
    """For one address, its handshake included."""
    keep_seconds: float = 15.0
    """How long a connection waits for its next request."""
    max_idle: int = 512
    """Connections that are open and not used; beyond it none is kept."""
    ca_file: str = ""
    """Authorities to trust (PEM); the system's where empty."""


class Engine:
    """Asks one thing at a time of one host, on connections that are shared by all requests."""

    def __init__(self, names: Names, guard: Guard, *, options: EngineOptions | None = None) -> None:
        self._options = options or EngineOptions()
        self._names = names
        self._guard = guard
        self._contexts = {False: context_of(self._options.ca_file, is_verified=True)}
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self.tunnels = Tunnels(
            names,
            make_socket=self._made,
            context=context_of(self._options.ca_file, is_verified=True, is_noted=False),
            timeout_seconds=self._options.connect_timeout_seconds,
        )
        self._session: aiohttp.ClientSession | None = None
        self._running = 0
        self._is_closed = False

    async def ask(
        self,
        url: str,
        headers: list[tuple[str, str]],
        *,
        is_insecure: bool = False,
        method: str = "GET",
        timeout: aiohttp.ClientTimeout | None = None,  # noqa: ASYNC109  # the library's, for parts of a request
    ) -> ClientResponse:
        """Give the answer's head, with its body still to come; raises Failure."""
        if self._is_closed:
            raise Failure(ErrorClass.CANCELLED, "the connections are closed")
        session = self._session or self._open()
        self._running += 1
        try:
            return await session.request(
                method,
                URL(url, encoded=True),
                headers=headers,
                allow_redirects=False,
                ssl=self._context_of(is_insecure=is_insecure),
                timeout=timeout or session.timeout,
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise failure_of(error) from error
        finally:
            self._running -= 1

    async def close(self) -> None:
        """Close every connection; requests that run fail."""
        self._is_closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        await self._names.close()

    def _open(self) -> aiohttp.ClientSession:
        options = self._options
        connector = Lines(
            resolver=self._names,
            use_dns_cache=False,
            limit=0,
            keepalive_timeout=options.keep_seconds,
            socket_factory=self._socket,
        )
        connector.tunnels = self.tunnels
        factory: Any = partial(Wire, loop=asyncio.get_running_loop())
        connector._factory = factory  # noqa: SLF001  # told above
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=options.connect_timeout_seconds),
            auto_decompress=False,
            trust_env=False,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
            read_bufsize=READ_BYTES,
            request_class=Asked,
            middlewares=(self._once,),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )
        return self._session

    async def _once(self, request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        """Make a request, once more where a kept connection was gone; whatever is raised is a Failure."""
        exchange = CURRENT.get()
        if exchange is not None and len(self._sockets) - self._running > self._options.max_idle:
            request.headers["Connection"] = "close"
        try:
            return await handler(request)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            if exchange is None or not _was_gone(error, exchange):
                raise _translated(error, exchange) from error
        except Exception as error:
            raise _translated(error, exchange) from error
        try:
            return await handler(request)
        except Exception as error:
            raise _translated(error, exchange) from error

    def _socket(self, place: AddrInfoType) -> socket.socket:
        """Make a socket for an address, unless it may not be connected to: nothing comes after this."""
        refusal = self._guard.check(str(place[4][0]))
        if refusal is not None:
            exchange = CURRENT.get()
            if exchange is not None:
                exchange.failure = refusal
            raise refusal
        return self._made(place)

    def _made(self, place: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, _ = place
        exchange = CURRENT.get()
        if exchange is not None:
            exchange.on_socket()
        made = socket.socket(family=family, type=kind, proto=protocol)
        self._sockets.add(made)
        return made

    def _context_of(self, *, is_insecure: bool) -> ssl.SSLContext:
        context = self._contexts.get(is_insecure)
        if context is None:
            context = self._contexts[is_insecure] = context_of("", is_verified=False)
        return context


class Asked(ClientRequest):
    """A request that notes when its head is written, and on which connection."""

    @property
    def connection_key(self) -> ConnectionKey:
        """Say which connections will do: those by way of a proxy are that proxy's."""
        key, exchange = super().connection_key, CURRENT.get()
        if exchange is None or exchange.via is None:
            return key
        return key._replace(proxy_headers_hash=hash(exchange.via))

    async def send(self, conn: Connection) -> ClientResponse:
        """Write the head, unless it is too late for that."""
        exchange = CURRENT.get()
        if exchange is not None:
            protocol, transport = conn.protocol, conn.transport
            peer = None if transport is None else transport.get_extra_info("peername")
            try:
                exchange.on_head(_spelled(peer))
            except Failure:
                conn.release()  # nothing was said on it: whoever asks next need not connect again
                raise
            if isinstance(protocol, Wire):
                protocol.begin(exchange)
            if exchange.via is not None and not goes_through(exchange.via, is_ssl=self.is_ssl()):
                return await self._send_to(exchange.via, conn)
        return await super().send(conn)

    async def _send_to(self, proxy: Proxy, conn: Connection) -> ClientResponse:
        """Ask a proxy that is no tunnel: for the whole URL, and with its account."""
        if account := account_of(proxy):
            self.headers["Proxy-Authorization"] = account
        self.proxy = self.url  # that there is one makes the library write the whole URL
        try:
            return await super().send(conn)
        finally:
            self.proxy = None


class Wire(ResponseHandler):
    """A connection that counts what comes before an answer: a head without end is no head."""

    _exchange: Exchange | None = None
    _head_bytes = 0
    _informational = 0
    _body: StreamReader | None = None

    def begin(self, exchange: Exchange) -> None:
        """Watch the next answer."""
        self._exchange, self._body = exchange, None
        self._head_bytes = self._informational = 0

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

    def _refuse(self, error: ErrorClass, message: str) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            self.set_exception(exchange.refuse(error, message))
        if self.transport is not None:
            self.transport.abort()


def _was_gone(error: BaseException, exchange: Exchange) -> bool:
    """Say whether a kept connection had been closed while nobody looked: the server has seen nothing."""
    if isinstance(error, aiohttp.ClientConnectorError) or not exchange.is_reused:
        return False
    return not exchange.answered_at and exchange.now() <= exchange.connect_by


def _translated(error: Exception, exchange: Exchange | None) -> Failure:
    if exchange is None:
        return failure_of(error)
    if exchange.failure is not None:
        return exchange.failure
    return failure_of(error, exchange.phase)


def _spelled(peer: Any) -> str:
    """Write an address and its port as URLs do."""
    if not peer:
        return ""
    host, port = str(peer[0]), peer[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
