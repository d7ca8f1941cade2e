"""Metrics of insights: outcomes of all hosts, the busiest hosts by name, and losses.

Hosts are untrusted and unlimited in number, so only a few of them become labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from strider.insights import log_events
from strider.insights.core import HostCounts, count_requests, keep_busiest
from strider.runtime.observability.logging import logger
from strider.runtime.observability.metrics import LOSSES, LOST_MESSAGES, Metric, Metrics

from .consumer import RetentionGap

MAX_NAMED_HOSTS: Final = 10
GAUGE_INTERVAL_SECONDS: Final = 5.0

OUTCOMES: Final = Metric(
    "strider_insights_outcomes_total",
    "counter",
    "Counted outcomes of requests and verdicts on pages; other requests have their kind as prefix.",
    ("outcome",),
)
HOSTS: Final = Metric("strider_insights_hosts", "gauge", "Hosts in the table of this process.")
BUSIEST: Final = Metric(
    "strider_insights_busiest_host_requests",
    "gauge",
    f"Requests in the latest hour to each of the {MAX_NAMED_HOSTS} busiest hosts of this process.",
    ("host",),
    max_series=MAX_NAMED_HOSTS,
)

_log = logger("insights")


class InsightsMetrics:
    """Updates metrics. The busiest hosts are set from time to time: a label costs as much as an event."""

    def __init__(self, metrics: Metrics, *, host_count: Callable[[], int]) -> None:
        self._metrics = metrics
        self._host_count = host_count
        self._hour = 0
        self._busiest: dict[str, int] = {}
        self._named: frozenset[str] = frozenset()
        for metric in (OUTCOMES, HOSTS, BUSIEST):
            metrics.declare(metric)

    def on_label(self, label: str) -> None:
        """Count an event under its label."""
        self._metrics.count(OUTCOMES, label)

    def on_host(self, host: str, counts: HostCounts) -> None:
        """Remember a host that is among the busiest of the latest hour."""
        if counts["hour"] < self._hour:
            return
        before = self._busiest if counts["hour"] == self._hour else {}
        requests = count_requests(counts["this_hour"])
        self._busiest = keep_busiest(before, host=host, requests=requests, most=MAX_NAMED_HOSTS)
        self._hour = counts["hour"]

    async def update_gauges(self) -> None:
        """Set the gauges of the busiest hosts and of the number of hosts."""
        for gone in self._named - self._busiest.keys():
            self._metrics.remove(BUSIEST, gone)
        for host, requests in self._busiest.items():
            self._metrics.set(BUSIEST, host, value=requests)
        self._named = frozenset(self._busiest)
        self._metrics.set(HOSTS, value=self._host_count())


class RetentionLossReporter:
    """Reports messages that retention deleted before they were counted."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def report(self, gap: RetentionGap) -> None:
        """Log and count the lost range; a group that has never read has lost nothing."""
        if gap.expected is None:
            return
        topic, partition = gap.partition
        gone = gap.first_available - gap.expected
        self._metrics.count(LOSSES, topic)
        self._metrics.count(LOST_MESSAGES, topic, amount=gone)
        _log.emit(
            log_events.UNCOUNTED_MESSAGES_LOST,
            topic=topic,
            partition=partition,
            lost_from=gap.expected,
            lost_to=gap.first_available - 1,
            messages=gone,
        )
