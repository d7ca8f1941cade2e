"""Finish the executions whose runs have ended, and cancel the runs of cancelled jobs.

Every scheduler knows from the log which runs have ended. At intervals, and soon after a run has ended, the
executions that PostgreSQL has as running are compared with that: so an outage of either only delays the state
of a job. The owner of the source's shard finishes an execution, because it decides the adaptive interval: the
state of the source is committed first, and knows its last run, so that a repeat decides the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.events import AdaptiveRecorded, JobEvent, SourceSaved
from strider.contracts.generated.topics import JOB_COMMANDS
from strider.contracts.partitioning import key_partition
from strider.crawl.runs.control import RunControl, RunState
from strider.jobs.lifecycle import own_interval_seconds
from strider.jobs.models import Job, JobExecution
from strider.jobs.ports import JobStore
from strider.jobs.states import ExecutionState
from strider.messaging.effects import Publish
from strider.messaging.errors import ShardFenced
from strider.messaging.ports import Clock, epoch_ms
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler import log_events
from strider.scheduler.core.jobs.adaptive import compare_run, interval_of_state
from strider.scheduler.core.jobs.ended_runs import EndedRuns
from strider.scheduler.core.jobs.launch import cancel_command
from strider.scheduler.core.jobs.results import (
    compared_run,
    outcome_of_run,
    result_of_run,
)
from strider.scheduler.loops.duty_cycle import DUTY_CYCLE_DIVISOR
from strider.scheduler.options import JobOptions
from strider.scheduler.ports import JobMeter
from strider.scheduler.shard.shard import OwnedShard

from .adaptive_states import AdaptiveStates
from .faults import REFUSALS, log_refusal, repeatable
from .unclosed_runs import UnclosedRunCheck

WAKE_SECONDS: Final = 1.0
PAGE_EXECUTIONS: Final = 1_000
CONCURRENT_SOURCES: Final = 8
FORGET_SECONDS: Final = 3_600.0
"""Interval at which states of sources are looked through for those to be deleted."""

_log = logger("scheduler")


@dataclass(frozen=True, slots=True)
class EndedExecution:
    """An execution whose run has ended."""

    execution: JobExecution
    end: JobEvent
    job: Job


class JobCompletionLoop:
    """Finishes executions."""

    def __init__(
        self,
        store: JobStore,
        *,
        ended_runs: EndedRuns,
        run_control: RunControl,
        states: AdaptiveStates,
        find_source: Callable[[str], SourceSaved | None],
        catch_up: Callable[[], Awaitable[None]],
        catch_up_sources: Callable[[], Awaitable[None]],
        owned_shards: Callable[[], Sequence[OwnedShard]],
        shards: int,
        unclosed: UnclosedRunCheck,
        publisher: EventPublisher,
        options: JobOptions,
        meter: JobMeter,
        clock: Clock,
    ) -> None:
        """Create the loop; `catch_up` applies all job events up to now, `catch_up_sources` all sources."""
        self._store = store
        self._ended_runs = ended_runs
        self._run_control = run_control
        self._states = states
        self._find_source = find_source
        self._catch_up = catch_up
        self._catch_up_sources = catch_up_sources
        self._owned_shards = owned_shards
        self._shards = shards
        self._unclosed = unclosed
        self._publisher = publisher
        self._options = options
        self._meter = meter
        self._clock = clock
        self._has_launched = True
        self._last_pass_at = float("-inf")
        self._applied_ends = -1
        self._next_forgetting_at = clock.monotonic() + FORGET_SECONDS

    def note_launched(self) -> None:
        """Note that runs were launched: one of them may have ended before it was marked."""
        self._has_launched = True

    async def run(self) -> None:
        """Run until cancelled."""
        wait_seconds = WAKE_SECONDS
        longest_seconds = self._options.reconcile_seconds
        while True:
            await self._clock.sleep(wait_seconds)
            began = self._clock.monotonic()
            if self._is_due() and not await repeatable(self.run_once):
                self._has_launched = True  # repeated soon
                wait_seconds = self._options.reconcile_seconds
                continue
            took_seconds = self._clock.monotonic() - began
            wait_seconds = max(WAKE_SECONDS, min(longest_seconds, took_seconds * (DUTY_CYCLE_DIVISOR - 1)))

    def _is_due(self) -> bool:
        is_late = self._clock.monotonic() - self._last_pass_at >= self._options.reconcile_seconds
        return is_late or self._has_launched or self._ended_runs.applied != self._applied_ends

    async def run_once(self) -> None:
        """Compare all running executions with the runs that have ended."""
        self._last_pass_at = self._clock.monotonic()
        self._has_launched, self._applied_ends = False, self._ended_runs.applied
        began_ms = epoch_ms(self._clock)
        running: set[str] = set()
        overdue: list[JobExecution] = []
        owned = {shard.number for shard in self._owned_shards()}
        after = ""
        while page := await self._store.running(after=after, limit=PAGE_EXECUTIONS):
            running.update(each.execution_id for each in page)
            await self._cancel_runs(page)
            await self._finish_ended(page)
            now_ms = await self._store.now_ms()
            overdue += self._unclosed.overdue(page, owned=owned, now_ms=now_ms)
            after = page[-1].execution_id
        self._ended_runs.keep(running, before_ms=began_ms)
        await self._unclosed.run_once(overdue)
        await self._states.restore_copies(self._owned_shards())
        if self._clock.monotonic() >= self._next_forgetting_at:
            await self._forget_states()
            self._next_forgetting_at = self._clock.monotonic() + FORGET_SECONDS

    async def _forget_states(self) -> None:
        """Delete the states of sources that are not there any more, or were not compared for long."""
        await self._catch_up_sources()  # a source that was just saved exists
        now_ms = epoch_ms(self._clock)
        for shard in self._owned_shards():
            with suppress(ShardFenced):  # its new owner does the same
                await self._states.forget(shard, exists=self._exists, now_ms=now_ms)

    def _exists(self, source_id: str) -> bool:
        return self._find_source(source_id) is not None

    async def _cancel_runs(self, page: Iterable[JobExecution]) -> None:
        """Cancel the runs of cancelled jobs, where that was not done."""
        now_ms = epoch_ms(self._clock)
        cancels = [
            cancel_command(each, reason="the job was cancelled", at_ms=now_ms)
            for each in page
            if each.cancel_requested_at_ms is not None
            and not self._run_control.is_completed(each.execution_id)
            and self._run_control.directive_for("", each.execution_id).state is not RunState.CANCELLED
        ]
        await self._publisher.publish([Publish(JOB_COMMANDS, event) for event in cancels])

    async def _finish_ended(self, page: Iterable[JobExecution]) -> None:
        """Finish ended executions of owned sources: those of one source one after the other."""
        ended_runs = [
            (execution, end)
            for execution in page
            if (end := self._ended_runs.end_of(execution.execution_id)) is not None
        ]
        if not ended_runs:
            return
        await self._catch_up()  # an end may be known before its start pages: they are in two topics
        by_source: dict[str, list[EndedExecution]] = {}
        for execution, end in ended_runs:
            job = await self._store.get(execution.job_id)
            if job is None:
                continue
            by_source.setdefault(job.source_id or job.job_id, []).append(EndedExecution(execution, end, job))
        owned = {shard.number: shard for shard in self._owned_shards()}
        own = [
            (owned[number], ended)
            for source, ended in by_source.items()
            if (number := key_partition(source.encode(), self._shards)) in owned
        ]
        for first in range(0, len(own), CONCURRENT_SOURCES):
            part = own[first : first + CONCURRENT_SOURCES]
            work = (self._finish_all(shard, ended) for shard, ended in part)
            for failure in await asyncio.gather(*work, return_exceptions=True):
                if failure is not None:  # raised once none of them is under way any more
                    raise failure

    async def _finish_all(self, shard: OwnedShard, ended: Sequence[EndedExecution]) -> None:
        for each in sorted(ended, key=lambda one: one.end.at_ms):
            job_id, execution_id = each.job.job_id, each.execution.execution_id
            try:
                state = await self._adapt(shard, each)
            except ShardFenced:
                return  # the shard has a newer owner, which finishes them
            except REFUSALS as failure:
                log_refusal(failure, job_id=job_id, execution_id=execution_id)
                state = None
            try:
                await self._finish(each, state)
            except REFUSALS as failure:
                log_refusal(failure, job_id=job_id, execution_id=execution_id)

    async def _finish(self, ended: EndedExecution, state: AdaptiveRecorded | None) -> None:
        job, execution, end = ended.job, ended.execution, ended.end
        own = own_interval_seconds(job)
        interval = None if state is None or own is None else interval_of_state(state, baseline_seconds=own)
        result = result_of_run(end, next_interval_seconds=interval)
        await self._store.finish(execution.execution_id, result, now_ms=await self._store.now_ms())
        self._meter.count_finished(result.outcome)
        names = {"job": job.job_id, "run": execution.execution_id}
        _log.emit(
            log_events.JOB_RUN_FINISHED,
            **names,
            outcome=result.outcome.value,
            pages=result.items_crawled,
            next_interval_seconds=interval,
            error=result.error_message,
        )

    async def _adapt(self, shard: OwnedShard, ended: EndedExecution) -> AdaptiveRecorded | None:
        """Decide the interval of a source by an execution; None where the job's own holds."""
        job = ended.job
        if not (job.adaptive_scheduling and job.is_recurring and job.source_id):
            return None
        if outcome_of_run(ended.end) is not ExecutionState.COMPLETED:
            return None  # the interval in force stays
        before = await self._states.get(shard, job.source_id)
        source = self._find_source(job.source_id)
        pages = self._ended_runs.start_pages_of(ended.execution.execution_id)
        run = compared_run(job, ended.end, pages, source=source)
        state = compare_run(before, run)
        if state is not None and state is not before:
            await self._states.record(shard, state)
            if before is None or before.current_interval_seconds != state.current_interval_seconds:
                seconds, unchanged = state.current_interval_seconds, state.unchanged_count
                _log.emit(
                    log_events.ADAPTIVE_INTERVAL_CHANGED,
                    source=job.source_id,
                    seconds=seconds,
                    unchanged=unchanged,
                )
        return state
