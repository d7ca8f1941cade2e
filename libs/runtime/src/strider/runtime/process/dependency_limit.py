"""Limit on the time without a dependency, for platforms that restart what has ended.

By default there is none: a process reconnects for ever, and is not ready meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from strider.messaging.ports import Clock
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger

from .exit_codes import ExitCode
from .health import DependencyState, Readiness

MAX_CHECK_SECONDS: Final = 1.0

_log = logger("service")


def longest_away(readiness: Readiness) -> DependencyState | None:
    """Return the vital dependency that is away for the longest time; None where all respond."""
    away = [each for each in readiness.dependencies().values() if each.is_vital and not each.ok]
    return min(away, key=lambda each: each.since, default=None)


async def limit_dependency_outage(
    readiness: Readiness, *, limit_seconds: float, clock: Clock, on_exit: Callable[[ExitCode], None]
) -> None:
    """Request the exit once a dependency has been away for so long."""
    while True:
        await clock.sleep(min(MAX_CHECK_SECONDS, limit_seconds))
        away = longest_away(readiness)
        if away is not None and clock.monotonic() - away.since >= limit_seconds:
            why = away.detail or "does not respond"
            _log.emit(
                log_events.DEPENDENCY_AWAY_TOO_LONG, part=away.name, why=why, limit_seconds=limit_seconds
            )
            on_exit(ExitCode.UNAVAILABLE)
            await asyncio.Event().wait()  # until the shutdown cancels this task
