"""Archive the logs of ended runs, and delete archives that are too old.

The owner of the shard that proved the end of a run archives its log: it alone, and the next owner of that
shard knows of the end from the log of job events. A log stays in the index of open logs until its end is
written, which comes last, so a killed owner leaves nothing undone. The lines of all services have seconds
to arrive; one that comes later opens the log again, and is added to the archive.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.loops.duty_cycle import repeat_at_intervals
from strider.storage.errors import ObjectCorrupt, StoreFailure
from strider.storage.run_logs.archive import RunLogArchive
from strider.storage.run_logs.models import BEGINNING, LogEntry
from strider.storage.run_logs.redis_log import RedisRunLogs

INTERVAL_SECONDS: Final = 2.0

SETTLE_SECONDS: Final = 8.0
"""How long a log has no new line before it is closed: longer than any service collects lines."""

MAX_QUIET_RUNS: Final = 5_000
"""Open logs that one pass looks at; those of runs that are under way and quiet are among them."""

RETENTION_SECONDS: Final = 6 * 3600.0

_log = logger("scheduler")


class RunLogArchiveLoop:
    """Closes and archives logs, as long as the service runs."""

    def __init__(
        self,
        logs: RedisRunLogs,
        archive: RunLogArchive | None,
        *,
        has_ended: Callable[[str], bool],
        clock: Clock,
        keep_days: int,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        """Set the stores; `has_ended` returns whether a run has ended and its log is to be archived here.

        Without an archive, ended logs stay in Redis for as long as others; 0 days delete no archive.
        """
        self._logs = logs
        self._archive = archive
        self._has_ended = has_ended
        self._clock = clock
        self._keep_days = keep_days
        self._settle_seconds = settle_seconds
        self._skip = 0
        self._next_retention = 0.0

    async def run(self) -> None:
        """Run at intervals until cancelled."""
        await repeat_at_intervals(
            self._run_pass,
            clock=self._clock,
            interval_seconds=INTERVAL_SECONDS,
            paused_event=log_events.RUN_LOG_ARCHIVING_PAUSED,
            survived=(Unavailable, StoreFailure),
        )

    async def _run_pass(self) -> None:
        await self.run_once()
        await self._delete_old()

    async def run_once(self) -> int:
        """Archive the logs that are due among the next quiet ones; return how many."""
        quiet = await self._logs.quiet_runs(
            quiet_seconds=self._settle_seconds, skip=self._skip, count=MAX_QUIET_RUNS
        )
        closed = 0
        for run in quiet:
            if self._has_ended(run):
                closed += await self._close_or_leave(run)
        is_last = len(quiet) < MAX_QUIET_RUNS
        self._skip = 0 if is_last else self._skip + len(quiet) - closed
        return closed

    async def _close_or_leave(self, run: str) -> bool:
        """Archive a log; one that a store refuses is left for later, and holds no other up."""
        try:
            return await self._close(run)
        except StoreFailure as failure:
            _log.emit(log_events.RUN_LOG_REFUSED, run=run, why=str(failure))
            return False

    async def _close(self, run: str) -> bool:
        """Archive a log and write its end; False where a line has come meanwhile."""
        entries = await self._entries(run)
        now, lines = self._clock.now().isoformat(), [each for each in entries if not each.is_end]
        job_id = lines[-1].line.job_id if lines else ""
        if self._archive is not None and lines:
            try:
                await self._archive.add(job_id, run, lines, archived_at=now)
            except ObjectCorrupt as failure:
                _log.emit(log_events.RUN_LOG_ARCHIVE_UNREADABLE, run=run, why=str(failure))
                await self._archive.replace(job_id, run, lines, archived_at=now)
        return await self._logs.close(
            run,
            after=entries[-1].position if entries else BEGINNING,
            job_id=job_id,
            ts=now,
            is_archived=self._archive is not None,
        )

    async def _entries(self, run: str) -> list[LogEntry]:
        entries: list[LogEntry] = []
        after = BEGINNING
        while (page := await self._logs.read(run, after=after)) is not None:
            entries += page.entries
            if page.is_last:
                break
            after = page.position
        return entries

    async def _delete_old(self) -> None:
        if self._archive is None or not self._keep_days or self._clock.monotonic() < self._next_retention:
            return
        self._next_retention = self._clock.monotonic() + RETENTION_SECONDS
        deleted = await self._archive.delete_older(self._clock.now() - timedelta(days=self._keep_days))
        if deleted:
            _log.emit(log_events.OLD_RUN_LOGS_DELETED, archives=deleted, keep_days=self._keep_days)
