"""Metrics of the fetcher: requests in flight, outcomes, bytes, rates.

Its heartbeat publishes the same counts. Called for every request, hence short. Rates are over the
last minute, in steps of a few seconds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.enums import FetchOutcome, RequestKind
from strider.contracts.generated.events import FetchCompleted, FetchRequested
from strider.crawl.run_log import RunLog
from strider.fetcher import log_events
from strider.messaging.ports import Clock
from strider.runtime.observability.metrics import Alert, Metric, Metrics
from strider.storage.worker_heartbeats import WorkerTotals

RATE_SECONDS: Final = 60.0

PAGES: Final = Metric("crawler_pages_fetched_total", "counter", "Page requests that returned a page.")
STATUS: Final = Metric(
    "crawler_http_status_total",
    "counter",
    "Responses by status.",
    ("status",),
    alert=Alert(
        "ManyErrorResponses",
        'sum(rate($metric{status=~"[45].."}[5m])) / sum(rate($metric[5m])) > 0.2',
        5,
        "More than a fifth of all responses were 4xx or 5xx for five minutes.",
    ),
)
ENDED: Final = Metric(
    "crawler_fetches_total",
    "counter",
    "Finished requests by outcome.",
    ("outcome", "error"),
)
BYTES: Final = Metric("crawler_bytes_downloaded_total", "counter", "Bytes of bodies, as sent.")
PER_SECOND: Final = Metric("crawler_pages_per_second", "gauge", "Pages per second, over the last minute.")
SUCCESS_RATE: Final = Metric(
    "crawler_fetch_success_rate", "gauge", "Share of requests that succeeded, over the last minute."
)
FETCHER_METRICS: Final = (PAGES, STATUS, ENDED, BYTES, PER_SECOND, SUCCESS_RATE)

_SUCCESSFUL: Final = frozenset({FetchOutcome.FETCHED, FetchOutcome.NOT_MODIFIED, FetchOutcome.REDIRECTED})


@dataclass(frozen=True, slots=True)
class _RateSample:
    """Counts at a moment."""

    at: float
    pages: int
    successful: int
    finished: int


class FetchMetrics:
    """Counts requests."""

    def __init__(self, metrics: Metrics, *, clock: Clock, journal: RunLog | None = None) -> None:
        for metric in FETCHER_METRICS:
            metrics.declare(metric)
        self._metrics = metrics
        self._clock = clock
        self._journal = journal
        self._in_flight: dict[str, str] = {}
        """URL by lease, the oldest first."""
        self._pages = self._successful = self._finished = self._bytes = 0
        self._reported = WorkerTotals()
        self._samples = deque([_RateSample(clock.monotonic(), 0, 0, 0)])

    @property
    def in_flight(self) -> int:
        """Return the number of running requests."""
        return len(self._in_flight)

    @property
    def current_url(self) -> str:
        """The URL that has been running for the longest time; empty if there is none."""
        return next(iter(self._in_flight.values()), "")

    def request_started(self, request: FetchRequested) -> None:
        """Record that a request was started."""
        self._in_flight[request.lease_id] = request.url

    def request_finished(self, lease_id: str, completed: FetchCompleted | None) -> None:
        """Record that a request has ended; None if it has no outcome."""
        self._in_flight.pop(lease_id, None)
        if completed is None:
            return
        count = self._metrics.count
        count(ENDED, completed.outcome, completed.error_class)
        self._finished += 1
        if completed.outcome in _SUCCESSFUL:
            self._successful += 1
        if completed.status:
            count(STATUS, str(completed.status))
        if completed.body_bytes:
            count(BYTES, amount=completed.body_bytes)
            self._bytes += completed.body_bytes
        if completed.has_page:
            count(PAGES)
            self._pages += 1
        if self._journal is not None and completed.kind != RequestKind.ROBOTS:
            _note_request(self._journal, completed)

    def update_rates(self) -> None:
        """Recompute the rates."""
        now, samples = self._clock.monotonic(), self._samples
        samples.append(_RateSample(now, self._pages, self._successful, self._finished))
        while len(samples) > 2 and samples[1].at <= now - RATE_SECONDS:  # noqa: PLR2004  # a first and a last
            samples.popleft()
        first, last = samples[0], samples[-1]
        if last.at > first.at:
            self._metrics.set(PER_SECOND, value=(last.pages - first.pages) / (last.at - first.at))
        if last.finished > first.finished:
            self._metrics.set(
                SUCCESS_RATE, value=(last.successful - first.successful) / (last.finished - first.finished)
            )

    def unreported_counts(self) -> tuple[WorkerTotals, WorkerTotals]:
        """Return the counts since the last report, and the total to pass to `mark_reported`."""
        total = WorkerTotals(self._pages, self._finished - self._successful, self._bytes)
        unreported = WorkerTotals(
            total.pages_crawled - self._reported.pages_crawled,
            total.pages_failed - self._reported.pages_failed,
            total.bytes_downloaded - self._reported.bytes_downloaded,
        )
        return unreported, total

    def mark_reported(self, total: WorkerTotals) -> None:
        """Record that a total was reported."""
        self._reported = total


def _note_request(journal: RunLog, completed: FetchCompleted) -> None:
    """Count a request in the log of its run: by status, or by why there is none."""
    event, kind = log_events.RESPONSES_RECEIVED, str(completed.status)
    if not completed.status:
        event, kind = log_events.REQUESTS_UNANSWERED, completed.error_class or completed.outcome
    journal.record(event, completed.job_id, completed.execution_id, kind)
