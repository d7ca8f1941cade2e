"""The record of jobs in memory, by the decisions of strider.jobs, for tests of the routes alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.enums import JobState
from strider.jobs.errors import (
    DuplicateJob,
    IllegalTransition,
    InvalidJobField,
    StaleVersion,
    UnfinishedRun,
    UnknownJob,
)
from strider.jobs.lifecycle import act_on, change_job, create_job
from strider.jobs.models import (
    Distribution,
    ExecutionPage,
    Job,
    JobChange,
    JobExecution,
    JobMove,
    JobPage,
    JobQuery,
    JobStats,
    NewJob,
    RebalancePlan,
    ScheduleMetrics,
    SlotLoad,
)
from strider.jobs.states import ExecutionState, JobAction
from strider.jobs.validation import check_change, check_new_job

NOW_MS = 1_795_176_000_000
"""2026-11-20T12:00:00Z."""
NO_LOADS: Sequence[float] = (0.0,) * 96
MOVE = JobMove("job-1", 1, 4, 7, NOW_MS, NOW_MS + 2_700_000)


@dataclass
class MemoryJobs:
    """Jobs and executions by their ids; `failure` is raised by every call."""

    jobs: dict[str, Job] = field(default_factory=dict)
    runs: dict[str, JobExecution] = field(default_factory=dict)
    failure: Exception | None = None
    rebalanced: int = 0

    async def now_ms(self) -> int:
        if self.failure is not None:
            raise self.failure
        return NOW_MS

    async def create(self, job: NewJob, *, now_ms: int) -> Job:
        checked = check_new_job(job)
        if checked.name and any(each.name == checked.name for each in self.jobs.values()):
            raise DuplicateJob("name", checked.name)
        job_id = checked.job_id or f"job-{len(self.jobs) + 1}"
        if job_id in self.jobs:
            return self.jobs[job_id]
        self.jobs[job_id] = create_job(checked, job_id, loads=NO_LOADS, now_ms=now_ms)
        return self.jobs[job_id]

    async def get(self, job_id: str) -> Job | None:
        if self.failure is not None:
            raise self.failure
        return self.jobs.get(job_id)

    async def find(self, query: JobQuery) -> JobPage:
        if self.failure is not None:
            raise self.failure
        found = [
            job
            for job in reversed(self.jobs.values())
            if query.state in {None, job.state}
            and query.source_id in {None, job.source_id}
            and query.name in {None, job.name}
            and job.job_id.startswith(query.id_prefix)
        ]
        page, following = _page(found, query.cursor, query.limit)
        return JobPage(tuple(page), following)

    async def change(self, job_id: str, change: JobChange, *, version: int | None, now_ms: int) -> Job:
        job, checked = self._job(job_id), check_change(change)
        if version is not None and version != job.version:
            raise StaleVersion(job_id, given=version, current=job.version)
        self.jobs[job_id] = change_job(job, checked, loads=NO_LOADS, now_ms=now_ms)
        return self.jobs[job_id]

    async def delete(self, job_id: str, *, now_ms: int) -> bool:
        if (job := self.jobs.get(job_id)) is None:
            return False
        if job.state is JobState.RUNNING:
            raise IllegalTransition(job_id, job.state, "delete", allowed=["cancel"])
        for run in self.runs.values():
            if run.job_id == job_id and run.state is ExecutionState.RUNNING:
                raise UnfinishedRun(job_id, run.execution_id)
        del self.jobs[job_id]
        return True

    async def act(self, job_id: str, action: JobAction, *, now_ms: int) -> Job:
        self.jobs[job_id] = act_on(self._job(job_id), action, loads=NO_LOADS, now_ms=now_ms)
        return self.jobs[job_id]

    async def execution(self, execution_id: str) -> JobExecution | None:
        return self.runs.get(execution_id)

    async def executions(self, job_id: str, *, cursor: str = "", limit: int = 100) -> ExecutionPage:
        self._job(job_id)
        found = [run for run in reversed(self.runs.values()) if run.job_id == job_id]
        page, following = _page(found, cursor, limit)
        return ExecutionPage(tuple(page), following)

    async def stats(self, job_id: str) -> JobStats:
        job = self._job(job_id)
        states = Counter(run.state for run in self.runs.values() if run.job_id == job_id)
        ended = states[ExecutionState.COMPLETED] + states[ExecutionState.FAILED]
        return JobStats(
            job_id=job_id,
            executions=states.total(),
            running=states[ExecutionState.RUNNING],
            completed=states[ExecutionState.COMPLETED],
            failed=states[ExecutionState.FAILED],
            cancelled=states[ExecutionState.CANCELLED],
            success_rate=states[ExecutionState.COMPLETED] / ended if ended else None,
            average_duration_ms=None,
            items_crawled=sum(run.items_crawled for run in self.runs.values()),
            items_indexed=0,
            bytes_fetched=0,
            last_started_at_ms=None,
            last_completed_at_ms=None,
            next_run_at_ms=job.next_run_at_ms,
        )

    async def status_counts(self) -> Mapping[JobState, int]:
        return Counter(job.state for job in self.jobs.values())

    async def metrics(self, *, now_ms: int) -> ScheduleMetrics:
        return ScheduleMetrics(
            jobs=await self.status_counts(),
            executions=Counter(run.state for run in self.runs.values()),
            success_rate=0.75,
            average_duration_ms=1500,
            due=1,
            oldest_due_ms=250,
            launching=0,
            stale_locks_cleared=2,
        )

    async def distribution(self, *, now_ms: int) -> Distribution:
        slots = tuple(SlotLoad(slot, int(slot == 5), 4.0 * (slot == 5)) for slot in range(96))
        return Distribution(slots=slots, score=0.25, jobs=1)

    async def rebalance_preview(self, *, now_ms: int) -> RebalancePlan:
        return RebalancePlan(moves=(MOVE,), score_before=0.25, score_after=0.5)

    async def rebalance(self, *, now_ms: int) -> RebalancePlan:
        self.rebalanced += 1
        return replace(await self.rebalance_preview(now_ms=now_ms), applied=1)

    def _job(self, job_id: str) -> Job:
        if self.failure is not None:
            raise self.failure
        if job_id not in self.jobs:
            raise UnknownJob(job_id)
        return self.jobs[job_id]


@dataclass
class KeptRunCommands:
    """Keeps the commands about runs."""

    cancelled: list[tuple[str, str]] = field(default_factory=list)
    feeds: list[tuple[str, str]] = field(default_factory=list)

    async def cancel(self, job_id: str, execution_id: str, *, by: str) -> None:
        self.cancelled.append((job_id, execution_id))

    async def command_feeds(self, what: JobEventKind, job_id: str, *, by: str) -> None:
        self.feeds.append((what.value, job_id))


def _page(found: Sequence, cursor: str, limit: int) -> tuple[Sequence, str]:
    if cursor and not cursor.isdigit():
        raise InvalidJobField("cursor", "it was not issued by this API")
    first = int(cursor or 0)
    more = len(found) > first + limit
    return found[first : first + limit], str(first + limit) if more else ""


def an_execution(job_id: str, number: int, state: ExecutionState, **fields: object) -> JobExecution:
    values: dict[str, object] = {
        "execution_id": f"{job_id}-{number}",
        "job_id": job_id,
        "execution_number": number,
        "state": state,
        "scheduled_for_ms": NOW_MS,
        "started_at_ms": NOW_MS,
        "launched_at_ms": NOW_MS + 5,
        "cancel_requested_at_ms": None,
        "completed_at_ms": NOW_MS + 1500,
        "duration_ms": 1500,
        "items_crawled": 12,
        "items_indexed": 9,
        "bytes_fetched": 4096,
        "error_message": "",
        "stack_trace": "",
        "cpu_time_ms": None,
        "memory_peak_mb": None,
        "relaunches": 0,
        "retry_attempt": 0,
        "counts": {"fetched": 12},
        "metadata": {},
    }
    return JobExecution(**(values | fields))  # type: ignore[arg-type]  # the fields of one
