"""Values of jobs: the job, its executions, requests and results of the store. Pure.

All times are milliseconds since 1970 of PostgreSQL's clock (`JobStore.now_ms`); None for what has not
happened, or is not planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypedDict

from strider.contracts.generated.enums import JobState

from .errors import StaleVersion
from .states import ExecutionState

DEFAULT_MAX_RETRIES: Final = 3
DEFAULT_RETRY_BACKOFF_SECONDS: Final = 60

PAUSED_BY_SOURCE: Final = "source"
"""`paused_by` of a job that is paused because its source is disabled."""


class IntervalType(StrEnum):
    """Unit that `interval_minutes` of a job counts in."""

    MINUTES = "minutes"
    HOURS = "hours"
    DAYS = "days"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to create. `validation.check_new_job` refuses what cannot be used, by field."""

    url: str
    source_id: str = ""
    """May be empty, or of no source: then each of its executions fails with a sentence."""
    job_id: str = ""
    """Empty: one is made. A second creation with the same id and content returns the first job."""
    name: str = ""
    """For people; no two jobs have the same one. May be empty."""
    interval_minutes: int | None = None
    """Number of `interval_type` between two runs; None for a job that runs once, at once."""
    interval_type: IntervalType = IntervalType.MINUTES
    schedule_enabled: bool | None = None
    """Whether it recurs; None: if it has an interval."""
    adaptive_scheduling: bool = True
    max_retries: int = DEFAULT_MAX_RETRIES
    retry_backoff_seconds: int = DEFAULT_RETRY_BACKOFF_SECONDS
    crawl_settings: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a crawl spec that this job sets instead of its source."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_by: str = ""


class JobChange(TypedDict, total=False):
    """Changed fields of a job; what is absent stays as it is."""

    url: str
    source_id: str
    name: str
    interval_minutes: int | None
    interval_type: IntervalType
    schedule_enabled: bool
    adaptive_scheduling: bool
    max_retries: int
    retry_backoff_seconds: int
    crawl_settings: Mapping[str, Any]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it is stored."""

    job_id: str
    source_id: str
    url: str
    name: str
    state: JobState
    interval_minutes: int | None
    interval_type: IntervalType
    schedule_enabled: bool
    adaptive_scheduling: bool
    current_interval_seconds: int | None
    """The interval in force, its own or the adaptive one; None for a one-time job."""
    next_run_at_ms: int | None
    """When it is due; None in states without a next run."""
    phase_at_ms: int | None
    """Its regular runs are at this time ± n intervals; retries and forced runs do not change it."""
    moved_at_ms: int | None
    """When its phase was moved by a rebalance."""
    is_paused: bool
    paused_at_ms: int | None
    paused_by: str
    """`source` while it is paused because its source is disabled; else empty."""
    cancelled_at_ms: int | None
    lock_token: str | None
    """Set while its execution is being launched."""
    lock_acquired_at_ms: int | None
    max_retries: int
    retry_backoff_seconds: int
    current_retry_count: int
    execution_count: int
    """The number of its latest execution; 0 before the first."""
    last_run_at_ms: int | None
    error_message: str
    """Error of its latest execution; empty where that had none."""
    crawl_settings: Mapping[str, Any]
    metadata: Mapping[str, Any]
    version: int
    """Grows with every change of settings, action and move, not with its runs; the ETag."""
    created_by: str
    created_at_ms: int
    updated_at_ms: int

    @property
    def is_recurring(self) -> bool:
        """Whether it runs again after a run has ended."""
        return self.schedule_enabled and self.interval_minutes is not None

    def check_version(self, given: int | None) -> None:
        """Raise StaleVersion where another version was read; None is of a caller that has read none."""
        if given is not None and given != self.version:
            raise StaleVersion(self.job_id, given=given, current=self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExecution:
    """One execution of a job: a run of the crawler."""

    execution_id: str
    """`{job_id}-{execution_number}`: the id of its run."""
    job_id: str
    execution_number: int
    state: ExecutionState
    scheduled_for_ms: int | None
    """When the job was due."""
    started_at_ms: int
    """When it was claimed."""
    launched_at_ms: int | None
    """When its run was published."""
    cancel_requested_at_ms: int | None
    """When its job was cancelled; it is `running` until its run has ended."""
    completed_at_ms: int | None
    duration_ms: int | None
    items_crawled: int
    items_indexed: int
    bytes_fetched: int
    error_message: str
    stack_trace: str
    cpu_time_ms: int | None
    memory_peak_mb: int | None
    relaunches: int
    """How often its run was published again, because it was not known to be closed."""
    retry_attempt: int
    """0 for a regular execution, n for the n-th retry."""
    counts: Mapping[str, int]
    """Further counts by name, such as entries by outcome."""
    metadata: Mapping[str, Any]


class Launch(NamedTuple):
    """A claimed execution, whose run must be published."""

    job: Job
    execution: JobExecution


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    """The end of an execution, with its counts."""

    outcome: ExecutionState
    """completed, failed or cancelled."""
    items_crawled: int = 0
    items_indexed: int = 0
    bytes_fetched: int = 0
    duration_ms: int | None = None
    """None: from its claim until now."""
    error_message: str = ""
    stack_trace: str = ""
    cpu_time_ms: int | None = None
    memory_peak_mb: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    waits_for_source: bool = False
    """It failed because its source is disabled: no retry is used up, and the job waits for its source."""
    is_permanent: bool = False
    """It failed for a reason that no retry changes: the next regular run is the next one, if there is any."""
    next_interval_seconds: int | None = None
    """The adaptive interval; None: the job's own (completed), or the one in force (failed, cancelled)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuery:
    """Filters of a list of jobs, the newest first."""

    state: JobState | None = None
    source_id: str | None = None
    name: str | None = None
    id_prefix: str = ""
    limit: int = 100
    cursor: str = ""
    """`next` of the page before; empty for the first page."""


class JobPage(NamedTuple):
    """Some jobs, and the cursor of those after them; empty at the end."""

    jobs: tuple[Job, ...]
    next: str


class ExecutionPage(NamedTuple):
    """Some executions of a job, the newest first, and the cursor of those after them; empty at the end."""

    executions: tuple[JobExecution, ...]
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStats:
    """Statistics of the kept executions of a job."""

    job_id: str
    executions: int
    running: int
    completed: int
    failed: int
    cancelled: int
    success_rate: float | None
    """completed / (completed + failed); None before the first of them."""
    average_duration_ms: int | None
    """Of completed and failed ones."""
    items_crawled: int
    items_indexed: int
    bytes_fetched: int
    last_started_at_ms: int | None
    last_completed_at_ms: int | None
    next_run_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleMetrics:
    """Numbers of all jobs for the scheduler's metrics."""

    jobs: Mapping[JobState, int]
    executions: Mapping[ExecutionState, int]
    """Executions that started within the last day, by state."""
    success_rate: float | None
    average_duration_ms: int | None
    due: int
    """Jobs that are due and not claimed."""
    oldest_due_ms: int
    """For how long the first of them is due; 0 where none is."""
    launching: int
    """Jobs whose lock is held."""
    stale_locks_cleared: int = 0
    """Executions of the last day that another scheduler launched, after the lock of the first was stale."""


class SlotLoad(NamedTuple):
    """A quarter of an hour of the day (UTC): jobs with their phase in it, runs that start in it each day."""

    slot: int
    jobs: int
    runs: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Recurring jobs over the 96 slots of a day."""

    slots: tuple[SlotLoad, ...]
    score: float
    """1 - standard deviation / mean of the runs of a slot, within 0 to 1."""
    jobs: int


class JobMove(NamedTuple):
    """A job that a rebalance moves to another slot."""

    job_id: str
    version: int
    from_slot: int
    to_slot: int
    next_run_at_ms: int
    new_next_run_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalancePlan:
    """Moves of a rebalance, and the score that they lead to."""

    moves: tuple[JobMove, ...]
    score_before: float
    score_after: float
    applied: int = 0
    """How many were applied; 0 in a preview. A job that changed since the plan is not moved."""
