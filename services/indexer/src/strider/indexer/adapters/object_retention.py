"""Delete objects of old days to which no row refers.

Objects are bodies and texts that were too large for an event. What messages refer to is younger than any of
these days, so the rows of crawled_pages decide. A repeat, or a crash in the middle, changes nothing else.
"""

from __future__ import annotations

from datetime import date, timedelta

from strider.indexer import log_events
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.storage.objects import DeadLetterObjectStore
from strider.storage.postgres import Postgres

from .retention import repeat_passes

_REFERENCED = "SELECT DISTINCT body_object FROM crawled_pages WHERE body_object >= $1 AND body_object < $2"

_log = logger("indexer")


class ObjectRetentionLoop:
    """Deletes objects at intervals, as long as the service runs."""

    def __init__(
        self,
        objects: DeadLetterObjectStore,
        postgres: Postgres,
        *,
        keep_days: int,
        clock: Clock,
        interval_seconds: float,
    ) -> None:
        """Create the loop; 0 days delete nothing."""
        self._objects = objects
        self._postgres = postgres
        self._keep_days = keep_days
        self._clock = clock
        self._interval_seconds = interval_seconds

    async def run(self) -> None:
        """Run passes until cancelled."""
        if self._keep_days:
            await repeat_passes(self.run_once, clock=self._clock, interval_seconds=self._interval_seconds)

    async def run_once(self) -> int:
        """Delete the objects of all old days; return how many. Raises Unavailable."""
        first_kept = (self._clock.now() - timedelta(days=self._keep_days)).date()
        total = 0
        for day in await self._objects.days():
            if day < first_kept:
                total += await self._delete_day(day)
        return total

    async def _delete_day(self, day: date) -> int:
        rows = await self._postgres.fetch(_REFERENCED, f"{day}/", f"{day}0")
        referenced = {row["body_object"] for row in rows}
        deleted = 0
        async for references in self._objects.references_of(day):
            unused = [each for each in references if each not in referenced]
            await self._objects.delete(unused)
            deleted += len(unused)
        if deleted:
            _log.emit(log_events.OLD_DATA_DELETED, day=str(day), objects=deleted, kept=len(referenced))
        return deleted
