"""Heartbeat of a fetcher every 30 seconds: its status, current URL and counts.

An unavailable store is reported elsewhere, and stops no heartbeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.storage.worker_heartbeats import RedisWorkerHeartbeats, WorkerHeartbeat

from .metrics import FetchMetrics

HEARTBEAT_SECONDS: Final = 30.0
RATE_UPDATE_SECONDS: Final = 5.0
MAX_URL_CHARACTERS: Final = 2048


class FetcherHeartbeat:
    """Publishes the heartbeat of a process."""

    def __init__(
        self,
        workers: RedisWorkerHeartbeats,
        metrics: FetchMetrics,
        *,
        worker_id: str,
        clock: Clock,
        pause_reasons: Callable[[], Iterable[str]],
    ) -> None:
        """`pause_reasons` returns why nothing is consumed now."""
        self._workers = workers
        self._metrics = metrics
        self._worker_id = worker_id
        self._clock = clock
        self._pause_reasons = pause_reasons
        self._started_at = clock.now().timestamp()
        self._is_stopping = False

    async def run(self) -> None:
        """Publish regularly and update the rates, until cancelled."""
        next_at = self._clock.monotonic()
        while True:
            self._metrics.update_rates()
            if self._clock.monotonic() >= next_at:
                next_at += HEARTBEAT_SECONDS
                await self.publish()
            await self._clock.sleep(RATE_UPDATE_SECONDS)

    def stop(self) -> None:
        """Publish the status `stopping` from now on."""
        self._is_stopping = True

    async def publish(self) -> None:
        """Publish once, if the store is available."""
        counts, total = self._metrics.unreported_counts()
        try:
            await self._workers.record(self._current(), counts)
        except Unavailable:
            return
        self._metrics.mark_reported(total)

    async def close(self) -> None:
        """Publish the last counts, and remove this process from the active ones."""
        await self.publish()
        try:
            await self._workers.remove(self._worker_id)
        except Unavailable:
            return

    def _current(self) -> WorkerHeartbeat:
        metrics, reason = self._metrics, "; ".join(self._pause_reasons())
        status = "working" if metrics.in_flight else "idle"
        if reason:
            status = "paused"
        return WorkerHeartbeat(
            self._worker_id,
            self._clock.now().timestamp(),
            "stopping" if self._is_stopping else status,
            metrics.current_url[:MAX_URL_CHARACTERS],
            metrics.in_flight,
            self._started_at,
            reason,
        )
