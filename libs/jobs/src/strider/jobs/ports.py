"""Port of the record of jobs, for scheduler and API.

Times are milliseconds of one clock: the caller takes `now_ms` of the store and passes it on, so that
processes on several machines agree about what is due and which lock is stale, whatever their own clocks show.
Every method may be repeated after a lost response. Raises Unavailable where PostgreSQL is out of reach, and
the errors of `errors.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from strider.contracts.generated.enums import JobState

from .models import (
    Distribution,
    ExecutionPage,
    ExecutionResult,
    Job,
    JobChange,
    JobExecution,
    JobPage,
    JobQuery,
    JobStats,
    Launch,
    NewJob,
    RebalancePlan,
    ScheduleMetrics,
)
from .states import JobAction


class JobStore(Protocol):
    """The record of jobs and executions."""

    async def now_ms(self) -> int:
        """Return the time of the store's clock."""

    async def create(self, job: NewJob, *, now_ms: int) -> Job:
        """Store a new job: a one-time job is due at once, a recurring one in the least loaded slot.

        One with the id of a deleted job continues its numbers, so that no id of a run is used twice. Raises
        InvalidJobField, DuplicateJob. A repeat with the same id and content returns the stored job.
        """

    async def get(self, job_id: str) -> Job | None:
        """Return a job."""

    async def find(self, query: JobQuery) -> JobPage:
        """Return jobs, the newest first. Raises InvalidJobField for `limit` and `cursor`."""

    async def change(self, job_id: str, change: JobChange, *, version: int | None, now_ms: int) -> Job:
        """Change settings of a job, if it still has this version (None: whichever).

        A changed interval gives it a new slot. Raises UnknownJob, StaleVersion, InvalidJobField,
        DuplicateJob, IllegalTransition.
        """

    async def delete(self, job_id: str, *, now_ms: int) -> bool:
        """Delete a job with its executions; return whether there was one.

        Raises IllegalTransition for a running job (it must be cancelled first), UnfinishedRun until a
        cancelled run has ended.
        """

    async def act(self, job_id: str, action: JobAction, *, now_ms: int) -> Job:
        """Apply an action. Raises UnknownJob, IllegalTransition.

        Cancelling a running job marks its execution (`cancel_requested_at_ms`); the caller cancels the run,
        whose end then finishes the execution.
        """

    async def follow_source(self, source_id: str, *, now_ms: int) -> Sequence[Job]:
        """Pause the jobs of a disabled source, resume those of an enabled one; return the changed ones."""

    async def claim_due(self, *, now_ms: int, limit: int, token: str) -> Sequence[Launch]:
        """Claim due jobs by compare-and-set: lock, state running, and a new execution in one transaction.

        No two callers get the same execution. The run of each must be published and then marked as launched.
        """

    async def claim_unlaunched(
        self, *, now_ms: int, older_than_ms: int, limit: int, token: str
    ) -> Sequence[Launch]:
        """Take over locks older than so many milliseconds: their runs must be published again.

        A cancelled job among them is not returned: its lock is released, and its execution counts as
        launched, because its run may have been published. So that run is cancelled, and ends it.
        """

    async def claim_unclosed(
        self, execution_ids: Sequence[str], *, now_ms: int, older_than_ms: int, token: str
    ) -> Sequence[Launch]:
        """Lock the jobs of executions that were launched so many milliseconds ago: their runs are not closed.

        Each is counted (`relaunches`), published again, and marked as launched at a new time.
        """

    async def mark_launched(
        self, execution_ids: Sequence[str], *, token: str, now_ms: int
    ) -> AbstractSet[str]:
        """Release the locks of executions whose runs are published; return those that this token held."""

    async def running(self, *, after: str = "", limit: int = 1000) -> Sequence[JobExecution]:
        """Return launched executions that have not ended, by their id, from the one after `after`.

        Those with `cancel_requested_at_ms` are of cancelled jobs: their runs must be cancelled.
        """

    async def finish(
        self, execution_id: str, result: ExecutionResult, *, now_ms: int, token: str | None = None
    ) -> Job | None:
        """Store the end of an execution and the next state of its job; a repeat changes nothing.

        Completed: the next run is planned, or the job is completed. Failed: a retry after a back-off, or the
        job is failed. With `token`, only while this token holds the job's lock. None: no such execution.
        """

    async def execution(self, execution_id: str) -> JobExecution | None:
        """Return an execution."""

    async def executions(self, job_id: str, *, cursor: str = "", limit: int = 100) -> ExecutionPage:
        """Return the executions of a job, the newest first. Raises UnknownJob."""

    async def stats(self, job_id: str) -> JobStats:
        """Return statistics of a job. Raises UnknownJob."""

    async def status_counts(self) -> Mapping[JobState, int]:
        """Return the number of jobs in each state."""

    async def metrics(self, *, now_ms: int) -> ScheduleMetrics:
        """Return what the scheduler's metrics show."""

    async def distribution(self, *, now_ms: int) -> Distribution:
        """Return how recurring jobs are distributed over the slots of a day."""

    async def rebalance_preview(self, *, now_ms: int) -> RebalancePlan:
        """Return the moves that `rebalance` would make now."""

    async def rebalance(self, *, now_ms: int) -> RebalancePlan:
        """Move jobs from loaded slots to others, and return the plan."""

    async def bring_forward(self, *, now_ms: int) -> int:
        """Plan next runs again that are too far away because the clock was set back; return how many."""

    async def prune(self, *, now_ms: int) -> int:
        """Delete ended executions that are too old or too many; return how many."""
