"""Record of jobs in memory, by the library's own rules, and connections to it that may be cut anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from strider.contracts.generated.enums import JobState
from strider.jobs.lifecycle import act_on, bring_forward, create_job, finish_job
from strider.jobs.models import (
    Distribution,
    ExecutionResult,
    Job,
    JobExecution,
    Launch,
    NewJob,
    ScheduleMetrics,
)
from strider.jobs.states import CLAIMABLE, ExecutionState, JobAction, transition
from strider.jobs.validation import check_new_job
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import EventLoopClock
from strider.messaging.ports import epoch_ms

LOADS = (0.0,) * 96


class MemoryJobStore:
    """Jobs and executions."""

    def __init__(self, clock: EventLoopClock) -> None:
        self._clock = clock
        self.jobs: dict[str, Job] = {}
        self.executions: dict[str, JobExecution] = {}
        self.is_away = False
        self.shift_ms = 0
        """By how much its clock was set."""
        self.pruned = 0
        self.polls = 0
        self.batches: list[int] = []
        """Jobs of each claim that found any."""

    def time_ms(self) -> int:
        return epoch_ms(self._clock) + self.shift_ms

    def add(self, **fields: Any) -> Job:
        job = create_job(
            check_new_job(NewJob(**fields)), fields["job_id"], loads=LOADS, now_ms=self.time_ms()
        )
        self.jobs[job.job_id] = replace(job, next_run_at_ms=self.time_ms())
        return job

    def act(self, job_id: str, action: JobAction) -> None:
        job = self.jobs[job_id]
        self.jobs[job_id] = act_on(job, action, loads=LOADS, now_ms=self.time_ms())
        if action is JobAction.CANCEL and job.state is JobState.RUNNING:
            name = f"{job_id}-{job.execution_count}"
            self.executions[name] = replace(self.executions[name], cancel_requested_at_ms=self.time_ms())

    def of(self, job_id: str) -> list[JobExecution]:
        return [each for each in self.executions.values() if each.job_id == job_id]

    async def now_ms(self) -> int:
        return self.time_ms()

    async def get(self, job_id: str) -> Job | None:
        return self.jobs.get(job_id)

    async def claim_due(self, *, now_ms: int, limit: int, token: str) -> Sequence[Launch]:
        due = [
            job
            for job in self.jobs.values()
            if job.state in CLAIMABLE
            and job.lock_token is None
            and job.next_run_at_ms is not None
            and job.next_run_at_ms <= now_ms
        ]
        self.polls += 1
        if due:
            self.batches.append(len(due[:limit]))
        return [self._claim(job, now_ms, token) for job in due[:limit]]

    def _claim(self, job: Job, now_ms: int, token: str) -> Launch:
        claimed = replace(
            job,
            state=transition(job.job_id, job.state, JobState.RUNNING),
            lock_token=token,
            lock_acquired_at_ms=now_ms,
            execution_count=job.execution_count + 1,
        )
        execution = _an_execution(claimed, now_ms)
        self.jobs[job.job_id] = claimed
        assert execution.execution_id not in self.executions
        self.executions[execution.execution_id] = execution
        return Launch(claimed, execution)

    async def claim_unlaunched(
        self, *, now_ms: int, older_than_ms: int, limit: int, token: str
    ) -> Sequence[Launch]:
        found: list[Launch] = []
        for job in list(self.jobs.values()):
            if job.lock_token is None or (job.lock_acquired_at_ms or 0) > now_ms - older_than_ms:
                continue
            execution = self.executions[f"{job.job_id}-{job.execution_count}"]
            if job.state is JobState.CANCELLED:
                self.jobs[job.job_id] = replace(job, lock_token=None, lock_acquired_at_ms=None)
                self.executions[execution.execution_id] = replace(execution, launched_at_ms=now_ms)
            elif len(found) < limit:
                self.jobs[job.job_id] = replace(job, lock_token=token, lock_acquired_at_ms=now_ms)
                found.append(Launch(self.jobs[job.job_id], execution))
        return found

    async def claim_unclosed(
        self, execution_ids: Sequence[str], *, now_ms: int, older_than_ms: int, token: str
    ) -> Sequence[Launch]:
        found: list[Launch] = []
        for name in execution_ids:
            execution = self.executions[name]
            job = self.jobs[execution.job_id]
            is_late = (execution.launched_at_ms or now_ms) <= now_ms - older_than_ms
            if is_late and job.state is JobState.RUNNING and job.lock_token is None:
                self.jobs[job.job_id] = replace(job, lock_token=token, lock_acquired_at_ms=now_ms)
                self.executions[name] = replace(execution, relaunches=execution.relaunches + 1)
                found.append(Launch(self.jobs[job.job_id], self.executions[name]))
        return found

    async def mark_launched(self, execution_ids: Sequence[str], *, token: str, now_ms: int) -> set[str]:
        marked: set[str] = set()
        for execution_id in execution_ids:
            execution = self.executions[execution_id]
            job = self.jobs[execution.job_id]
            if job.lock_token == token:
                self.jobs[job.job_id] = replace(job, lock_token=None, lock_acquired_at_ms=None)
                self.executions[execution_id] = replace(execution, launched_at_ms=now_ms)
                marked.add(execution_id)
        return marked

    async def running(self, *, after: str = "", limit: int = 1000) -> Sequence[JobExecution]:
        names = sorted(name for name in self.executions if name > after)
        found = (self.executions[name] for name in names)
        is_running = (
            each for each in found if each.state is ExecutionState.RUNNING and each.launched_at_ms is not None
        )
        return list(is_running)[:limit]

    async def finish(
        self, execution_id: str, result: ExecutionResult, *, now_ms: int, token: str | None = None
    ) -> Job | None:
        execution = self.executions.get(execution_id)
        if execution is None:
            return None
        job = self.jobs[execution.job_id]
        if execution.state is ExecutionState.RUNNING and token in {None, job.lock_token}:
            self._end(execution, result, now_ms)
        return self.jobs[execution.job_id]

    def _end(self, execution: JobExecution, result: ExecutionResult, now_ms: int) -> None:
        self.executions[execution.execution_id] = replace(
            execution,
            state=result.outcome,
            completed_at_ms=now_ms,
            items_crawled=result.items_crawled,
            items_indexed=result.items_indexed,
            bytes_fetched=result.bytes_fetched,
            error_message=result.error_message,
            counts=result.counts,
        )
        self.jobs[execution.job_id] = finish_job(self.jobs[execution.job_id], result, now_ms=now_ms)

    async def metrics(self, *, now_ms: int) -> ScheduleMetrics:
        due = [
            job
            for job in self.jobs.values()
            if job.state in CLAIMABLE and (job.next_run_at_ms or 0) <= now_ms
        ]
        return ScheduleMetrics(
            jobs={},
            executions={},
            success_rate=None,
            average_duration_ms=None,
            due=len(due),
            oldest_due_ms=0,
            launching=0,
        )

    async def distribution(self, *, now_ms: int) -> Distribution:
        return Distribution(slots=(), score=1.0, jobs=0)

    async def bring_forward(self, *, now_ms: int) -> int:
        planned = {name: bring_forward(job, now_ms=now_ms) for name, job in self.jobs.items()}
        moved = sum(planned[name] != job for name, job in self.jobs.items())
        self.jobs = planned
        return moved

    async def prune(self, *, now_ms: int) -> int:
        self.pruned += 1
        return 0


def _an_execution(job: Job, now_ms: int) -> JobExecution:
    nothing: Mapping[str, Any] = {}
    return JobExecution(
        execution_id=f"{job.job_id}-{job.execution_count}",
        job_id=job.job_id,
        execution_number=job.execution_count,
        state=ExecutionState.RUNNING,
        scheduled_for_ms=job.next_run_at_ms,
        started_at_ms=now_ms,
        launched_at_ms=None,
        cancel_requested_at_ms=None,
        completed_at_ms=None,
        duration_ms=None,
        items_crawled=0,
        items_indexed=0,
        bytes_fetched=0,
        error_message="",
        stack_trace="",
        cpu_time_ms=None,
        memory_peak_mb=None,
        relaunches=0,
        retry_attempt=job.current_retry_count,
        counts={},
        metadata=nothing,
    )


class StopPoint:
    """Stops a scheduler at a step of a launch: it does nothing more until it is released, or killed."""

    def __init__(self, stop_at: int = 0) -> None:
        self._stop_at = stop_at
        self.steps = 0
        self.reached = asyncio.Event()
        self.released = asyncio.Event()

    async def step(self) -> None:
        """Pass a step of a launch; counted from 1 on, which follows a claim."""
        self.steps += 1
        if self.steps == self._stop_at:
            self.reached.set()
            await self.released.wait()


class StoreConnection:
    """The store as one scheduler reaches it."""

    def __init__(self, store: MemoryJobStore, stop: StopPoint) -> None:
        self._store = store
        self._stop = stop

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if self._store.is_away:
                raise Unavailable("postgres", "switched off")
            if name == "mark_launched":
                await self._stop.step()
            result = await getattr(self._store, name)(*args, **kwargs)
            if name == "mark_launched" or (name.startswith("claim_") and result):
                await self._stop.step()
            return result

        return call
