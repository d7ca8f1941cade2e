"""Measure jobs at intervals, and delete executions that are too old."""

from __future__ import annotations

from typing import Final

from strider.jobs.ports import JobStore
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.options import JobOptions
from strider.scheduler.ports import JobMeter

from .faults import repeatable

PRUNE_SECONDS: Final = 3_600.0
RETRY_SECONDS: Final = 300.0
"""Wait after a pruning that failed."""

_log = logger("scheduler")


class JobUpkeepLoop:
    """Reads totals of jobs, and prunes executions."""

    def __init__(self, store: JobStore, *, options: JobOptions, meter: JobMeter, clock: Clock) -> None:
        self._store = store
        self._options = options
        self._meter = meter
        self._clock = clock
        self._next_prune_at = clock.monotonic()

    async def run(self) -> None:
        """Run at intervals until cancelled."""
        while True:
            await self.run_once()
            await self._clock.sleep(self._options.metrics_seconds)

    async def run_once(self) -> None:
        """Measure; prune at the start and once an hour. Neither fails with the other."""
        await repeatable(self._measure)
        if self._clock.monotonic() >= self._next_prune_at:
            is_done = await repeatable(self._prune)
            self._next_prune_at = self._clock.monotonic() + (PRUNE_SECONDS if is_done else RETRY_SECONDS)

    async def _measure(self) -> None:
        now_ms = await self._store.now_ms()
        totals = await self._store.metrics(now_ms=now_ms)
        self._meter.set_totals(totals, await self._store.distribution(now_ms=now_ms))

    async def _prune(self) -> None:
        if pruned := await self._store.prune(now_ms=await self._store.now_ms()):
            _log.emit(log_events.EXECUTIONS_PRUNED, count=pruned)
