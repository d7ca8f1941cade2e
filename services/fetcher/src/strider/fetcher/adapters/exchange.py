"""One request on its way: when it may still start, and what has happened to it so far.

The hooks of the engine (name resolution, socket, handshake, head) run deep within a library, some of
them in tasks of their own; they find the request that they work for in a context variable and note
here what they see. From these notes come the timings, and the phase in which a deadline passed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.core import Proxy

from .failures import Failure, Phase


@dataclass(slots=True)
class Exchange:
    """Notes of one request; the only thing here that changes."""

    now: Callable[[], float]
    """Monotonic seconds."""
    connect_by: float = inf
    """No connection is begun later: the lease may have ended while nobody ran."""
    head_by: float = inf
    """Nor is the head written later."""
    dns_seconds: float = 0.0
    is_resolving: bool = False
    connecting_at: float = 0.0
    """When the last socket was made; 0 on a connection that was open before."""
    has_connected: bool = False
    """Whether a connection stood."""
    handshake_at: float = 0.0
    head_at: float = 0.0
    """When the head was written at the latest, last; 0 where it was not."""
    answered_at: float = 0.0
    """When the first byte came."""
    has_head: bool = False
    via: Proxy | None = None
    """The proxy that is to be used; None: none."""
    remote_address: str = ""
    """Who was connected to: the proxy, where there is one."""
    failure: Failure | None = None
    """What a hook has refused: libraries may turn its exception into one of their own."""

    @property
    def is_reused(self) -> bool:
        """Whether the connection was open before."""
        return self.head_at > 0 and not self.connecting_at

    @property
    def phase(self) -> Phase:
        """How far it has come."""
        if self.has_head:
            return Phase.ANSWERED
        if self.head_at:
            return Phase.ASKED
        return Phase.HANDSHAKE if self.handshake_at else Phase.CONNECTING

    def on_socket(self) -> None:
        """Note that a connection is begun; refuses where it is too late for one."""
        now = self.now()
        if now > self.connect_by:
            raise self.refuse(ErrorClass.CANCELLED, "too late to connect: the request had stood still")
        self.connecting_at, self.handshake_at = now, 0.0

    def on_handshake(self) -> None:
        """Note that a connection stands and encryption begins."""
        self.handshake_at = self.now()
        self.has_connected = True

    def on_head(self, remote_address: str) -> None:
        """Note that the head is about to be written; refuses where it is too late."""
        now = self.now()
        self.has_connected = True
        self.remote_address = remote_address
        if now <= self.head_by:
            self.head_at = now
        elif not self.connecting_at:
            raise self.refuse(ErrorClass.CANCELLED, "too late to ask: the request had stood still")
        else:
            error = ErrorClass.TLS_TIMEOUT if self.handshake_at else ErrorClass.CONNECT_TIMEOUT
            raise self.refuse(error, "connected too late for this lease; the connection is kept")

    def on_sent(self) -> None:
        """Note that the head is on its way for sure: it may have waited for the end of the loop's turn."""
        if not self.answered_at:
            self.head_at = self.now()

    def refuse(self, error: ErrorClass, message: str) -> Failure:
        """Keep why a hook stops the request, and give what it is to raise."""
        self.failure = Failure(error, message)
        return self.failure

    def overdue(self) -> Failure:
        """Say in which phase the deadline has passed."""
        if self.failure is not None:
            return self.failure
        if self.is_resolving:
            return Failure(ErrorClass.DNS_TIMEOUT, "the name was not resolved in time")
        is_begun = self.connecting_at or self.head_at
        if not is_begun and self.now() > self.connect_by:
            return Failure(ErrorClass.CANCELLED, "too late to connect: the request had stood still")
        return Failure(*_OVERDUE[self.phase])

    def connect_us(self) -> int:
        """Give the time to connect, without the handshake."""
        until = self.handshake_at or self.head_at
        return _us(until - self.connecting_at) if self.connecting_at and until else 0

    def tls_us(self) -> int:
        """Give the time of the handshake."""
        return _us(self.head_at - self.handshake_at) if self.handshake_at and self.head_at else 0

    def ttfb_us(self) -> int:
        """Give the time from the head written to the first byte."""
        return _us(self.answered_at - self.head_at) if self.answered_at and self.head_at else 0

    def dns_us(self) -> int:
        """Give the time to resolve the name."""
        return _us(self.dns_seconds)


_OVERDUE: Final = {
    Phase.CONNECTING: (ErrorClass.CONNECT_TIMEOUT, "no connection in time"),
    Phase.HANDSHAKE: (ErrorClass.TLS_TIMEOUT, "the handshake took too long"),
    Phase.ASKED: (ErrorClass.HEAD_TIMEOUT, "the head of the answer did not come in time"),
    Phase.ANSWERED: (ErrorClass.TOTAL_TIMEOUT, "the answer did not end in time"),
}

CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
"""The request that the running task works for."""


def _us(seconds: float) -> int:
    return max(0, round(seconds * 1_000_000))
