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

from .error_mapping import FetchFailure, Phase


@dataclass(slots=True)
class RequestTimeline:
    """Notes of one request; the only thing here that changes."""

    now: Callable[[], float]
    """Monotonic seconds."""
    connect_by: float = inf
    """No connection is begun later: the lease may have ended while nobody ran."""
    send_head_by: float = inf
    """Nor is the head written later."""
    dns_seconds: float = 0.0
    is_resolving: bool = False
    connect_started_at: float = 0.0
    """When the last socket was made; 0 on a connection that was open before."""
    has_connected: bool = False
    """Whether a connection stood."""
    tls_started_at: float = 0.0
    head_sent_at: float = 0.0
    """When the head was written at the latest, last; 0 where it was not."""
    first_byte_at: float = 0.0
    """When the first byte came."""
    has_response_head: bool = False
    via: Proxy | None = None
    """The proxy that is to be used; None: none."""
    remote_address: str = ""
    """Who was connected to: the proxy, where there is one."""
    failure: FetchFailure | None = None
    """What a hook has refused: libraries may turn its exception into one of their own."""

    @property
    def is_connection_reused(self) -> bool:
        """Whether the connection was open before."""
        return self.head_sent_at > 0 and not self.connect_started_at

    @property
    def phase(self) -> Phase:
        """How far it has come."""
        if self.has_response_head:
            return Phase.RESPONSE_STARTED
        if self.head_sent_at:
            return Phase.ASKED
        return Phase.HANDSHAKE if self.tls_started_at else Phase.CONNECTING

    def on_connect(self) -> None:
        """Note that a connection is begun; refuses where it is too late for one."""
        now = self.now()
        if now > self.connect_by:
            raise self.refuse(ErrorClass.CANCELLED, "too late to connect: the request had stood still")
        self.connect_started_at, self.tls_started_at = now, 0.0

    def on_tls_handshake(self) -> None:
        """Note that a connection stands and encryption begins."""
        self.tls_started_at = self.now()
        self.has_connected = True

    def before_head_sent(self, remote_address: str) -> None:
        """Note that the head is about to be written; refuses where it is too late."""
        now = self.now()
        self.has_connected = True
        self.remote_address = remote_address
        if now <= self.send_head_by:
            self.head_sent_at = now
        elif not self.connect_started_at:
            raise self.refuse(ErrorClass.CANCELLED, "too late to ask: the request had stood still")
        else:
            error = ErrorClass.TLS_TIMEOUT if self.tls_started_at else ErrorClass.CONNECT_TIMEOUT
            raise self.refuse(error, "connected too late for this lease; the connection is kept")

    def after_head_sent(self) -> None:
        """Note that the head is on its way for sure: it may have waited for the end of the loop's turn."""
        if not self.first_byte_at:
            self.head_sent_at = self.now()

    def refuse(self, error: ErrorClass, message: str) -> FetchFailure:
        """Keep why a hook stops the request, and give what it is to raise."""
        self.failure = FetchFailure(error, message)
        return self.failure

    def overdue(self) -> FetchFailure:
        """Say in which phase the deadline has passed."""
        if self.failure is not None:
            return self.failure
        if self.is_resolving:
            return FetchFailure(ErrorClass.DNS_TIMEOUT, "the name was not resolved in time")
        is_begun = self.connect_started_at or self.head_sent_at
        if not is_begun and self.now() > self.connect_by:
            return FetchFailure(ErrorClass.CANCELLED, "too late to connect: the request had stood still")
        return FetchFailure(*_TIMEOUT_BY_PHASE[self.phase])

    def connect_us(self) -> int:
        """Give the time to connect, without the handshake."""
        until = self.tls_started_at or self.head_sent_at
        return _microseconds(until - self.connect_started_at) if self.connect_started_at and until else 0

    def tls_us(self) -> int:
        """Give the time of the handshake."""
        return (
            _microseconds(self.head_sent_at - self.tls_started_at)
            if self.tls_started_at and self.head_sent_at
            else 0
        )

    def ttfb_us(self) -> int:
        """Give the time from the head written to the first byte."""
        return (
            _microseconds(self.first_byte_at - self.head_sent_at)
            if self.first_byte_at and self.head_sent_at
            else 0
        )

    def dns_us(self) -> int:
        """Give the time to resolve the name."""
        return _microseconds(self.dns_seconds)


_TIMEOUT_BY_PHASE: Final = {
    Phase.CONNECTING: (ErrorClass.CONNECT_TIMEOUT, "no connection in time"),
    Phase.HANDSHAKE: (ErrorClass.TLS_TIMEOUT, "the handshake took too long"),
    Phase.ASKED: (ErrorClass.HEAD_TIMEOUT, "the head of the answer did not come in time"),
    Phase.RESPONSE_STARTED: (ErrorClass.TOTAL_TIMEOUT, "the answer did not end in time"),
}

CURRENT: ContextVar[RequestTimeline | None] = ContextVar("exchange", default=None)
"""The request that the running task works for."""


def _microseconds(seconds: float) -> int:
    return max(0, round(seconds * 1_000_000))
