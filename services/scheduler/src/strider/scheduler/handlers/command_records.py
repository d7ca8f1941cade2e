"""Record commands, used-up budgets and ended runs on job-commands; delete old ones.

Commands of earlier versions, claims to budgets, and ends of runs are on job-events, which retention deletes.
What follows from them is recorded here before that. Every scheduler may record a used-up budget, as it cannot
be undone; commands of earlier versions are recorded by the owner of shard 0 alone, so that none of two
schedulers repeats an old one behind a new one. The same owner records ended runs, and deletes what has ended.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_COMMANDS, LINKS_DISCOVERED
from strider.crawl.runs.control import RunControl
from strider.messaging.effects import Publish, PublishRaw
from strider.messaging.errors import Unavailable
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler import log_events
from strider.scheduler.core.runs.commands import CommandTable
from strider.scheduler.core.runs.ending_runs import EndingRuns
from strider.scheduler.ports import OpenRunsSource

RECORDING_SHARD = 0
"""Shard whose owner records commands of earlier versions, and deletes what has ended."""

RAW_RUNS_KEPT_MS: Final = int(LINKS_DISCOVERED.config["retention.ms"]) + 86_400_000
"""How long the end of a raw run is kept: a day longer than its links can be read."""

_log = logger("scheduler")


class CommandRecords:
    """Writes job-commands."""

    def __init__(
        self,
        run_control: RunControl,
        *,
        publisher: EventPublisher,
        open_runs: OpenRunsSource | None,
        ending_runs: EndingRuns,
        keep_seconds: float,
    ) -> None:
        """Create the writer; without a source of open runs nothing is deleted."""
        self._ending_runs = ending_runs
        self.table = CommandTable()
        self._run_control = run_control
        self._publisher = publisher
        self._open_runs = open_runs
        self._keep_ms = round(keep_seconds * 1000)

    async def record_facts(self) -> None:
        """Record used-up budgets; what fails is repeated with the next call."""
        await self._record(
            [event for event in self.table.unrecorded if event.what == JobEventKind.BUDGET_USED_UP]
        )

    async def record_all(self) -> None:
        """Record ended runs and commands of earlier versions as well; only by the recording shard's owner."""
        await self._record(self.table.unrecorded)

    async def delete_ended(self, now_ms: int) -> int:
        """Delete commands that have ended; return how many. Only by the owner of the recording shard."""
        await self.record_all()
        open_runs = None if self._open_runs is None else await self._open_runs.read_open_runs()
        if open_runs is None:
            return 0
        keys = self.table.ended_keys(
            before_ms=now_ms - self._keep_ms,
            raw_before_ms=now_ms - RAW_RUNS_KEPT_MS,
            open_runs=open_runs,
            held_runs=[*self._run_control.paused_runs, *self._ending_runs.names()],
        )
        await self._publisher.publish([PublishRaw(JOB_COMMANDS, key.encode(), None) for key in keys])
        return len(keys)

    async def _record(self, events: list[JobEvent]) -> None:
        try:
            await self._publisher.publish([Publish(JOB_COMMANDS, event) for event in events])
        except Unavailable as failure:
            _log.emit(log_events.JOB_EVENTS_PAUSED, unrecorded=len(events), why=str(failure))
