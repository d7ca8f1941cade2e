"""Repeat the work of a loop at intervals, within a part of the time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.log_events import LogEvent
from strider.runtime.observability.logging import logger

DUTY_CYCLE_DIVISOR: Final = 10
"""At most one part in this many of the time is spent on the work, but for the next limit."""

MAX_INTERVALS: Final = 10
"""Longest pause, in intervals: a pass takes long where servers are slow, too, and is no work then."""

_log = logger("scheduler")


async def repeat_at_intervals(
    work: Callable[[], Awaitable[object]],
    *,
    clock: Clock,
    interval_seconds: float,
    paused_event: LogEvent,
    survived: tuple[type[Exception], ...] = (Unavailable,),
) -> None:
    """Repeat until cancelled; where a dependency is unavailable, log the event and try again.

    `survived` are the failures after which the work is repeated.
    """
    wait_seconds = interval_seconds
    while True:
        await clock.sleep(wait_seconds)
        began = clock.monotonic()
        try:
            await work()
        except survived as failure:
            _log.emit(paused_event, why=str(failure))
        took_seconds = clock.monotonic() - began
        pause_seconds = min(took_seconds * (DUTY_CYCLE_DIVISOR - 1), MAX_INTERVALS * interval_seconds)
        wait_seconds = max(interval_seconds, pause_seconds)
