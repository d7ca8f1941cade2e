"""One request's way against the clock: its deadline, the least speed of its body, the end of the process.

There is one timer for all of them, set anew as the body comes. When it fires, the course knows which
limit that was. Knows nothing of connections.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.contracts.generated.events import FetchRequested
from strider.fetcher.adapters.state.body_budget import Holding
from strider.fetcher.core import Proxy, ResponseHead
from strider.messaging.ports import Clock

from .error_mapping import FetchFailure
from .timeline import RequestTimeline

MAX_START_SECONDS: Final = 2.0
"""Longest time from the mark to the head; later nothing is begun or said, because whoever keeps the
group's clock counts on it. A connection that took longer is kept for the next try."""

LARGE_BODY_BYTES: Final = 64 * 1024
"""A body of which more has come, and not all, may have as much again waiting behind what was read."""
BUFFERED_BODY_BYTES: Final = 192 * 1024
"""That much of it: what is buffered before its sender has to wait, and what a single read may bring then."""

MAX_DRAIN_SECONDS: Final = 1.0
"""For the rest of a body that nobody wants: then the connection is given up."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of a request, besides those that it carries itself."""

    max_deadline_seconds: float = 120.0
    """What a run may ask for at most."""
    slow_body_seconds: float = 5.0
    """How long a body may do nothing."""
    min_bytes_per_second: int = 1024
    """After that, over all of the body; 0 for any speed."""


@dataclass(slots=True, eq=False)
class Course:
    """What a request has come to so far, and when it has to have come to its end. Changes as it goes."""

    request: FetchRequested
    holding: Holding
    clock: Clock
    limits: RequestLimits
    deadline: float
    """Monotonic."""
    via: Proxy | None = None
    """By way of whom it is asked."""
    exchange: RequestTimeline = field(init=False)
    """Notes of the request that runs now; a robots.txt may take several."""
    head: ResponseHead | None = None
    body_bytes: int = 0
    head_sent_at: float = 0.0
    """When a head was written, last."""
    has_connected: bool = False
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected to the one that is asked now."""
    is_draining: bool = False
    _last_chunk_at: float = 0.0
    _budget_wait_seconds: float = 0.0
    """How long others had to come to their end first."""
    _is_large: bool = False
    """Whether what nobody has read yet is held as well."""
    _is_speed_timer: bool = False
    """Whether the timer stands before the deadline, because the body is slow."""
    _is_shutting_down: bool = False
    """Whether the process has set the deadline."""
    _scope: asyncio.Timeout | None = None

    def start_timeline(self, *, since: float) -> RequestTimeline:
        """Begin a request that may start for a short time after a moment."""
        start_by = since + MAX_START_SECONDS
        self.head, self.body_bytes, self._budget_wait_seconds = None, 0, 0.0
        self.exchange = RequestTimeline(
            self.clock.monotonic, connect_by=start_by, send_head_by=start_by, via=self.via
        )
        return self.exchange

    def end_timeline(self) -> None:
        """Take over what is to be told of it all."""
        self.head_sent_at = self.exchange.head_sent_at or self.head_sent_at
        self.has_connected = self.has_connected or self.exchange.has_connected

    def timeout_scope(self) -> asyncio.Timeout:
        """Give the scope that ends everything in it when time is up."""
        self._scope = asyncio.timeout_at(self._loop_time(self.deadline))
        return self._scope

    @property
    def has_expired(self) -> bool:
        """Whether the timer has fired."""
        return self._scope is not None and self._scope.expired()

    def end_by(self, end_at: float) -> None:
        """Be over by then, because the process ends."""
        if end_at < self.deadline:
            self.deadline, self._is_shutting_down = end_at, True
            self._until(end_at)

    def start_body(self, *, keeps_body: bool, is_complete: bool) -> None:
        """Watch a body come, or for a moment one that nobody wants."""
        self._last_chunk_at = now = self.clock.monotonic()
        self.exchange.has_response_head = True
        if is_complete:
            return
        if keeps_body:
            self.set_speed_timer()
        else:
            self.is_draining = True
            self._until(min(self.deadline, now + MAX_DRAIN_SECONDS))

    def set_speed_timer(self) -> None:
        """Set the timer to when the body would be too slow without another byte."""
        least = self.limits.min_bytes_per_second
        if self.is_draining or not least:
            return
        self._last_chunk_at = now = self.clock.monotonic()
        began = (self.exchange.first_byte_at or now) + self._budget_wait_seconds
        floor_at = began + self.limits.slow_body_seconds + self.body_bytes / least
        self._is_speed_timer = floor_at < self.deadline
        self._until(min(floor_at, self.deadline))

    async def hold_bytes(self, size_bytes: int = 0, *, is_complete: bool = True) -> None:
        """Hold bytes, and what else of a large body is here already, though nobody has read it.

        While others have to come to their end first, nobody calls this one slow.
        """
        if not is_complete and not self._is_large and self.body_bytes > LARGE_BODY_BYTES:
            self._is_large = True
            size_bytes += BUFFERED_BODY_BYTES
        waiting = self.holding.add(size_bytes) if size_bytes else self.holding.wait_if_over()
        if waiting is None:
            return
        began = self.clock.monotonic()
        self._is_speed_timer = False
        self._until(self.deadline)
        await waiting
        self._budget_wait_seconds += self.clock.monotonic() - began

    def overdue(self) -> FetchFailure:
        """Say which limit the timer was."""
        now = self.clock.monotonic()
        if self._is_shutting_down and not self._is_speed_timer:
            return FetchFailure(ErrorClass.CANCELLED, "the process ended before the answer did")
        if not self._is_speed_timer:
            return self.exchange.overdue()
        still = now - self._last_chunk_at
        if still >= 0.9 * self.limits.slow_body_seconds:
            return FetchFailure(ErrorClass.BODY_TIMEOUT, f"no byte of the body in {still:.1f} s")
        return FetchFailure(
            ErrorClass.TOO_SLOW, f"less than {self.limits.min_bytes_per_second} bytes a second"
        )

    def _until(self, moment: float) -> None:
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(self._loop_time(moment))

    def _loop_time(self, moment: float) -> float:
        return asyncio.get_running_loop().time() + moment - self.clock.monotonic()
