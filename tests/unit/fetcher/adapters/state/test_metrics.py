"""Counts of a fetcher, for Prometheus and for its heartbeat."""

from __future__ import annotations

import pytest

from strider.contracts.generated.enums import ErrorClass
from strider.crawl.run_log import RunLog
from strider.fetcher.adapters.state.metrics import FetchMetrics
from strider.fetcher.core import FailedFetch, FetchedResponse, RedirectRules, interpret_result
from strider.messaging.log_events import LogEvent, logger
from strider.runtime.observability.metrics import Metrics
from strider.storage.worker_heartbeats import WorkerTotals
from tests.unit.crawl.noted_events import NotedEvents
from tests.unit.fetcher.builders import TRACE, ManualClock, a_request, a_response


def _ended(fetch_metrics: FetchMetrics, lease: str, result: FetchedResponse | FailedFetch) -> None:
    wanted = a_request(lease_id=lease)
    fetch_metrics.request_started(wanted)
    fetch_metrics.request_finished(
        lease, interpret_result(wanted, result, trace=TRACE, rules=RedirectRules()).completed
    )


@pytest.mark.req("S3.14.1", "S3.14.2", "S3.14.3", "S3.14.4", "S3.14.8")
def test_what_was_fetched_is_counted_by_status_and_outcome_and_rated_over_a_minute() -> None:
    metrics, clock = Metrics(()), ManualClock()
    fetch_metrics = FetchMetrics(metrics, clock=clock)
    for number in range(6):
        _ended(fetch_metrics, f"good-{number}", a_response(b"<p>12345"))
    _ended(fetch_metrics, "gone", a_response(status=404))
    _ended(fetch_metrics, "down", FailedFetch(ErrorClass.CONNECT_REFUSED))
    clock.seconds += 10
    fetch_metrics.update_rates()

    lines = metrics.render().decode().splitlines()
    ours = [line for line in lines if line.startswith("crawler_") and "_created" not in line]
    told = dict(line.rsplit(" ", 1) for line in ours)
    assert told == {
        "crawler_pages_fetched_total": "6.0",
        'crawler_http_status_total{status="200"}': "6.0",
        'crawler_http_status_total{status="404"}': "1.0",
        'crawler_fetches_total{error="",outcome="fetched"}': "6.0",
        'crawler_fetches_total{error="status_client",outcome="not_found"}': "1.0",
        'crawler_fetches_total{error="connect_refused",outcome="network_failed"}': "1.0",
        "crawler_bytes_downloaded_total": "48.0",
        "crawler_pages_per_second": "0.6",
        "crawler_fetch_success_rate": "0.75",
    }


def test_rates_cover_the_last_minute_only() -> None:
    metrics, clock = Metrics(()), ManualClock()
    fetch_metrics = FetchMetrics(metrics, clock=clock)
    for number in range(60):
        _ended(fetch_metrics, str(number), a_response(b"<p>"))
    for _ in range(30):
        clock.seconds += 5
        fetch_metrics.update_rates()

    assert "crawler_pages_per_second 0.0" in metrics.render().decode().splitlines()


def test_counts_are_reported_once() -> None:
    fetch_metrics = FetchMetrics(Metrics(()), clock=ManualClock())
    _ended(fetch_metrics, "1", a_response(b"<p>"))
    news, total = fetch_metrics.unreported_counts()
    assert news == WorkerTotals(1, 0, 3)
    assert fetch_metrics.unreported_counts()[0] == news, "what could not be told is told the next time"

    fetch_metrics.mark_reported(total)
    _ended(fetch_metrics, "2", FailedFetch(ErrorClass.CONNECT_REFUSED))
    assert fetch_metrics.unreported_counts()[0] == WorkerTotals(0, 1, 0)


def test_the_current_url_is_that_of_the_oldest_request() -> None:
    fetch_metrics = FetchMetrics(Metrics(()), clock=ManualClock())
    for name in ("a", "b"):
        fetch_metrics.request_started(a_request(f"https://site.test/{name}", lease_id=name))
    shown = (fetch_metrics.in_flight, fetch_metrics.current_url)
    fetch_metrics.request_finished("a", None)

    assert (shown, fetch_metrics.current_url) == ((2, "https://site.test/a"), "https://site.test/b")


def test_requests_are_counted_for_their_run_by_status_or_by_why_there_is_none() -> None:
    """Those of robots.txt are not pages of a run."""
    noted = NotedEvents()

    class Journal(RunLog):
        def record(
            self, event: LogEvent, job_id: str, execution_id: str, kind: str = "", count: int = 1
        ) -> None:
            noted.note(event, job_id, execution_id, kind, count)

    fetch_metrics = FetchMetrics(
        Metrics(()), clock=ManualClock(), journal=Journal(logger("test"), clock=ManualClock())
    )
    for lease in ("1", "2"):
        _ended(fetch_metrics, lease, a_response(b"<p>"))
    _ended(fetch_metrics, "3", a_response(status=404))
    _ended(fetch_metrics, "4", FailedFetch(ErrorClass.CONNECT_REFUSED))
    robots = a_request(lease_id="5", kind="robots")
    events = interpret_result(robots, a_response(b"x"), trace=TRACE, rules=RedirectRules())
    fetch_metrics.request_finished("5", events.completed)
    run = robots.job_id, robots.execution_id

    assert noted == {
        ("Responses received", *run, "200"): 2,
        ("Responses received", *run, "404"): 1,
        ("Requests unanswered", *run, "connect_refused"): 1,
    }
