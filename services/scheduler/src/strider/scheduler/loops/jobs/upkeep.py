"""Measure jobs at intervals, and delete executions that are too old."""

from __future__ import annotations

from typing import Final

from strider.jobs.ports import JobStore
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.options import JobOptions
from strider.scheduler.ports import JobMeter
from strider.storage.errors import StoreRejected

PRUNE_SECONDS: Final = 3_600.0

_log = logger("scheduler")


class JobUpkeepLoop:
    """Reads totals of jobs, and prunes executions."""

    def __init__(self, store: JobStore, *, options: JobOptions, meter: JobMeter, clock: Clock) -> None:
        self._store = store
        self._options = options
        self._meter = meter
        self._clock = clock
        self._next_prune_at = clock.monotonic() + PRUNE_SECONDS

    async def run(self) -> None:
        """Run at intervals until cancelled."""
        while True:
            try:
                await self.run_once()
            except (Unavailable, StoreRejected) as failure:
                _log.emit(log_events.JOBS_PAUSED, why=str(failure))
            await self._clock.sleep(self._options.metrics_seconds)

    async def run_once(self) -> None:
        """Set the metrics; prune once an hour."""
        now_ms = await self._store.now_ms()
        totals = await self._store.metrics(now_ms=now_ms)
        self._meter.set_totals(totals, await self._store.distribution(now_ms=now_ms))
        if self._clock.monotonic() >= self._next_prune_at:
            self._next_prune_at = self._clock.monotonic() + PRUNE_SECONDS
            if pruned := await self._store.prune(now_ms=now_ms):
                _log.emit(log_events.EXECUTIONS_PRUNED, count=pruned)
