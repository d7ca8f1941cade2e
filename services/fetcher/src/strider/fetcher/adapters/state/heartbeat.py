"""A sign of life every 30 seconds: that this fetcher is there, what it does, and how much it has done.

It is for people. A store that does not answer is told elsewhere, and stops no heart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.storage.worker_heartbeats import RedisWorkerHeartbeats, WorkerHeartbeat

from .metrics import Tally

BEAT_SECONDS: Final = 30.0
SHOW_SECONDS: Final = 5.0
MAX_URL_CHARACTERS: Final = 2048


class FetcherHeartbeat:
    """Tells that a process works."""

    def __init__(
        self,
        workers: RedisWorkerHeartbeats,
        metrics: Tally,
        *,
        worker_id: str,
        clock: Clock,
        pause_reasons: Callable[[], Iterable[str]],
    ) -> None:
        """`paused` gives the reasons for which nothing is consumed now."""
        self._workers = workers
        self._tally = metrics
        self._worker_id = worker_id
        self._clock = clock
        self._paused = pause_reasons
        self._started_at = clock.now().timestamp()
        self._is_stopping = False

    async def run(self) -> None:
        """Beat, for ever."""
        next_at = self._clock.monotonic()
        while True:
            self._tally.update_rates()
            if self._clock.monotonic() >= next_at:
                next_at += BEAT_SECONDS
                await self.beat()
            await self._clock.sleep(SHOW_SECONDS)

    def stop(self) -> None:
        """Say from now on that the process ends."""
        self._is_stopping = True

    async def beat(self) -> None:
        """Tell once, if it can be told now."""
        news, total = self._tally.unreported_counts()
        try:
            await self._workers.record(self._now(), news)
        except Unavailable:
            return
        self._tally.mark_reported(total)

    async def close(self) -> None:
        """Tell what was done, and be gone."""
        await self.beat()
        try:
            await self._workers.remove(self._worker_id)
        except Unavailable:
            return

    def _now(self) -> WorkerHeartbeat:
        tally, why = self._tally, "; ".join(self._paused())
        status = "working" if tally.in_flight else "idle"
        if why:
            status = "paused"
        return WorkerHeartbeat(
            self._worker_id,
            self._clock.now().timestamp(),
            "stopping" if self._is_stopping else status,
            tally.current_url[:MAX_URL_CHARACTERS],
            tally.in_flight,
            self._started_at,
            why,
        )
