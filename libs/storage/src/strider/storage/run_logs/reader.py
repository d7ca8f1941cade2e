"""Reading the log of a run, wherever it is: in Redis while it is there, else in the archive."""

from __future__ import annotations

from collections.abc import AsyncIterator

from .archive import RunLogArchive
from .models import BEGINNING, LogEntry, LogFilter, LogPage, LogSummary
from .redis_log import PAGE_LINES, RedisRunLogs


class RunLogReader:
    """Reads logs of runs. Every call may raise Unavailable."""

    def __init__(self, logs: RedisRunLogs, archive: RunLogArchive | None) -> None:
        """Set where logs are; without an archive an old log is not found."""
        self._logs = logs
        self._archive = archive

    async def page(self, run: str, *, after: str = BEGINNING, count: int = PAGE_LINES) -> LogPage | None:
        """Return entries after a position; None where nothing is stored of this run."""
        page = await self._logs.read(run, after=after, count=count)
        if page is not None:
            return page
        return None if self._archive is None else await self._archive.page(run, after=after, count=count)

    async def summary(self, run: str) -> LogSummary | None:
        """Return what is stored of a run; None where that is nothing."""
        summary = await self._logs.summary(run)
        if summary is not None:
            return summary
        return None if self._archive is None else await self._archive.summary(run)

    async def tail(self, run: str, *, count: int) -> list[LogEntry]:
        """Return the last lines, oldest first."""
        entries = await self._logs.tail(run, count=count)
        if entries:
            return entries
        return [] if self._archive is None else await self._archive.tail(run, count=count)

    async def runs_of(self, job_id: str) -> list[str]:
        """Return the last runs of a job that have or had lines, the latest first."""
        return await self._logs.runs_of(job_id)

    async def live_page(self, run: str, *, after: str) -> LogPage | None:
        """Return entries after a position that are in Redis."""
        return await self._logs.read(run, after=after)

    async def last_entry(self, run: str) -> LogEntry | None:
        """Return the last entry in Redis, which may be the end of the log."""
        return await self._logs.last_entry(run)

    async def filtered_page(
        self, run: str, *, after: str, count: int, log_filter: LogFilter
    ) -> LogPage | None:
        """Return the selected lines after a position, up to `count`, and how far the log was read."""
        chosen: list[LogEntry] = []
        while True:
            page = await self.page(run, after=after, count=PAGE_LINES)
            if page is None:
                return None
            for entry in page.entries:
                if not entry.is_end and log_filter.accepts(entry.document()):
                    if len(chosen) == count:
                        return LogPage(chosen, chosen[-1].position, is_last=False, state=page.state)
                    chosen.append(entry)
            if page.is_last:
                return LogPage(chosen, page.position, is_last=True, state=page.state)
            after = page.position

    async def all_lines(self, run: str, log_filter: LogFilter) -> AsyncIterator[LogEntry]:
        """Yield the selected lines, a page at a time; a log that moves to the archive meanwhile is whole."""
        after = BEGINNING
        while (page := await self.page(run, after=after)) is not None:
            for entry in page.entries:
                if not entry.is_end and log_filter.accepts(entry.document()):
                    yield entry
            if page.is_last:
                return
            after = page.position
