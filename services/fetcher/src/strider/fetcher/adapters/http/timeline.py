"""Timeline of a running HTTP request: its start limits, timings and phase.

The hooks of name resolution, socket, TLS handshake and head run deep within aiohttp, some of them in tasks of
their own. They find their request in a context variable and record here what they see. The timings and the
phase in which a deadline passed come from these records.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.core import Proxy

from .error_mapping import FetchFailure, RequestPhase

_TIMEOUT_BY_PHASE: Final = {
    RequestPhase.CONNECTING: (ErrorClass.CONNECT_TIMEOUT, "no connection within the time limit"),
    RequestPhase.HANDSHAKE: (ErrorClass.TLS_TIMEOUT, "the TLS handshake took too long"),
    RequestPhase.REQUEST_SENT: (ErrorClass.HEAD_TIMEOUT, "the response's head was not received in time"),
    RequestPhase.RESPONSE_STARTED: (ErrorClass.TOTAL_TIMEOUT, "the response was not complete in time"),
}

CURRENT_TIMELINE: ContextVar[RequestTimeline | None] = ContextVar("exchange", default=None)
"""Timeline of the request that the running task works for."""


@dataclass(slots=True)
class RequestTimeline:
    """Mutable record of one HTTP request."""

    now: Callable[[], float]
    """Returns monotonic seconds."""
    connect_by: float = inf
    """No connection is started later: the lease may have ended while the process was suspended."""
    send_head_by: float = inf
    """No head is written later, for the same reason."""
    dns_seconds: float = 0.0
    is_resolving: bool = False
    connect_started_at: float = 0.0
    """When the last socket was made; 0 on a kept connection."""
    has_connected: bool = False
    """Whether a connection was established."""
    address_family: int = 0
    """That of the last socket."""
    tls_started_at: float = 0.0
    head_sent_at: float = 0.0
    """When the head was written, at the latest; 0 if it was not."""
    first_byte_at: float = 0.0
    """When the first byte of the response was received."""
    has_response_head: bool = False
    proxy: Proxy | None = None
    """The proxy to use, if any."""
    remote_address: str = ""
    """The peer's address: that of the proxy, if there is one."""
    failure: FetchFailure | None = None
    """The refusal of a hook: libraries may replace its exception by one of their own."""

    @property
    def is_connection_reused(self) -> bool:
        """Whether the connection was open before."""
        return self.head_sent_at > 0 and not self.connect_started_at

    @property
    def phase(self) -> RequestPhase:
        """Return the progress of the request."""
        if self.has_response_head:
            return RequestPhase.RESPONSE_STARTED
        if self.head_sent_at:
            return RequestPhase.REQUEST_SENT
        return RequestPhase.HANDSHAKE if self.tls_started_at else RequestPhase.CONNECTING

    def on_connect(self, address_family: int) -> None:
        """Record that a connection is started; raises if it is too late for one."""
        now = self.now()
        if now > self.connect_by:
            raise self.fail(ErrorClass.CANCELLED, "too late to connect: the process was suspended")
        self.connect_started_at, self.tls_started_at = now, 0.0
        self.address_family = address_family

    def on_tls_handshake(self) -> None:
        """Record that a connection is established and the TLS handshake starts."""
        self.tls_started_at = self.now()
        self.has_connected = True

    def before_head_sent(self, remote_address: str) -> None:
        """Record that the head is about to be written; raises if it is too late."""
        now = self.now()
        self.has_connected = True
        self.remote_address = remote_address
        if now <= self.send_head_by:
            self.head_sent_at = now
        elif not self.connect_started_at:
            raise self.fail(ErrorClass.CANCELLED, "too late to send the request: the process was suspended")
        else:
            error = ErrorClass.TLS_TIMEOUT if self.tls_started_at else ErrorClass.CONNECT_TIMEOUT
            raise self.fail(error, "connected too late for this lease; the connection is kept")

    def after_head_sent(self) -> None:
        """Record that the head was sent for certain: the event loop may have delayed it."""
        if not self.first_byte_at:
            self.head_sent_at = self.now()

    def fail(self, error: ErrorClass, message: str) -> FetchFailure:
        """Record why a hook stops the request; returns the exception to raise."""
        self.failure = FetchFailure(error, message)
        return self.failure

    def timeout_failure(self) -> FetchFailure:
        """Return the failure for the phase in which the deadline passed."""
        if self.failure is not None:
            return self.failure
        if self.is_resolving:
            return FetchFailure(ErrorClass.DNS_TIMEOUT, "the name was not resolved in time")
        is_begun = self.connect_started_at or self.head_sent_at
        if not is_begun and self.now() > self.connect_by:
            return FetchFailure(ErrorClass.CANCELLED, "too late to connect: the process was suspended")
        return FetchFailure(*_TIMEOUT_BY_PHASE[self.phase])

    def connect_us(self) -> int:
        """Return the time to connect, without the TLS handshake, in microseconds."""
        until = self.tls_started_at or self.head_sent_at
        return _microseconds(until - self.connect_started_at) if self.connect_started_at and until else 0

    def tls_us(self) -> int:
        """Return the time of the TLS handshake, in microseconds."""
        return (
            _microseconds(self.head_sent_at - self.tls_started_at)
            if self.tls_started_at and self.head_sent_at
            else 0
        )

    def ttfb_us(self) -> int:
        """Return the time from the written head to the first byte, in microseconds."""
        return (
            _microseconds(self.first_byte_at - self.head_sent_at)
            if self.first_byte_at and self.head_sent_at
            else 0
        )

    def dns_us(self) -> int:
        """Return the time to resolve the name, in microseconds."""
        return _microseconds(self.dns_seconds)


def _microseconds(seconds: float) -> int:
    return max(0, round(seconds * 1_000_000))
