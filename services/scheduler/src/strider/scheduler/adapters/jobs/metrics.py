"""Metrics of jobs, and the implementation of their meter.

Totals of PostgreSQL are read by every scheduler, which all report the same; launches and results are counted
by the one that made them.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.enums import JobState
from strider.jobs.models import Distribution, ScheduleMetrics
from strider.jobs.states import ExecutionState
from strider.runtime.observability.metrics import Alert, Metric, Metrics

JOBS: Final = Metric("strider_jobs", "gauge", "Jobs, by state.", ("state",))
JOBS_DUE: Final = Metric("strider_jobs_due", "gauge", "Jobs that are due and not claimed.")
JOBS_LATE: Final = Metric(
    "strider_jobs_late_seconds",
    "gauge",
    "Time for which the first of them is due.",
    alert=Alert("JobsLate", "$metric > 120", 5, "Jobs are not launched; the log of a scheduler says why."),
)
JOBS_LAUNCHING: Final = Metric("strider_jobs_launching", "gauge", "Jobs whose lock is held.")
LAUNCHED: Final = Metric("strider_job_launches_total", "counter", "Runs of jobs that were launched.")
RELAUNCHED: Final = Metric(
    "strider_job_relaunches_total",
    "counter",
    "Runs of jobs that were launched again because their closing message had no effect.",
)
FINISHED: Final = Metric(
    "strider_job_runs_finished_total", "counter", "Runs of jobs that have ended, by result.", ("result",)
)
EXECUTIONS: Final = Metric(
    "strider_job_executions", "gauge", "Executions that began within a day, by state.", ("state",)
)
DURATION: Final = Metric(
    "strider_job_duration_seconds", "gauge", "Average duration of the executions of a day."
)
SUCCESS_RATE: Final = Metric(
    "strider_job_success_ratio",
    "gauge",
    "Completed executions of a day, as a share of those that completed or failed; 1 where there is none.",
    alert=Alert(
        "JobsFail",
        "$metric < 0.8",
        5,
        "More than a fifth of the executions of a day failed; the executions of each job name the errors.",
    ),
)
STALE_LOCKS: Final = Metric(
    "strider_job_stale_locks_cleared_total",
    "counter",
    "Locks of schedulers that stopped while they launched a run, and whose run was launched again.",
    alert=Alert(
        "StaleJobLocks",
        "increase($metric[30m]) > 0 and increase($metric[30m] offset 30m) > 0",
        0,
        "Schedulers stop again and again while they launch runs; their logs and exit codes have the cause.",
    ),
)
DISTRIBUTION: Final = Metric(
    "strider_job_distribution_score",
    "gauge",
    "How evenly recurring jobs are distributed over the day: 1 is even; 1 where there are too few to tell.",
    alert=Alert(
        "JobsUneven",
        "$metric < 0.7",
        60,
        "Many jobs are due at the same times of the day; preview a rebalance, then apply it.",
    ),
)
TOTALS: Final = (JOBS, JOBS_DUE, JOBS_LATE, JOBS_LAUNCHING, EXECUTIONS, DURATION, SUCCESS_RATE, DISTRIBUTION)
COUNTERS: Final = (LAUNCHED, RELAUNCHED, FINISHED, STALE_LOCKS)

MIN_DISTRIBUTED_JOBS: Final = 96
"""Recurring jobs below which their distribution says nothing: one for each slot of a day."""


class JobMetrics:
    """Sets the metrics of jobs."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        for metric in (*TOTALS, *COUNTERS):
            metrics.declare(metric)
        metrics.count(STALE_LOCKS, amount=0)  # a rise from nothing is no rise to Prometheus
        metrics.set(SUCCESS_RATE, value=1)
        metrics.set(DISTRIBUTION, value=1)

    def count_launched(self) -> None:
        """Count a launched run."""
        self._metrics.count(LAUNCHED)

    def count_relaunched(self) -> None:
        """Count a run that was launched again."""
        self._metrics.count(RELAUNCHED)

    def count_finished(self, outcome: ExecutionState) -> None:
        """Count a result."""
        self._metrics.count(FINISHED, outcome.value)

    def count_stale_locks(self, count: int) -> None:
        """Count locks that were taken over."""
        self._metrics.count(STALE_LOCKS, amount=count)

    def set_totals(self, totals: ScheduleMetrics, distribution: Distribution) -> None:
        """Set what PostgreSQL has of all jobs."""
        for state in JobState:
            self._metrics.set(JOBS, state.value, value=totals.jobs.get(state, 0))
        for outcome in ExecutionState:
            self._metrics.set(EXECUTIONS, outcome.value, value=totals.executions.get(outcome, 0))
        self._metrics.set(JOBS_DUE, value=totals.due)
        self._metrics.set(JOBS_LATE, value=totals.oldest_due_ms / 1000)
        self._metrics.set(JOBS_LAUNCHING, value=totals.launching)
        self._metrics.set(DURATION, value=(totals.average_duration_ms or 0) / 1000)
        self._metrics.set(SUCCESS_RATE, value=1 if totals.success_rate is None else totals.success_rate)
        is_known = distribution.jobs >= MIN_DISTRIBUTED_JOBS
        self._metrics.set(DISTRIBUTION, value=distribution.score if is_known else 1)
