"""Backlogs of the ring's services -> credits of each shard in hand.

One loop for all shards. Where nobody can say how the ring is, credits are used up and none come: what
cannot be measured is not piled up further.
"""

from __future__ import annotations

from typing import Final

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler.core.release.backpressure import PipelineBacklog, SpentCredits
from strider.scheduler.ports import BacklogSource, Meter

COUNT_SECONDS: Final = 1.0
"""How often the backlogs are counted."""

_log = logger("scheduler")


class BackpressureMonitor:
    """Says how much each shard may release, by the last count."""

    def __init__(
        self, backlogs: BacklogSource | None, *, shards: int, max_lag: int, meter: Meter, clock: Clock
    ) -> None:
        """Make a gate; without backlogs it is always open: who has only one process has its bounds there."""
        self._backlogs = backlogs
        self._shards = shards
        self._most = max_lag
        self._meter = meter
        self._clock = clock
        self._backlog: PipelineBacklog | None = None
        self._is_held = False

    async def run(self) -> None:
        """Count again and again. Runs for ever."""
        while self._backlogs is not None:
            began = self._clock.monotonic()
            try:
                self._backlog = PipelineBacklog(await self._backlogs.count_unread(), began)
                self._meter.set_backlog(self._backlog)
                self._tell(self._backlog)
            except Unavailable as failure:
                _log.warning("Backlog Unknown", why=str(failure))
            await self._clock.sleep(COUNT_SECONDS)

    def _tell(self, backlog: PipelineBacklog) -> None:
        """Say once that nothing is released, and because of whom; and that it goes on."""
        is_held = 0 < self._most <= backlog.of_pipeline
        if is_held and not self._is_held:
            group, topic, _ = backlog.slowest_gate
            _log.warning(
                "Release Held", unread=backlog.of_pipeline, most=self._most, group=group, topic=topic
            )
        elif self._is_held and not is_held:
            _log.info("Release Goes On", unread=backlog.of_pipeline)
        self._is_held = is_held

    def credits_left(self, shard: int, spent: SpentCredits) -> int | None:
        """Give the credits that a shard has left; None where there is no gate."""
        if self._backlogs is None or not self._most:
            return None
        if self._backlog is None:
            return 0
        allowed = self._backlog.release_credits(shard, shards=self._shards, max_lag=self._most)
        return max(0, allowed - spent.spent_since(self._backlog.counted_from))
