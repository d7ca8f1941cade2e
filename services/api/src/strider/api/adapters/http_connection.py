"""Connections of the API's server with time limits, and a limit to their number.

uvicorn bounds how long a used connection may be silent, and nothing else. Here each phase has a limit that no
byte extends: the head of a request, its body, and the reading of a response.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from strider.runtime.process.connection_table import ConnectionTable, client_of

_REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\nRetry-After: 5\r\n"
    b"Connection: close\r\n\r\ntoo many connections\n"
)


UNREAD_SECONDS: Final = 2.0
"""A client that reads nothing (some 48 KB) for so long has an idle connection: a new one may displace it."""

MAX_PIPELINED: Final = 16
"""Requests in succession that arrive before the response to the one before; then the connection ends."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of the connections of one server."""

    total: int
    per_client: int
    head_seconds: float
    body_seconds: float
    """For the body of a request to arrive, and for a response to be taken."""


class Phase(Enum):
    """Stage of a connection, each with its own time limit."""

    HEAD = "waits for the head of a request"
    BODY = "receives the body of a request"
    WORK = "has a whole request, and no whole response yet"
    ENDED = "is closed, or was refused"


class BoundedConnection(H11Protocol):
    """One connection of a client."""

    def __init__(
        self,
        *arguments: Any,
        limits: ConnectionLimits,
        table: ConnectionTable[BoundedConnection],
        **more: Any,
    ) -> None:
        super().__init__(*arguments, **more)
        self._limits = limits
        self._table = table
        self._phase = Phase.ENDED
        self._phase_timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None
        self._unread_since: float | None = None
        self._pipelined = 0

    def is_idle(self) -> bool:
        """Whether it has no whole request in progress, and no response that the client still reads."""
        if not self.transport.get_write_buffer_size():
            return self._phase is not Phase.WORK
        since = self._unread_since
        return since is not None and self.loop.time() - since > UNREAD_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, in place of an idle connection where there are too many; or refuse."""
        address = transport.get_extra_info("peername")
        client = client_of(str(address[0])) if address else ""
        admission = self._table.admit(client, self)
        if not admission.is_admitted:
            transport.write(_REFUSAL)
            transport.close()
            return
        if admission.displaced is not None:
            admission.displaced.drop()
        super().connection_made(transport)
        self._set_phase(Phase.HEAD)

    def data_received(self, data: bytes) -> None:
        """Take bytes; they extend no limit."""
        if self._phase is Phase.ENDED:
            return
        if not self.transport.get_write_buffer_size():
            self._unread_since = None
        super().data_received(data)
        self._update_phase()

    def on_response_complete(self) -> None:
        """Wait for the next request, or continue with one that has arrived already; with a few of those."""
        self._note_unread()
        self._pipelined = self._pipelined + 1 if self.conn.trailing_data[0] else 0
        if self._pipelined > MAX_PIPELINED:
            self.transport.close()
        super().on_response_complete()
        self._update_phase()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all limits."""
        if self._phase is not Phase.ENDED:  # else it was refused, and the library knows nothing of it
            self._set_phase(Phase.ENDED)
            self._stop_unread_timer()
            self._table.remove(self)
            super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Give the client a time to read."""
        super().pause_writing()
        self._note_unread()
        self._unread_timer = self.loop.call_later(self._limits.body_seconds, self.drop)

    def resume_writing(self) -> None:
        """End that time: the client reads."""
        super().resume_writing()
        self._unread_since = None
        self._note_unread()
        self._stop_unread_timer()

    def drop(self) -> None:
        """Close at once, without waiting for what the client has not read."""
        self.transport.abort()

    def _note_unread(self) -> None:
        """Note since when the client has a response to read."""
        if not self.transport.get_write_buffer_size():
            self._unread_since = None
        elif self._unread_since is None:
            self._unread_since = self.loop.time()

    def _update_phase(self) -> None:
        if self._phase is Phase.ENDED:
            return
        if self.cycle is None or self.cycle.response_complete:
            self._set_phase(Phase.HEAD)
        elif self.conn.their_state is h11.SEND_BODY:
            self._set_phase(Phase.BODY)
        else:
            self._set_phase(Phase.WORK)

    def _set_phase(self, phase: Phase) -> None:
        if phase is self._phase:
            return
        self._phase = phase
        if self._phase_timer is not None:
            self._phase_timer.cancel()
            self._phase_timer = None
        seconds = {Phase.HEAD: self._limits.head_seconds, Phase.BODY: self._limits.body_seconds}.get(phase)
        if seconds is not None:
            self._phase_timer = self.loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        """Close it; a response that was sent already may still be read for a time."""
        if self.transport.get_write_buffer_size():
            self._phase_timer = self.loop.call_later(self._limits.body_seconds, self.drop)
        else:
            self.drop()

    def _stop_unread_timer(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None


def connection_class(limits: ConnectionLimits) -> type[BoundedConnection]:
    """Return the class of one server's connections, which share one table."""
    table = ConnectionTable[BoundedConnection](
        total=limits.total, per_client=limits.per_client, is_idle=BoundedConnection.is_idle
    )

    class _Connection(BoundedConnection):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, limits=limits, table=table, **more)

    return _Connection
