"""Launch the jobs that are due, and publish again what a stopped scheduler left.

    claim    one transaction in PostgreSQL: lock, state `running`, a new execution
    publish  crawl spec, seeds, closing message, each acknowledged
    mark     the run is launched, the lock released

Claimed executions stay in memory until they are marked, so that an outage of Kafka or PostgreSQL only delays
them; nothing more is claimed meanwhile. Where this process dies, its locks become stale, and any scheduler
publishes the same runs again. Two that publish the same run do no harm.

A pass launches one batch, in a constant number of statements and messages in a row; where more is due, the
next pass follows at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from strider.contracts.generated.events import SourceSaved
from strider.jobs.models import ExecutionResult, Launch
from strider.jobs.ports import JobStore
from strider.jobs.states import ExecutionState
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.adapters.jobs.run_publisher import PreparedRun, RunPublisher
from strider.scheduler.core.jobs.launch import LaunchFault, PermanentFault, SourceIsDisabled, plan_launch
from strider.scheduler.options import JobOptions
from strider.scheduler.ports import JobMeter

from .faults import REFUSALS, log_refusal, repeatable

CONCURRENT_UPDATES: Final = 8
"""Executions that fail at a time: as many as the pool has connections."""

RUNS_PER_YIELD: Final = 20
"""Runs that are prepared before other tasks run: some milliseconds."""

_log = logger("scheduler")


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """An execution whose lock this process holds."""

    launch: Launch
    token: str


class JobPollLoop:
    """Launches jobs."""

    def __init__(
        self,
        store: JobStore,
        runs: RunPublisher,
        *,
        find_source: Callable[[str], SourceSaved | None],
        catch_up_sources: Callable[[], Awaitable[None]],
        is_over: Callable[[str], bool],
        on_launched: Callable[[], None],
        options: JobOptions,
        allow_private: bool,
        meter: JobMeter,
        clock: Clock,
    ) -> None:
        """Create the loop.

        `catch_up_sources` applies all sources saved up to now; `is_over` returns whether a run has ended;
        `on_launched` is called when runs were launched.
        """
        self._store = store
        self._runs = runs
        self._find_source = find_source
        self._catch_up_sources = catch_up_sources
        self._is_over = is_over
        self._on_launched = on_launched
        self._options = options
        self._allow_private = allow_private
        self._meter = meter
        self._clock = clock
        self._claimed: list[ClaimedRun] = []
        self._unclosed: set[str] = set()
        """Launched executions that are not closed, as far as they were not claimed again."""
        self._next_recovery_at = 0.0
        self._has_more_stale = False
        self._is_full = False

    def launch_again(self, execution_ids: Iterable[str]) -> None:
        """Launch runs again, with the next poll, that are not closed."""
        self._unclosed.update(execution_ids)

    async def run(self) -> None:
        """Run at intervals until cancelled."""
        while True:
            self._is_full = False
            await repeatable(self.run_once)
            await self._clock.sleep(0 if self._is_full else self._options.poll_seconds)

    async def run_once(self) -> bool:
        """Launch what is claimed, and a batch each of what has a stale lock and of what is due.

        Returns whether a batch was full, so that more may wait.
        """
        await self._launch_claimed()
        # What is due does not wait for a recovery that fails.
        has_more_stale = False
        if self._clock.monotonic() >= self._next_recovery_at and await repeatable(self._recover):
            has_more_stale = self._has_more_stale
            if not has_more_stale:
                self._next_recovery_at = self._clock.monotonic() + self._options.recovery_seconds
        await self._launch_unclosed()
        limit, token = self._options.launch_batch, uuid4().hex
        # Read for each batch: a lock that is dated back would count as stale too early.
        now_ms = await self._store.now_ms()
        due = await self._store.claim_due(now_ms=now_ms, limit=limit, token=token)
        await self._launch(due, token)
        self._is_full = has_more_stale or len(due) >= limit
        return self._is_full

    async def _recover(self) -> None:
        """Take over stale locks, whose runs may be published in part; mend plans of a wrong clock."""
        stale_ms, limit = round(self._options.stale_lock_seconds * 1000), self._options.launch_batch
        now_ms, token = await self._store.now_ms(), uuid4().hex
        if moved := await self._store.bring_forward(now_ms=now_ms):
            _log.emit(log_events.JOBS_PLANNED_AGAIN, count=moved)
        stale = await self._store.claim_unlaunched(
            now_ms=now_ms, older_than_ms=stale_ms, limit=limit, token=token
        )
        if stale:
            _log.emit(log_events.STALE_JOB_LOCKS_CLEARED, count=len(stale))
            self._meter.count_stale_locks(len(stale))
        await self._launch(stale, token)
        self._has_more_stale = len(stale) >= limit

    async def _launch_unclosed(self) -> None:
        """Lock the jobs of runs that are not closed, and publish these again."""
        names = sorted(self._unclosed)[: self._options.launch_batch]
        self._unclosed.clear()  # what is left, or cannot be claimed now, is found again
        if not names:
            return
        token, age_ms = uuid4().hex, round(self._options.relaunch_seconds * 1000)
        now_ms = await self._store.now_ms()
        found = await self._store.claim_unclosed(names, now_ms=now_ms, older_than_ms=age_ms, token=token)
        for job, execution in found:
            self._meter.count_relaunched()
            times, run = execution.relaunches, execution.execution_id
            _log.emit(log_events.JOB_LAUNCHED_AGAIN, job_id=job.job_id, execution_id=run, times=times)
        await self._launch(found, token)

    async def _launch(self, launches: Sequence[Launch], token: str) -> None:
        self._claimed += [ClaimedRun(launch, token) for launch in launches]
        await self._launch_claimed()

    async def _launch_claimed(self) -> None:
        """Publish and mark all claimed runs; what fails stays claimed, and is repeated."""
        if not self._claimed:
            return
        await self._catch_up_sources()
        ready: list[ClaimedRun] = []
        prepared: list[PreparedRun] = []
        faulty: list[tuple[ClaimedRun, LaunchFault]] = []
        for number, claimed in enumerate(list(self._claimed), start=1):
            if not number % RUNS_PER_YIELD:
                await asyncio.sleep(0)
            execution_id = claimed.launch.execution.execution_id
            if self._is_over(execution_id):  # published, and ended before its lock was released
                ready.append(claimed)
                continue
            try:
                source = self._find_source(claimed.launch.job.source_id)
                plan = plan_launch(claimed.launch, source, allow_private=self._allow_private)
                prepared.append(self._runs.prepare(plan))
            except LaunchFault as fault:
                faulty.append((claimed, fault))
            else:
                ready.append(claimed)
        await self._fail_all(faulty)
        await self._runs.publish(prepared)
        await self._mark_all(ready)

    async def _fail_all(self, faulty: Sequence[tuple[ClaimedRun, LaunchFault]]) -> None:
        for first in range(0, len(faulty), CONCURRENT_UPDATES):
            part = faulty[first : first + CONCURRENT_UPDATES]
            ends = (self._store_or_leave(claimed, self._fail(claimed, fault)) for claimed, fault in part)
            for failure in await asyncio.gather(*ends, return_exceptions=True):
                if failure is not None:
                    raise failure

    async def _fail(self, claimed: ClaimedRun, fault: LaunchFault) -> None:
        job, execution = claimed.launch
        sentence = str(fault)
        result = ExecutionResult(
            outcome=ExecutionState.FAILED,
            error_message=sentence,
            waits_for_source=isinstance(fault, SourceIsDisabled),
            is_permanent=isinstance(fault, PermanentFault),
        )
        now_ms = await self._store.now_ms()
        await self._store.finish(execution.execution_id, result, now_ms=now_ms, token=claimed.token)
        self._claimed.remove(claimed)
        self._meter.count_finished(ExecutionState.FAILED)
        names = {"job_id": job.job_id, "execution_id": execution.execution_id}
        _log.emit(log_events.JOB_NOT_LAUNCHED, **names, why=sentence)

    async def _mark_all(self, ready: Sequence[ClaimedRun]) -> None:
        """Mark runs as launched, in one statement for each token."""
        if not ready:
            return
        now_ms = await self._store.now_ms()
        for token in dict.fromkeys(claimed.token for claimed in ready):
            own = [claimed for claimed in ready if claimed.token == token]
            try:
                await self._mark(own, token, now_ms)
            except REFUSALS:
                for claimed in own:  # one of them is the cause
                    await self._store_or_leave(claimed, self._mark([claimed], token, now_ms))
        self._on_launched()

    async def _mark(self, runs: Sequence[ClaimedRun], token: str, now_ms: int) -> None:
        own = {claimed.launch.execution.execution_id: claimed.launch for claimed in runs}
        marked = await self._store.mark_launched(list(own), token=token, now_ms=now_ms)
        self._claimed = [each for each in self._claimed if each.launch.execution.execution_id not in own]
        for execution_id, launch in own.items():
            # else another scheduler took the lock over, and marks it
            if execution_id in marked and not launch.execution.relaunches:
                self._meter.count_launched()
                _log.emit(log_events.JOB_LAUNCHED, job_id=launch.job.job_id, execution_id=execution_id)

    async def _store_or_leave(self, claimed: ClaimedRun, work: Awaitable[None]) -> None:
        """Store a state; one that PostgreSQL refuses is left, and tried again when its lock is stale."""
        try:
            await work
        except REFUSALS as failure:
            self._claimed.remove(claimed)
            job, execution = claimed.launch
            log_refusal(failure, job_id=job.job_id, execution_id=execution.execution_id)
