"""Metrics of the scheduler, and the implementation of its meter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from strider.contracts.generated.enums import DecisionReason
from strider.crawl.run_log import RunLog
from strider.frontier.models import ShardStats
from strider.runtime.observability.log_events import LogEvent
from strider.runtime.observability.metrics import Metric, Metrics
from strider.scheduler.core.release.backpressure import PipelineBacklog

DECIDED: Final = Metric(
    "strider_scheduler_decisions_total",
    "counter",
    "Decisions about URLs, by decision.",
    ("decision",),
)
REBUILT: Final = Metric(
    "strider_frontier_rebuilt_ratio", "gauge", "Progress of the last rebuild; 1: done.", ("shard",), 4096
)
QUEUED: Final = Metric(
    "strider_frontier_queued", "gauge", "Entries queued in the working set.", ("shard",), max_series=4096
)
LEASED: Final = Metric(
    "strider_frontier_leased", "gauge", "Requests released and not ended.", ("shard",), 4096
)
IN_PIPELINE: Final = Metric(
    "strider_frontier_in_ring", "gauge", "Pages fetched and not settled.", ("shard",), 4096
)
GROUPS: Final = Metric("strider_frontier_groups", "gauge", "Host groups with state.", ("shard",), 4096)
PARKED: Final = Metric(
    "strider_frontier_parked",
    "gauge",
    "Entries only in the log until there is room.",
    ("shard",),
    4096,
)
ASLEEP: Final = Metric(
    "strider_frontier_asleep", "gauge", "Entries only in the log until nearly due.", ("shard",), 4096
)
MEMORY: Final = Metric(
    "strider_frontier_memory_percent", "gauge", "Memory in use of the store of a shard.", ("shard",), 4096
)
DUE: Final = Metric(
    "strider_frontier_due",
    "gauge",
    "Host groups from which a request could start now: work for additional fetchers.",
    ("shard",),
    4096,
)
REFILLS: Final = Metric(
    "strider_frontier_refills_total",
    "counter",
    "Passes through the log for parked entries.",
    ("shard",),
    4096,
)
REFILLED: Final = Metric(
    "strider_frontier_refilled_total", "counter", "Parked entries that were queued again.", ("shard",), 4096
)
ROBOTS_DENIALS: Final = Metric("crawler_robots_denials", "counter", "URLs denied by robots.txt.")
FRONTIER_SIZE: Final = Metric(
    "crawler_frontier_size",
    "gauge",
    "Entries still to be fetched, including parked ones.",
    ("shard",),
    4096,
)
WAITING: Final = Metric(
    "strider_release_backlog",
    "gauge",
    "Unread messages of a group of the pipeline that count against release.",
    ("group", "topic"),
)
RUNS_COMPLETED: Final = Metric("strider_runs_completed_total", "counter", "Runs that have ended.")
RUNS_ENDING: Final = Metric(
    "strider_runs_ending",
    "gauge",
    "Closed or cancelled runs of which something may be open, and whose end is proven here.",
)
FULLNESS: Final = (QUEUED, LEASED, IN_PIPELINE, GROUPS, PARKED, ASLEEP, MEMORY, DUE)
RUNS: Final = (RUNS_COMPLETED, RUNS_ENDING)
METRICS: Final = (
    DECIDED,
    REBUILT,
    *FULLNESS,
    REFILLS,
    REFILLED,
    WAITING,
    ROBOTS_DENIALS,
    FRONTIER_SIZE,
    *RUNS,
)


class SchedulerMetrics:
    """Sets the metrics of the process."""

    def __init__(
        self, metrics: Metrics, *, beat: Callable[[], None] = lambda: None, journal: RunLog | None = None
    ) -> None:
        """Declare the metrics; `beat` tells the watchdog that the process makes progress."""
        self._metrics = metrics
        self._journal = journal
        self._beat = beat
        for metric in METRICS:
            metrics.declare(metric)

    def count_decision(self, decision: str, count: int = 1) -> None:
        """Count decisions."""
        self._metrics.count(DECIDED, decision, amount=count)
        if decision == DecisionReason.ROBOTS_DENIED:
            self._metrics.count(ROBOTS_DENIALS, amount=count)

    def note_run_event(self, event: LogEvent, job_id: str, execution_id: str, kind: str, count: int) -> None:
        """Add the event to the run log."""
        if self._journal is not None:
            self._journal.record(event, job_id, execution_id, kind, count)

    def set_fullness(self, shard: int, figures: ShardStats | None) -> None:
        """Set the figures of a shard, or zero where it is no longer owned."""
        name = str(shard)
        values = [0] * len(FULLNESS)
        if figures is not None:
            values = [figures.queued, figures.leased, figures.in_pipeline, figures.host_groups]
            values += [figures.overflow, figures.deferred, figures.memory_percent, figures.due_groups]
        for metric, value in zip(FULLNESS, values, strict=True):
            self._metrics.set(metric, name, value=value)
        size = 0 if figures is None else figures.queued + figures.overflow + figures.deferred
        self._metrics.set(FRONTIER_SIZE, name, value=size)

    def set_backlog(self, backlog: PipelineBacklog) -> None:
        """Set the unread messages of each gating group."""
        for gate, waiting in backlog.unread.items():
            self._metrics.set(WAITING, gate.group, gate.topic, value=sum(waiting))

    def count_refill(self, shard: int, entries: int) -> None:
        """Count a pass through the log."""
        self._metrics.count(REFILLS, str(shard))
        self._metrics.count(REFILLED, str(shard), amount=entries)

    def set_rebuild_progress(self, shard: int, share: float) -> None:
        """Set the progress of a rebuild."""
        self._beat()
        self._metrics.set(REBUILT, str(shard), value=share)

    def count_completed_run(self) -> None:
        """Count a run that has ended."""
        self._metrics.count(RUNS_COMPLETED)

    def set_ending_runs(self, count: int) -> None:
        """Set the number of runs that are to end."""
        self._metrics.set(RUNS_ENDING, value=count)
