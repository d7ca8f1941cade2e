"""Time limits of a running request: deadline, start limit, minimum speed, shutdown.

One timer serves all of them and is reset as the body is received. When it fires, the request knows which
limit was exceeded. Knows nothing of connections.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.contracts.generated.events import FetchRequested
from strider.fetcher.adapters.state.body_budget import BodyHold
from strider.fetcher.core import Proxy, ResponseHead
from strider.messaging.ports import Clock

from .error_mapping import FetchFailure
from .timeline import RequestTimeline

MAX_START_SECONDS: Final = 2.0
"""Longest time from the lease mark to the request's head. Later nothing is sent, because the scheduler's
clock of the host group counts on it. A connection that took longer is kept for the next try.
"""

LARGE_BODY_BYTES: Final = 64 * 1024
"""An incomplete body of more than this may have as much again buffered and unread."""
BUFFERED_BODY_BYTES: Final = 192 * 1024
"""Size of that buffer: what is received before the sender is paused, and what one read may then bring."""

MAX_DRAIN_SECONDS: Final = 1.0
"""For the rest of a body that is not wanted; then the connection is closed."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of a request, besides those that it carries itself."""

    max_deadline_seconds: float = 120.0
    """Maximum deadline that a run may ask for."""
    slow_body_seconds: float = 5.0
    """How long a body may be silent or too slow."""
    min_bytes_per_second: int = 1024
    """Minimum speed over the whole body, after that time; 0 for any speed."""


@dataclass(slots=True, eq=False)
class ActiveRequest:
    """State of a running request, and its one timer."""

    request: FetchRequested
    held_body: BodyHold
    clock: Clock
    limits: RequestLimits
    deadline: float
    """In monotonic seconds."""
    proxy: Proxy | None = None
    """The proxy that is used, if any."""
    timeline: RequestTimeline = field(init=False)
    """Events of the HTTP request that runs now; a robots.txt may take several."""
    head: ResponseHead | None = None
    body_bytes: int = 0
    head_sent_at: float = 0.0
    """When a head was written last; 0 if none was."""
    has_connected: bool = False
    redirect_chain: tuple[str, ...] = ()
    """The URLs that redirected to the current one."""
    is_draining: bool = False
    _last_chunk_at: float = 0.0
    _budget_wait_seconds: float = 0.0
    """How long reading was paused by the body budget."""
    _is_large: bool = False
    """Whether the buffered, unread part of the body is held in the budget too."""
    _is_speed_timer: bool = False
    """Whether the timer is set before the deadline, for the minimum speed."""
    _is_ended_as_slow: bool = False
    """Whether it was ended because others waited for the memory of its body."""
    _is_shutting_down: bool = False
    """Whether the deadline was set by a shutdown."""
    _scope: asyncio.Timeout | None = None

    def start_timeline(self, *, since: float) -> RequestTimeline:
        """Start an HTTP request that must send its head shortly after a moment."""
        start_by = since + MAX_START_SECONDS
        self.head, self.body_bytes, self._budget_wait_seconds = None, 0, 0.0
        self.timeline = RequestTimeline(
            self.clock.monotonic, connect_by=start_by, send_head_by=start_by, proxy=self.proxy
        )
        return self.timeline

    def end_timeline(self) -> None:
        """Keep what later requests of the same fetch must not lose."""
        self.head_sent_at = self.timeline.head_sent_at or self.head_sent_at
        self.has_connected = self.has_connected or self.timeline.has_connected

    def timeout_scope(self) -> asyncio.Timeout:
        """Return the scope that is cancelled when the timer fires."""
        self._scope = asyncio.timeout_at(self._loop_time(self.deadline))
        return self._scope

    @property
    def has_expired(self) -> bool:
        """Whether the timer has fired."""
        return self._scope is not None and self._scope.expired()

    def end_by(self, end_at: float) -> None:
        """Bring the deadline forward, as the process stops."""
        if end_at < self.deadline:
            self.deadline, self._is_shutting_down = end_at, True
            self._set_timer(end_at)

    def end_as_slow(self) -> None:
        """End the request now: its body hardly grows, and others wait for the memory that it holds."""
        self._is_ended_as_slow = True
        self._set_timer(self.clock.monotonic())

    def start_body(self, *, keeps_body: bool, is_complete: bool) -> None:
        """Start the timer of a body: minimum speed, or a short time for one that is not wanted."""
        self._last_chunk_at = now = self.clock.monotonic()
        self.timeline.has_response_head = True
        if is_complete:
            return
        if keeps_body:
            self.held_body.end_as_slow = self.end_as_slow
            self.set_speed_timer()
        else:
            self.is_draining = True
            self._set_timer(min(self.deadline, now + MAX_DRAIN_SECONDS))

    def set_speed_timer(self) -> None:
        """Set the timer to the moment when the body would be too slow without further bytes."""
        min_rate = self.limits.min_bytes_per_second
        if self.is_draining or not min_rate:
            return
        self._last_chunk_at = now = self.clock.monotonic()
        started_at = (self.timeline.first_byte_at or now) + self._budget_wait_seconds
        too_slow_at = started_at + self.limits.slow_body_seconds + self.body_bytes / min_rate
        self._is_speed_timer = too_slow_at < self.deadline
        self._set_timer(min(too_slow_at, self.deadline))

    async def hold_bytes(self, size_bytes: int = 0, *, is_complete: bool = True) -> None:
        """Hold bytes in the body budget; waits while it is exceeded.

        For a large body its unread buffer is held too. The time of waiting does not
        count against the minimum speed.
        """
        if not is_complete and not self._is_large and self.body_bytes > LARGE_BODY_BYTES:
            self._is_large = True
            size_bytes += BUFFERED_BODY_BYTES
        wait = self.held_body.add(size_bytes) if size_bytes else self.held_body.wait_if_over()
        if wait is None:
            return
        started_at = self.clock.monotonic()
        self._is_speed_timer = False
        self._set_timer(self.deadline)
        await wait
        self._budget_wait_seconds += self.clock.monotonic() - started_at

    def timeout_failure(self) -> FetchFailure:
        """Return the failure for the limit that the timer stood for."""
        now = self.clock.monotonic()
        if self._is_ended_as_slow:
            return FetchFailure(ErrorClass.TOO_SLOW, "the body hardly grew while others waited for memory")
        if self._is_shutting_down and not self._is_speed_timer:
            return FetchFailure(ErrorClass.CANCELLED, "the process stopped before the response was complete")
        if not self._is_speed_timer:
            return self.timeline.timeout_failure()
        silent_seconds = now - self._last_chunk_at
        if silent_seconds >= 0.9 * self.limits.slow_body_seconds:
            return FetchFailure(ErrorClass.BODY_TIMEOUT, f"no bytes of the body for {silent_seconds:.1f} s")
        return FetchFailure(
            ErrorClass.TOO_SLOW, f"the body is slower than {self.limits.min_bytes_per_second} bytes a second"
        )

    def _set_timer(self, moment: float) -> None:
        if self._is_ended_as_slow:
            moment = self.clock.monotonic()
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(self._loop_time(moment))

    def _loop_time(self, moment: float) -> float:
        return asyncio.get_running_loop().time() + moment - self.clock.monotonic()
