"""Run log: events of runs, aggregated into few lines.

Recording costs an addition; a line for each run and event is written every few seconds, with its counts by
kind. The lines have the job's id, so they go to the job's log (`job_logs`).
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final, TypeAlias

from strider.crawl import log_events
from strider.messaging.log_events import EventLogger, LogEvent
from strider.messaging.ports import Clock

FLUSH_SECONDS: Final = 5.0
"""How often lines are written: a reader who follows a run waits no longer."""
MAX_PENDING_EVENTS: Final = 2_000
"""Pairs of run and event that are gathered at a time; further ones are counted as dropped."""
MAX_KINDS: Final = 20
"""Of one line; the rarer ones are `other`."""
MAX_KNOWN_RUNS: Final = 10_000


NoteRunEvent: TypeAlias = Callable[[LogEvent, str, str, str, int], None]
"""Counts an event of a run: event, job, run, kind, count. `RunLog.record` is one."""


def discard_note(event: LogEvent, job_id: str, execution_id: str, kind: str, count: int) -> None:
    """Discard an event, in processes without run logs."""


class RunLog:
    """Counts events of runs, and writes them as lines."""

    def __init__(self, log: EventLogger, *, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._pending: dict[tuple[LogEvent, str, str], Counter[str]] = {}
        self._known_runs: OrderedDict[str, None] = OrderedDict()
        self._dropped = 0

    def record(self, event: LogEvent, job_id: str, execution_id: str, kind: str = "", count: int = 1) -> None:
        """Count that something happened to a run, so many times, of this kind."""
        if not job_id or not count:
            return
        name = (event, job_id, execution_id)
        kinds = self._pending.get(name)
        if kinds is None:
            if len(self._pending) >= MAX_PENDING_EVENTS:
                self._dropped += count
                return
            kinds = self._pending[name] = Counter()
        if kind not in kinds and len(kinds) >= MAX_KINDS:
            kind = "other"
        kinds[kind] += count

    def flush(self) -> list[tuple[str, str]]:
        """Write a line for each run and event; return the runs, as (job, run)."""
        noted, self._pending = self._pending, {}
        for (event, job_id, execution_id), kinds in noted.items():
            by_kind = {"by_kind": dict(kinds.most_common())} if any(kinds) else {}
            first = {"first_here": True} if self._is_new(execution_id) else {}
            run = {"job_id": job_id, "execution_id": execution_id}
            self._log.emit(event, **run, count=kinds.total(), **by_kind, **first)
        if self._dropped:
            self._log.emit(log_events.RUN_EVENTS_DROPPED, count=self._dropped, most=MAX_PENDING_EVENTS)
            self._dropped = 0
        return list(dict.fromkeys(name[1:] for name in noted))

    async def run(self) -> None:
        """Flush again and again, until cancelled; then flush the rest at once."""
        try:
            while True:
                await self._clock.sleep(FLUSH_SECONDS)
                self.flush()
        finally:
            self.flush()

    def _is_new(self, execution_id: str) -> bool:
        if execution_id in self._known_runs:
            self._known_runs.move_to_end(execution_id)
            return False
        self._known_runs[execution_id] = None
        if len(self._known_runs) > MAX_KNOWN_RUNS:
            self._known_runs.popitem(last=False)
        return True
