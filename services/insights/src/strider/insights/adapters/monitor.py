"""Monitor Faust from outside: report its lag, and end the process where it is stalled.

The runtime's watchdog knows only the runtime's own loops. The rule is the same: there is work, nothing has
progressed for the threshold, and no dependency outside is the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from strider.insights import log_events
from strider.messaging.errors import InfrastructureError
from strider.messaging.ports import Clock, TopicPartition
from strider.runtime.observability.logging import logger
from strider.runtime.observability.metrics import LAG
from strider.runtime.process.main import ServiceContext

from .application import APPLICATION_NAME

CHECK_INTERVAL_SECONDS: Final = 5.0
RESPONSE_TIMEOUT_SECONDS: Final = 5.0

_log = logger("insights")


class FaustStalled(InfrastructureError):
    """There are messages to read, and Faust makes no progress."""


class MonitoredApplication(Protocol):
    """Port to the monitored application."""

    def waiting_for(self) -> Iterable[str]:
        """Return what is missing before it can count."""

    def remaining_records(self) -> int:
        """Return how many records are to be restored before it can count."""

    async def reread_skipped(self) -> None:
        """Read skipped messages again."""

    async def lag(self, topics: Iterable[str]) -> Mapping[TopicPartition, int]:
        """Return the lag of each partition of these topics."""


class FaustMonitor:
    """Checks the application periodically."""

    def __init__(
        self, application: MonitoredApplication, process: ServiceContext[Any], *, topics: Iterable[str]
    ) -> None:
        self._application = application
        self._topics = tuple(topics)
        self._metrics = process.metrics
        self._clock = process.clock
        self._heartbeat = process.heartbeat
        self._excuses = process.readiness.exempt_reasons
        self._threshold_seconds = process.settings.run.stall_threshold_seconds
        self._reported: set[TopicPartition] = set()

    async def run(self) -> None:
        """Run until cancelled; raises FaustStalled."""
        quiet_since, remaining = self._clock.monotonic(), 0
        while True:
            await self._clock.sleep(CHECK_INTERVAL_SECONDS)
            lag = await self._lag()
            await self._reread_skipped(lag)
            now, remained, remaining = (
                self._clock.monotonic(),
                remaining,
                self._application.remaining_records(),
            )
            has_work = lag is None or any(lag.values()) or any(self._application.waiting_for())
            if not has_work or remaining != remained or self._excuses():
                quiet_since = now
            quiet_seconds = now - max(quiet_since, self._heartbeat.last_activity)
            if quiet_seconds >= self._threshold_seconds:
                waiting = "unknown" if lag is None else sum(lag.values())
                raise FaustStalled(f"nothing was counted for {quiet_seconds:.0f} s; lag: {waiting}")

    async def _reread_skipped(self, lag: Mapping[TopicPartition, int] | None) -> None:
        """Read skipped messages again where there is a lag; a restart is the last resort."""
        if not lag or not any(lag.values()):
            return
        try:
            async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS):
                await self._application.reread_skipped()
        except Exception as failure:  # noqa: BLE001  # its client's errors are many; it is tried again
            _log.emit(log_events.READING_AGAIN_FAILED, why=repr(failure))

    async def _lag(self) -> Mapping[TopicPartition, int] | None:
        """Return the lag and set its metric; None where Faust does not report it."""
        try:
            async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS):
                lag = await self._application.lag(self._topics)
        except Exception as failure:  # noqa: BLE001  # its client's errors are many; each means that it is unknown
            _log.emit(log_events.INSIGHTS_LAG_UNKNOWN, why=repr(failure))
            return None
        for tp in self._reported - lag.keys():
            self._metrics.remove(LAG, APPLICATION_NAME, tp.topic, str(tp.partition))
        for tp, waiting in lag.items():
            self._metrics.set(LAG, APPLICATION_NAME, tp.topic, str(tp.partition), value=waiting)
        self._reported = set(lag)
        return lag


async def run_periodically(work: Callable[[], Awaitable[None]], *, clock: Clock, seconds: float) -> None:
    """Run work periodically until cancelled."""
    while True:
        await clock.sleep(seconds)
        await work()
