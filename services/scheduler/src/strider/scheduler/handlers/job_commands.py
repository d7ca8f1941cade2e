"""Handle job-commands and job-events: apply commands to every owned shard.

Reads both topics to their ends before the first shard is taken over, so that no restart releases what was
paused, and follows them from there. Commands are on job-commands, which keeps them as long as they are in
force; those of earlier versions, claims to budgets, and counts of runs that are to end are on job-events. A
manual block of a host is written to the shard's log as well; the state of a run is looked up when one of its
entries is due, and a sweep applies it to entries that would wait for long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.contracts.partitioning import shard_of_host
from strider.crawl.runs.control import RunControl
from strider.crawl.topic_follower import TopicFollower
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.politeness.retry_policy import RandomSource
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.budgets.ledger import BudgetKey
from strider.scheduler.core.budgets.reservations import RunBudgets
from strider.scheduler.core.jobs.ended_runs import EndedRuns
from strider.scheduler.core.runs.commands import exhausted_budget_event
from strider.scheduler.core.runs.ending_runs import EndingRuns
from strider.scheduler.ports import JobFeeds
from strider.scheduler.shard.shard import OwnedShard

from .command_records import RECORDING_SHARD, CommandRecords

_UNSWEPT_KINDS: Final = frozenset({JobEventKind.CLOSE, JobEventKind.RUN_COMPLETED})
"""Changes of a run that no entry waits for: a closed run continues, one that has ended has none open."""
ALL_SHARDS: Final = -1
"""In place of a shard's number."""

_log = logger("scheduler")


class JobCommandsHandler:
    """Applies commands, and notifies owned shards."""

    def __init__(
        self,
        feeds: JobFeeds,
        run_control: RunControl,
        budgets: RunBudgets,
        records: CommandRecords,
        ending_runs: EndingRuns,
        *,
        ended_runs: EndedRuns,
        shards: int,
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        self._run_control = run_control
        self._ledger = budgets.ledger
        self._shards = shards
        self._records = records
        self._ending_runs = ending_runs
        self._ended_runs = ended_runs
        self._clock = clock
        self._event_follower = TopicFollower(
            feeds.events,
            self._apply_events,
            paused_event=log_events.JOB_EVENTS_PAUSED,
            clock=clock,
            chance=chance,
        )
        self._command_follower = TopicFollower(
            feeds.commands,
            self._apply_records,
            paused_event=log_events.JOB_EVENTS_PAUSED,
            clock=clock,
            chance=chance,
        )
        self._owned: dict[int, OwnedShard] = {}

    async def catch_up(self) -> None:
        """Apply all commands published up to now; raises Unavailable."""
        await self._event_follower.catch_up()
        await self._command_follower.catch_up()

    async def add_shard(self, shard: OwnedShard) -> None:
        """Apply all blocks to a shard that was just taken over, and notify it from now on."""
        self._owned[shard.number] = shard
        shard.sweep_requests.for_queues = True
        if shard.number == RECORDING_SHARD:
            await self._records.record_all()
        await self._block_groups(
            shard, [name for name in self._run_control.manual_blocks if self._shard_of(name) == shard.number]
        )

    def remove_shard(self, number: int) -> None:
        """Notify a shard no longer."""
        self._owned.pop(number, None)

    async def run(self) -> None:
        """Follow both topics."""
        async with asyncio.TaskGroup() as together:
            together.create_task(self._event_follower.run(), name="follow job-events")
            together.create_task(self._command_follower.run(), name="follow job-commands")

    async def _apply_records(self, records: Sequence[tuple[str, JobEvent | None]]) -> None:
        """Apply records of job-commands: of each key the last one."""
        latest: dict[str, JobEvent | None] = {}
        for key, event in records:
            latest.pop(key, None)
            latest[key] = event
        for key, event in latest.items():
            deleted = self._records.table.apply(key, event)
            if deleted is not None:
                self._run_control.forget(deleted)
                self._ending_runs.forget(deleted)
        await self._apply([event for event in latest.values() if event is not None])

    async def _apply_events(self, events: Sequence[JobEvent]) -> None:
        """Apply job-events: claims to budgets, ends of runs, and commands of earlier versions."""
        for event in events:
            if event.is_wish or event.what == JobEventKind.RUN_COMPLETED:
                self._records.table.note_unrecorded(event)
        await self._apply(events)
        await self._records.record_facts()

    async def _apply(self, events: Sequence[JobEvent]) -> None:
        parts = {
            BudgetKey(event.execution_id, event.crawl_spec_id)
            for event in events
            if self._ledger.apply(event)
        }
        for shard in self._owned.values() if parts else ():
            shard.wake.set()
        spent = [key for key in parts if self._mark_exhausted(key)]
        changed = [event for event in events if self._run_control.apply(event)]
        for event in events:
            self._ending_runs.apply(event)
            self._ended_runs.apply(event)
        for event in changed:
            if not event.is_wish:
                continue
            about = {"job": event.job_id, "run": event.execution_id, "group": event.group}
            _log.emit(log_events.JOB_COMMAND_RECEIVED, what=event.what, by=event.by, **about)
        groups = {event.group for event in changed if event.group}
        swept = {event.shard for event in changed if not event.group and event.what not in _UNSWEPT_KINDS}
        for shard in list(self._owned.values()):
            if spent or swept & {shard.number, ALL_SHARDS}:
                shard.sweep_requests.for_queues = True
                shard.wake.set()
            await self._block_groups(shard, [name for name in groups if self._shard_of(name) == shard.number])

    def _mark_exhausted(self, key: BudgetKey) -> bool:
        measure = self._ledger.exhausted_measure(key)
        is_new = bool(measure) and self._run_control.mark_budget_exhausted(*key, measure)
        if is_new:
            run, crawl_spec = key
            _log.emit(log_events.BUDGET_EXHAUSTED, run=run, crawl_spec=crawl_spec, of=measure)
            now_ms = round(self._clock.now().timestamp() * 1000)
            self._records.table.note_unrecorded(
                exhausted_budget_event(run, crawl_spec, measure, now_ms=now_ms)
            )
        return is_new

    async def _block_groups(self, shard: OwnedShard, names: Iterable[str]) -> None:
        """Block or unblock host groups of a shard: in memory, log and working set."""
        groups = list(names)
        if not groups:
            return
        for name in groups:
            shard.host_groups.put(
                replace(shard.host_groups.get(name), manual_block=self._run_control.manual_blocks[name])
            )
        try:
            await shard.write_log([], groups=groups)
            await shard.sync_host_groups(groups)
        except (Unavailable, ShardFenced) as failure:
            # The block is in memory, so releases respect it; the record follows with the group's next change.
            _log.emit(
                log_events.MANUAL_HOST_BLOCK_NOT_PERSISTED_YET,
                shard=shard.number,
                groups=len(groups),
                why=str(failure),
            )
        shard.wake.set()

    def _shard_of(self, group: str) -> int:
        return shard_of_host(group, self._shards)
