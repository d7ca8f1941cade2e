"""What the fetcher has in hand and has done: as metrics, and for its heartbeats.

Called for every request, hence short. Rates are over the last minute, by steps of a few seconds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.enums import FetchOutcome
from strider.contracts.generated.events import FetchCompleted, FetchRequested
from strider.messaging.ports import Clock
from strider.runtime.observability.metrics import Metric, Metrics
from strider.storage.worker_heartbeats import WorkerTotals

RATE_SECONDS: Final = 60.0

PAGES: Final = Metric("crawler_pages_fetched_total", "counter", "Requests for pages that brought one.")
STATUS: Final = Metric("crawler_http_status_total", "counter", "Answers by status.", ("status",))
ENDED: Final = Metric(
    "crawler_fetches_total",
    "counter",
    "Requests that are over.",
    ("outcome", "error"),
)
BYTES: Final = Metric("crawler_bytes_downloaded_total", "counter", "Bytes of bodies, as they were sent.")
PER_SECOND: Final = Metric("crawler_pages_per_second", "gauge", "Pages a second, over the last minute.")
SUCCESS_RATE: Final = Metric(
    "crawler_fetch_success_rate", "gauge", "Share of requests that were answered well, over the last minute."
)
FETCHER_METRICS: Final = (PAGES, STATUS, ENDED, BYTES, PER_SECOND, SUCCESS_RATE)

_SUCCESSFUL: Final = frozenset({FetchOutcome.FETCHED, FetchOutcome.NOT_MODIFIED, FetchOutcome.REDIRECTED})


@dataclass(frozen=True, slots=True)
class _RateSample:
    """What had been done at some moment."""

    at: float
    pages: int
    well: int
    ended: int


class Tally:
    """Counts requests."""

    def __init__(self, metrics: Metrics, *, clock: Clock) -> None:
        for metric in FETCHER_METRICS:
            metrics.declare(metric)
        self._metrics = metrics
        self._clock = clock
        self._in_hand: dict[str, str] = {}
        """URL by lease, the oldest first."""
        self._pages = self._successful = self._ended = self._bytes = 0
        self._told = WorkerTotals()
        self._steps = deque([_RateSample(clock.monotonic(), 0, 0, 0)])

    @property
    def in_flight(self) -> int:
        """How many requests are being worked on."""
        return len(self._in_hand)

    @property
    def current_url(self) -> str:
        """The URL that has been in hand for the longest time."""
        return next(iter(self._in_hand.values()), "")

    def request_started(self, request: FetchRequested) -> None:
        """Note that a request was taken in hand."""
        self._in_hand[request.lease_id] = request.url

    def request_finished(self, lease_id: str, completed: FetchCompleted | None) -> None:
        """Note that a request is done with; None where nothing came of it."""
        self._in_hand.pop(lease_id, None)
        if completed is None:
            return
        count = self._metrics.count
        count(ENDED, completed.outcome, completed.error_class)
        self._ended += 1
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

    def update_rates(self) -> None:
        """Work out the rates anew."""
        now, steps = self._clock.monotonic(), self._steps
        steps.append(_RateSample(now, self._pages, self._successful, self._ended))
        while len(steps) > 2 and steps[1].at <= now - RATE_SECONDS:  # noqa: PLR2004  # a beginning and an end
            steps.popleft()
        first, last = steps[0], steps[-1]
        if last.at > first.at:
            self._metrics.set(PER_SECOND, value=(last.pages - first.pages) / (last.at - first.at))
        if last.ended > first.ended:
            self._metrics.set(SUCCESS_RATE, value=(last.well - first.well) / (last.ended - first.ended))

    def unreported_counts(self) -> tuple[WorkerTotals, WorkerTotals]:
        """Give what was done since it was told last, and what to hand to `told` once that is told."""
        total = WorkerTotals(self._pages, self._ended - self._successful, self._bytes)
        news = WorkerTotals(
            total.pages_crawled - self._told.pages_crawled,
            total.pages_failed - self._told.pages_failed,
            total.bytes_downloaded - self._told.bytes_downloaded,
        )
        return news, total

    def mark_reported(self, total: WorkerTotals) -> None:
        """Remember what was told."""
        self._told = total
