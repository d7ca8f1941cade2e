"""Metrics of a process: each declared once, with a bound on the number of its series.

A declaration has kind, labels, meaning and, where a person must act on it, an alert; the tables of the
operations page and the rules for Prometheus are rendered from it. A label whose
values come from outside (a reason, a topic) cannot fill the memory: past a metric's `max_series` new values
are counted under `other`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.metrics import MetricWrapperBase

OTHER: Final = "other"

DURATION_BUCKETS: Final = (
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
    5,
    10,
    30,
    60,
)
"""Bounds for durations of handlers, from a cache hit to a hanging site."""


@dataclass(frozen=True, slots=True)
class Alert:
    """Condition of a metric on which a person must act."""

    name: str
    expression: str
    """In PromQL; `$metric` stands for the metric's name."""
    minutes: int
    """Time that the condition must hold."""
    meaning: str

    def __post_init__(self) -> None:
        """Refuse a condition that is not about its metric."""
        if "$metric" not in self.expression or not self.name.isidentifier():
            raise ValueError(f"alert {self.name!r} needs a name of letters and $metric in its expression")


@dataclass(frozen=True, slots=True)
class Metric:
    """Declaration of one metric."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    max_series: int = 200
    alert: Alert | None = None

    @property
    def sample_name(self) -> str:
        """Return the name at `/metrics`: that of a counter always ends in `_total`."""
        return f"{self.name.removesuffix('_total')}_total" if self.kind == "counter" else self.name


def _rise(minutes: int) -> str:
    """Return the condition that a counter rose, or appeared, which is its first rise."""
    window = f"{minutes}m"
    return f"($metric unless $metric offset {window}) > 0 or increase($metric[{window}]) > 0"


MESSAGES: Final = Metric(
    "strider_messages_total",
    "counter",
    "Messages done, by outcome; the outcomes are a closed list of each service.",
    ("topic", "outcome"),
)
HANDLER_SECONDS: Final = Metric(
    "strider_handler_seconds",
    "histogram",
    "Time from the start of a message to the result of its handler.",
    ("topic",),
)
IN_FLIGHT_BYTES: Final = Metric(
    "strider_in_flight_bytes", "gauge", "Bytes of the messages read and not done.", ("group",)
)
IN_FLIGHT: Final = Metric("strider_in_flight", "gauge", "Messages read and not done.", ("group",))
ACTIVE_WORKERS: Final = Metric("crawler_active_workers", "gauge", "Handlers running now.", ("group",))
WAITING_FOR_PLACE: Final = Metric(
    "strider_waiting_for_place",
    "gauge",
    "Messages that wait because the places of their senders are taken; by group of senders.",
    ("group", "senders"),
)
PLACE_WAIT_SECONDS: Final = Metric(
    "strider_place_wait_seconds",
    "gauge",
    "Time for which the longest of them waits.",
    ("group", "senders"),
    alert=Alert(
        "PlacesFull",
        "$metric > 10",
        5,
        "Requests wait for a place for more than ten seconds: there are too few fetchers or places.",
    ),
)
LAG: Final = Metric(
    "kafka_consumergroup_lag",
    "gauge",
    "Messages between the committed offset and the end of the log, for partitions of this process.",
    ("group", "topic", "partition"),
    max_series=4096,
)
DEAD_LETTERS: Final = Metric(
    "strider_dead_letters_total",
    "counter",
    "Messages that went to the dead letters.",
    ("topic", "reason"),
    alert=Alert(
        "DeadLetters",
        _rise(15),
        0,
        "Messages were given up; the table `error_logs` has them with their reasons.",
    ),
)
LOSSES: Final = Metric(
    "strider_loss_events_total",
    "counter",
    "Times that retention deleted messages unread.",
    ("topic",),
    alert=Alert(
        "MessagesLost",
        _rise(15),
        0,
        "Retention deleted messages before a group had read them; the log names the range.",
    ),
)
LOST_MESSAGES: Final = Metric(
    "strider_lost_messages_total", "counter", "Messages that retention deleted unread.", ("topic",)
)
SKIPPED_BATCHES: Final = Metric(
    "strider_skipped_batches_total",
    "counter",
    "Record batches skipped unread, because they are too large or cannot be parsed.",
    ("topic",),
    alert=Alert(
        "BatchesSkipped",
        _rise(15),
        0,
        "A producer writes batches that are too large or cannot be parsed; the dead letters name them.",
    ),
)
TRUNCATED_LOGS: Final = Metric(
    "strider_truncated_logs_total",
    "counter",
    "Times that a partition was found to end before the offset up to which it was read.",
    ("topic",),
    alert=Alert(
        "LogTruncated",
        _rise(15),
        0,
        "A broker lost the end of a log (power cut, unclean election), or a topic was made again.",
    ),
)
PAUSED: Final = Metric(
    "strider_paused", "gauge", "1 while consumption is paused for a stated reason.", ("group", "reason")
)
PAUSES: Final = Metric("strider_pauses_total", "counter", "Pauses that began.", ("reason",))
REBALANCES: Final = Metric("strider_rebalances_total", "counter", "Rebalances of the group.", ("group",))
COMMIT_FAILURES: Final = Metric(
    "strider_commit_failures_total",
    "counter",
    "Commits that the broker refused or did not answer.",
    ("group", "why"),
)
RETRIES: Final = Metric(
    "strider_retries_total", "counter", "Messages retried because a dependency was unavailable.", ("part",)
)
STALLS: Final = Metric(
    "strider_stalls_total",
    "counter",
    "Times that the watchdog found nothing moving.",
    ("kind",),
    alert=Alert(
        "ProcessStalled",
        _rise(10),
        0,
        "The watchdog found that a process made no progress.",
    ),
)
LAST_ACTIVITY: Final = Metric(
    "strider_last_activity_age_seconds", "gauge", "Seconds since the last activity of the process."
)
LOOP_DELAY: Final = Metric(
    "strider_event_loop_delay_seconds", "gauge", "How late the event loop was at its last tick."
)
DEPENDENCY_UP: Final = Metric(
    "strider_dependency_up",
    "gauge",
    "1 while the dependency responds.",
    ("part",),
    alert=Alert(
        "DependencyUnavailable",
        "$metric == 0",
        5,
        "A dependency has not responded to a process for five minutes; the process waits.",
    ),
)
JOB_LOG_DROPPED: Final = Metric(
    "strider_job_log_dropped_total",
    "counter",
    "Lines of job logs that were dropped, because the sink was full or unavailable.",
)
SPANS_LOST: Final = Metric("strider_spans_lost_total", "counter", "Spans that the collector did not take.")
BUILD: Final = Metric(
    "strider_build_info", "gauge", "1, labelled with service and version.", ("service", "version")
)

RUNTIME_METRICS: Final = (
    MESSAGES,
    HANDLER_SECONDS,
    IN_FLIGHT,
    IN_FLIGHT_BYTES,
    ACTIVE_WORKERS,
    WAITING_FOR_PLACE,
    PLACE_WAIT_SECONDS,
    LAG,
    DEAD_LETTERS,
    LOSSES,
    LOST_MESSAGES,
    SKIPPED_BATCHES,
    TRUNCATED_LOGS,
    PAUSED,
    PAUSES,
    REBALANCES,
    COMMIT_FAILURES,
    RETRIES,
    STALLS,
    LAST_ACTIVITY,
    LOOP_DELAY,
    DEPENDENCY_UP,
    JOB_LOG_DROPPED,
    SPANS_LOST,
    BUILD,
)
"""Metrics of every process."""


class _PendingCount:
    """Amount counted of a series since the last rendering: the library's own counter takes seven calls."""

    __slots__ = ("amount", "series")

    def __init__(self, series: Counter) -> None:
        self.amount = 0.0
        self.series = series


class Metrics:
    """The metrics of one process, in a registry of its own."""

    def __init__(self, declared: Iterable[Metric] = RUNTIME_METRICS, *, with_process: bool = False) -> None:
        self.registry = CollectorRegistry()
        self._families: dict[str, MetricWrapperBase] = {}
        self._series: dict[tuple[str, tuple[str, ...]], MetricWrapperBase] = {}
        self._pending: dict[tuple[str, tuple[str, ...]], _PendingCount] = {}
        self._counts: dict[str, int] = {}
        for metric in declared:
            self.declare(metric)
        if with_process:
            ProcessCollector(registry=self.registry)
            PlatformCollector(registry=self.registry)

    def declare(self, metric: Metric) -> None:
        """Add a metric; a second declaration of one name is a mistake and raises ValueError."""
        if metric.kind == "histogram":
            family: MetricWrapperBase = Histogram(
                metric.name, metric.help, metric.labels, buckets=DURATION_BUCKETS, registry=self.registry
            )
        else:
            kind = Counter if metric.kind == "counter" else Gauge
            family = kind(metric.name, metric.help, metric.labels, registry=self.registry)
        self._families[metric.name] = family
        self._counts[metric.name] = 0

    def count(self, metric: Metric, *labels: str, amount: float = 1) -> None:
        """Add to a counter; called several times a page."""
        counted = self._pending.get((metric.name, labels))
        if counted is not None:
            counted.amount += amount
            return
        series = self._series_of(metric, labels)
        assert isinstance(series, Counter)
        series.inc(amount)
        key = (metric.name, labels)
        if key in self._series:  # else it was counted under `other`
            self._pending[key] = _PendingCount(series)

    def set(self, metric: Metric, *labels: str, value: float) -> None:
        """Set a gauge."""
        series = self._series_of(metric, labels)
        assert isinstance(series, Gauge)
        series.set(value)

    def observe(self, metric: Metric, *labels: str, value: float) -> None:
        """Add an observation to a histogram."""
        series = self._series_of(metric, labels)
        assert isinstance(series, Histogram)
        series.observe(value)

    def remove(self, metric: Metric, *labels: str) -> None:
        """Remove a series, such as the lag of a partition that another process has now."""
        self._pending.pop((metric.name, labels), None)
        if self._series.pop((metric.name, labels), None) is not None:
            self._families[metric.name].remove(*labels)
            self._counts[metric.name] -= 1

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        self._flush_pending()
        return generate_latest(self.registry)

    def value(self, metric: Metric, *labels: str) -> float | None:
        """Return the value of one sample, for readiness and tests; None where nothing was counted yet."""
        self._flush_pending()
        pairs = dict(zip(metric.labels, labels, strict=True))
        return self.registry.get_sample_value(metric.name, pairs)

    def _flush_pending(self) -> None:
        """Add pending amounts to the registry's counters."""
        for counted in self._pending.values():
            amount, counted.amount = counted.amount, 0.0
            if amount:
                counted.series.inc(amount)

    def _series_of(self, metric: Metric, labels: tuple[str, ...]) -> MetricWrapperBase:
        key = (metric.name, labels)
        series = self._series.get(key)
        if series is not None:
            return series
        family = self._families[metric.name]
        if self._counts[metric.name] >= metric.max_series:
            return family.labels(*(OTHER for _ in labels))  # not kept: values from outside may be endless
        self._counts[metric.name] += 1
        series = self._series[key] = family.labels(*labels) if labels else family
        return series


def metric_table(declared: Iterable[Metric] = RUNTIME_METRICS) -> str:
    """Render declarations as the Markdown table of the operations page."""
    lines = ["| metric | kind | labels | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{metric.name}` | {metric.kind} | {' '.join(metric.labels) or '-'} | {metric.help} |"
        for metric in declared
    ]
    return "\n".join(lines) + "\n"
