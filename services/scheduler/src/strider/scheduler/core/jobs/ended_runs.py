"""Runs of jobs that have ended, as far as their executions may still have to be finished.

Ends are in the table of commands, for months and without their start pages; the hashes of start pages are
kept here until the execution is finished, or an hour longer than it is known to run. Knows no store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.scheduler.core.runs.ending_runs import start_pages_of
from strider.scheduler.core.runs.start_pages import NO_START_PAGES, StartPages

from .results import is_job_run

MAX_LISTED_PAGES: Final = 200_000
"""Start pages that are kept at most, about 60 MB; of the oldest runs the hashes count as unknown."""

UNLISTED_MS: Final = 3_600_000
"""How long the pages of a run are kept that is not known to run: it may not be marked as launched yet."""


class _KeptRun(NamedTuple):
    ended_at_ms: int
    pages: StartPages


class EndedRuns:
    """Ends of runs, for the executions of jobs."""

    def __init__(self, find_end: Callable[[str], JobEvent | None]) -> None:
        """`find_end` returns the event by which a run has ended."""
        self._find_end = find_end
        self._kept: OrderedDict[str, _KeptRun] = OrderedDict()
        self._pages = 0
        self.applied = 0
        """Ends of runs that were applied so far."""

    def apply(self, event: JobEvent) -> None:
        """Apply an event; what is not the end of a job's run changes nothing."""
        if event.is_wish or event.what != JobEventKind.RUN_COMPLETED or not is_job_run(event):
            return
        self.applied += 1
        pages = start_pages_of(event)
        if pages.listed and event.execution_id not in self._kept:
            self._kept[event.execution_id] = _KeptRun(event.at_ms, pages)
            self._pages += len(pages.listed)
        while self._pages > MAX_LISTED_PAGES:
            _, dropped = self._kept.popitem(last=False)
            self._pages -= len(dropped.pages.listed)

    def end_of(self, execution_id: str) -> JobEvent | None:
        """Return the event by which a run has ended; None where it has not."""
        return self._find_end(execution_id)

    def start_pages_of(self, execution_id: str) -> StartPages:
        """Return the start pages of an ended run, as far as they are known."""
        kept = self._kept.get(execution_id)
        return NO_START_PAGES if kept is None else kept.pages

    def keep(self, running: AbstractSet[str], *, before_ms: int) -> None:
        """Forget the pages of runs that ended long before this time, and are not among the running ones."""
        oldest_ms = before_ms - UNLISTED_MS
        done = [
            run for run, kept in self._kept.items() if kept.ended_at_ms < oldest_ms and run not in running
        ]
        for run in done:
            self._pages -= len(self._kept.pop(run).pages.listed)
