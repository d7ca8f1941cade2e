"""Limit releases by the lag of the pipeline's consumer groups.

One loop for all shards. While the lag cannot be read, credits are used up and none are added: unknown lag is
never increased.
"""

from __future__ import annotations

from typing import Final

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.release.backpressure import PipelineBacklog, SpentCredits
from strider.scheduler.ports import BacklogSource, SchedulerMeter

COUNT_SECONDS: Final = 1.0
"""Interval at which backlogs are counted."""

_log = logger("scheduler")


class BackpressureMonitor:
    """Returns how many requests each shard may release, by the last count."""

    def __init__(
        self,
        backlogs: BacklogSource | None,
        *,
        shards: int,
        max_lag: int,
        meter: SchedulerMeter,
        clock: Clock,
    ) -> None:
        """Create the monitor; without backlogs nothing is limited, as in a crawl within one process."""
        self._backlogs = backlogs
        self._shards = shards
        self._max_lag = max_lag
        self._meter = meter
        self._clock = clock
        self._backlog: PipelineBacklog | None = None
        self._is_held = False

    async def run(self) -> None:
        """Count backlogs until cancelled."""
        while self._backlogs is not None:
            began = self._clock.monotonic()
            try:
                self._backlog = PipelineBacklog(await self._backlogs.count_unread(), began)
                self._meter.set_backlog(self._backlog)
                self._log_change(self._backlog)
            except Unavailable as failure:
                _log.emit(log_events.BACKLOG_UNKNOWN, why=str(failure))
            await self._clock.sleep(COUNT_SECONDS)

    def _log_change(self, backlog: PipelineBacklog) -> None:
        """Log once when releases stop, with the slowest group, and when they resume."""
        is_held = 0 < self._max_lag <= backlog.of_pipeline
        if is_held and not self._is_held:
            group, topic, _ = backlog.slowest_gate
            _log.emit(
                log_events.BACKPRESSURE_ON,
                unread=backlog.of_pipeline,
                most=self._max_lag,
                group=group,
                topic=topic,
            )
        elif self._is_held and not is_held:
            _log.emit(log_events.BACKPRESSURE_OFF, unread=backlog.of_pipeline)
        self._is_held = is_held

    def credits_left(self, shard: int, spent: SpentCredits) -> int | None:
        """Return the credits that a shard has left; None where nothing is limited."""
        if self._backlogs is None or not self._max_lag:
            return None
        if self._backlog is None:
            return 0
        allowed = self._backlog.release_credits(shard, shards=self._shards, max_lag=self._max_lag)
        return max(0, allowed - spent.spent_since(self._backlog.counted_from))
