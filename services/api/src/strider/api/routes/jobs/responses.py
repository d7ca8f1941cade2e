"""Responses about jobs, as in the OpenAPI document: times in ISO 8601, states as `status`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from strider.api.routes.response_models import Moment, with_example
from strider.jobs.models import (
    Distribution,
    Job,
    JobExecution,
    JobStats,
    RebalancePlan,
    ScheduleMetrics,
)
from strider.jobs.states import allowed_actions

from . import examples

SLOT_MINUTES: Final = 15
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS: Final = "_ms"
_DURATIONS: Final = frozenset({"duration_ms", "average_duration_ms", "cpu_time_ms", "oldest_due_ms"})


def moment_of(milliseconds: int) -> datetime:
    """Return milliseconds since 1970 as a time."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _as_times(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values, those of fields `…_at_ms` as times under the name `…_at`."""
    return {
        name if name in _DURATIONS else name.removesuffix(_MILLISECONDS): (
            moment_of(value)
            if name.endswith(_MILLISECONDS) and name not in _DURATIONS and value is not None
            else value
        )
        for name, value in values.items()
    }


def _values(stored: Any) -> dict[str, Any]:
    return {field.name: getattr(stored, field.name) for field in fields(stored)}


class _Response(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class JobResponse(_Response):
    """A job."""

    model_config = with_example(examples.JOB)
    id: str
    source_id: str
    url: str
    name: str
    status: str
    """pending, scheduled, running, paused, completed, failed or cancelled."""
    allowed_actions: list[str]
    """Actions that its status permits now."""
    interval_minutes: int | None
    interval_type: str
    schedule_enabled: bool
    adaptive_scheduling: bool
    current_interval_seconds: int | None
    """The interval in force, its own or the adaptive one."""
    next_run_at: Moment | None
    is_paused: bool
    paused_at: Moment | None = None
    cancelled_at: Moment | None = None
    lock_acquired_at: Moment | None = None
    """Set while its execution is being launched."""
    max_retries: int
    retry_backoff_seconds: int
    current_retry_count: int
    execution_count: int
    last_run_at: Moment | None
    error_message: str
    """Of its latest execution."""
    crawl_settings: dict[str, Any]
    metadata: dict[str, Any]
    version: int
    """Grows with every change; the ETag."""
    created_by: str
    created_at: Moment
    updated_at: Moment


def job_response(job: Job) -> JobResponse:
    """Return a job as clients see it: without the token of its lock."""
    return JobResponse.model_validate(
        _as_times(_values(job))
        | {
            "id": job.job_id,
            "status": job.state.value,
            "interval_type": job.interval_type.value,
            "allowed_actions": [action.value for action in allowed_actions(job.state)],
        }
    )


class JobListResponse(_Response):
    """Jobs, newest first."""

    model_config = with_example({"items": [examples.JOB], "next": examples.CURSOR})
    items: list[JobResponse]
    next: str | None
    """The cursor of the next page of the list; null at the end."""


class ExecutionResponse(_Response):
    """One execution of a job: a run of the crawler."""

    model_config = with_example(examples.EXECUTION)
    id: str
    """Also the id of its run, as in `strider runs show`."""
    job_id: str
    execution_number: int
    status: str
    """running, completed, failed or cancelled."""
    scheduled_for: Moment | None
    started_at: Moment
    launched_at: Moment | None
    cancel_requested_at: Moment | None = None
    completed_at: Moment | None
    duration_ms: int | None
    items_crawled: int
    items_indexed: int
    bytes_fetched: int
    error_message: str
    stack_trace: str
    cpu_time_ms: int | None = None
    memory_peak_mb: int | None = None
    retry_attempt: int
    counts: dict[str, int]
    metadata: dict[str, Any]


def execution_response(execution: JobExecution) -> ExecutionResponse:
    """Return an execution as clients see it."""
    return ExecutionResponse.model_validate(
        _as_times(_values(execution)) | {"id": execution.execution_id, "status": execution.state.value}
    )


class ExecutionListResponse(_Response):
    """Executions of a job, newest first."""

    model_config = with_example({"items": [examples.EXECUTION], "next": examples.CURSOR})
    items: list[ExecutionResponse]
    next: str | None


class JobStatsResponse(_Response):
    """Statistics of the kept executions of a job."""

    model_config = with_example(examples.STATS)
    job_id: str
    executions: int
    running: int
    completed: int
    failed: int
    cancelled: int
    success_rate: float | None
    """completed / (completed + failed); null before the first of them."""
    average_duration_ms: int | None
    items_crawled: int
    items_indexed: int
    bytes_fetched: int
    last_started_at: Moment | None
    last_completed_at: Moment | None
    next_run_at: Moment | None


def stats_response(stats: JobStats) -> JobStatsResponse:
    """Return statistics as clients see them."""
    return JobStatsResponse.model_validate(_as_times(_values(stats)))


class StatusCountsResponse(_Response):
    """Number of jobs in each state."""

    model_config = with_example(examples.COUNTS)
    counts: dict[str, int]
    total: int


class ExecutionMetrics(_Response):
    """Executions that started within the last day."""

    total: int
    by_status: dict[str, int]
    success_rate: float | None
    """completed / (completed + failed); below 0.8 look into the failing jobs."""
    average_duration_ms: int | None


class SchedulerMetricsResponse(_Response):
    """State of all jobs and their latest executions."""

    model_config = with_example(examples.METRICS)
    jobs: dict[str, int]
    executions: ExecutionMetrics
    due: int
    """Jobs that are due and not claimed yet."""
    oldest_due_ms: int
    launching: int
    """Jobs whose run is being launched."""
    stale_locks_cleared: int
    """Runs of the last day that another scheduler launched, because the first one had stopped meanwhile."""


def metrics_response(metrics: ScheduleMetrics) -> SchedulerMetricsResponse:
    """Return metrics as clients see them."""
    by_status = {state.value: count for state, count in metrics.executions.items()}
    return SchedulerMetricsResponse(
        jobs={state.value: count for state, count in metrics.jobs.items()},
        executions=ExecutionMetrics(
            total=sum(by_status.values()),
            by_status=by_status,
            success_rate=metrics.success_rate,
            average_duration_ms=metrics.average_duration_ms,
        ),
        due=metrics.due,
        oldest_due_ms=metrics.oldest_due_ms,
        launching=metrics.launching,
        stale_locks_cleared=metrics.stale_locks_cleared,
    )


class SlotResponse(_Response):
    """A quarter of an hour of the day, in UTC."""

    slot: int
    starts_at: str
    """Such as 13:45."""
    jobs: int
    runs: float
    """Runs that start in it each day."""


class DistributionResponse(_Response):
    """Recurring jobs over the 96 quarters of an hour of a day."""

    model_config = with_example(examples.DISTRIBUTION)
    distribution_score: float
    """1 where all slots have as many runs, 0 where few have all; below 0.7 consider a rebalance."""
    jobs: int
    slots: list[SlotResponse]


def slot_time(slot: int) -> str:
    """Return the time of the day at which a slot begins."""
    hours, minutes = divmod(slot * SLOT_MINUTES, 60)
    return f"{hours:02}:{minutes:02}"


def distribution_response(distribution: Distribution) -> DistributionResponse:
    """Return a distribution as clients see it."""
    return DistributionResponse(
        distribution_score=distribution.score,
        jobs=distribution.jobs,
        slots=[
            SlotResponse(slot=load.slot, starts_at=slot_time(load.slot), jobs=load.jobs, runs=load.runs)
            for load in distribution.slots
        ],
    )


class MoveResponse(_Response):
    """A job that a rebalance moves to another slot."""

    job_id: str
    from_slot: int
    to_slot: int
    next_run_at: Moment
    new_next_run_at: Moment


class RebalanceResponse(_Response):
    """Moves of a rebalance, and the distribution scores before and after."""

    model_config = with_example(examples.REBALANCE)
    moves: list[MoveResponse]
    score_before: float
    score_after: float
    applied: int
    """Jobs that were moved; 0 in a preview."""


def rebalance_response(plan: RebalancePlan) -> RebalanceResponse:
    """Return a plan as clients see it."""
    return RebalanceResponse(
        moves=[
            MoveResponse(
                job_id=move.job_id,
                from_slot=move.from_slot,
                to_slot=move.to_slot,
                next_run_at=moment_of(move.next_run_at_ms),
                new_next_run_at=moment_of(move.new_next_run_at_ms),
            )
            for move in plan.moves
        ],
        score_before=plan.score_before,
        score_after=plan.score_after,
        applied=plan.applied,
    )
