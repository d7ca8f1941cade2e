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

from .encryption import context_of
from .exchange import CURRENT, Exchange
from .failures import Failure, failure_of
from .listening import Wire
from .names import Guard, Names
from .talking import Asked, GoneError, Reply, reply_to
from .tunnels import Lines, Tunnels

MOST_RECEIVED: Final = 128 * 1024
"""What the system may keep of an answer that is not read yet, for one connection; it takes twice that in all.

Left to itself it keeps ever more for who reads quickly, 32 MB in the end: a thousand large pages that wait
for room would fill the memory that all connections of the machine share, and none of them would go on.
A site 100 ms away still sends a megabyte a second.
"""
LEAST_RECEIVED: Final = 32 * 1024
A_SHARE: Final = 4
"""All connections together are given so many times less than there may be of bodies in hand."""


_NOBODY_THERE: Final = frozenset(
    {ErrorClass.CONNECT_REFUSED, ErrorClass.CONNECT_UNREACHABLE, ErrorClass.CONNECT_TIMEOUT}
)
"""What a site that has moved looks like to who knows its old address."""


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
    must_tunnel: bool = False
    """Whether no proxy is given a URL, of which it would resolve the name itself."""
    receive_bytes: int = MOST_RECEIVED


def receive_bytes(budget_bytes: int, *, connections: int) -> int:
    """Say how much one connection of so many may be given: what has come is read at once, whatever it is."""
    return min(max(budget_bytes // (A_SHARE * connections), LEAST_RECEIVED), MOST_RECEIVED)


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
            must_tunnel=self._options.must_tunnel,
        )
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._options.connect_timeout_seconds)
        self._lines: Lines | None = None
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
    ) -> Reply:
        """Give the answer's head, with its body still to come; raises Failure."""
        if self._is_closed:
            raise Failure(ErrorClass.CANCELLED, "the connections are closed")
        lines = self._lines or self._open()
        self._running += 1
        try:
            context = self._context_of(is_insecure=is_insecure)
            asked = Asked(method, URL(url, encoded=True), headers, context=context)
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

    def _open(self) -> Lines:
        lines = self._lines = Lines(
            resolver=self._names,
            use_dns_cache=False,
            limit=0,
            keepalive_timeout=self._options.keep_seconds,
            socket_factory=self._socket,
        )
        lines.tunnels = self.tunnels
        factory: Any = partial(Wire, loop=asyncio.get_running_loop())
        lines._factory = factory  # noqa: SLF001  # told above
        return lines

    async def _once(
        self,
        asked: Asked,
        lines: Lines,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # the library's, for parts of a request
    ) -> Reply:
        """Make a request; whatever is raised is a Failure.

        What was said on a kept connection may have been heard, whatever became of the connection: saying it
        again is the scheduler's, which keeps the delay.
        """
        exchange = CURRENT.get()
        if exchange is not None and len(self._sockets) - self._running > self._options.max_idle:
            asked.headers["Connection"] = "close"
        while True:
            try:
                return await reply_to(asked, lines, timeout)
            except GoneError:
                continue  # it was closed as well, so there is one less of them
            except Exception as error:
                raise self._failure(asked, error, exchange) from error

    def _failure(self, asked: Asked, error: Exception, exchange: Exchange | None) -> Failure:
        failure = _translated(error, exchange)
        if failure.error in _NOBODY_THERE:
            self._names.forget(asked.url.raw_host or "")
        return failure

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
        # Before it is connected: the window is told then.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._options.receive_bytes)
        self._sockets.add(made)
        return made

    def _context_of(self, *, is_insecure: bool) -> ssl.SSLContext:
        context = self._contexts.get(is_insecure)
        if context is None:
            context = self._contexts[is_insecure] = context_of("", is_verified=False)
        return context


def _translated(error: Exception, exchange: Exchange | None) -> Failure:
    if exchange is None:
        return failure_of(error)
    if exchange.failure is not None:
        return exchange.failure
    return failure_of(error, exchange.phase)
