"""Counts in the process's metrics: by outcome for all hosts, and the busiest hosts by name.

Hosts come from outside and may be endless, so only a few of them are ever a label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from strider.insights.core import HostCounts, busiest, requests_in
from strider.runtime.observability.logging import logger
from strider.runtime.observability.metrics import LOSSES, LOST_MESSAGES, Metric, Metrics

from .commits import Taken

MOST_NAMED: Final = 10
SHOW_SECONDS: Final = 5.0

OUTCOMES: Final = Metric(
    "strider_insights_outcomes_total",
    "counter",
    "Outcomes of requests and verdicts on pages that were counted; requests for no page say so.",
    ("outcome",),
)
HOSTS: Final = Metric("strider_insights_hosts", "gauge", "Hosts in the table of this process.")
BUSIEST: Final = Metric(
    "strider_insights_busiest_host_requests",
    "gauge",
    f"Requests in the latest hour to each of the {MOST_NAMED} busiest hosts of this process.",
    ("host",),
    max_series=MOST_NAMED,
)

_log = logger("insights")


class ProcessMeter:
    """Tells what was counted. The busiest hosts are named now and then: a label costs as much as an event."""

    def __init__(self, metrics: Metrics, *, known: Callable[[], int]) -> None:
        self._metrics = metrics
        self._known = known
        self._hour = 0
        self._busiest: dict[str, int] = {}
        self._named: frozenset[str] = frozenset()
        for metric in (OUTCOMES, HOSTS, BUSIEST):
            metrics.declare(metric)

    def word(self, word: str) -> None:
        """Count a word."""
        self._metrics.count(OUTCOMES, word)

    def host(self, host: str, counts: HostCounts) -> None:
        """Note a host where it is among the busiest of the latest hour."""
        if counts["hour"] < self._hour:
            return
        before = self._busiest if counts["hour"] == self._hour else {}
        requests = requests_in(counts["this_hour"])
        self._busiest = busiest(before, host=host, requests=requests, most=MOST_NAMED)
        self._hour = counts["hour"]

    async def show(self) -> None:
        """Name the busiest hosts, and say how many there are."""
        for gone in self._named - self._busiest.keys():
            self._metrics.remove(BUSIEST, gone)
        for host, requests in self._busiest.items():
            self._metrics.set(BUSIEST, host, value=requests)
        self._named = frozenset(self._busiest)
        self._metrics.set(HOSTS, value=self._known())


class Losses:
    """Says what retention took before it was counted."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def tell(self, hole: Taken) -> None:
        """Name the range in the log and the metrics; a group that never read has lost nothing."""
        if hole.wanted is None:
            return
        topic, partition = hole.place
        gone = hole.available - hole.wanted
        self._metrics.count(LOSSES, topic)
        self._metrics.count(LOST_MESSAGES, topic, amount=gone)
        _log.error(
            "Messages lost",
            topic=topic,
            partition=partition,
            lost_from=hole.wanted,
            lost_to=hole.available - 1,
            messages=gone,
        )
