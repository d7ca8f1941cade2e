"""What a fetcher counts: for Prometheus, and for its heartbeats."""

from __future__ import annotations

import pytest

from strider.contracts.generated.enums import ErrorClass
from strider.fetcher.adapters.state.metrics import Tally
from strider.fetcher.core import FailedFetch, FetchedResponse, RedirectRules, interpret_result
from strider.runtime.observability.metrics import Metrics
from strider.storage.worker_heartbeats import WorkerTotals
from tests.unit.fetcher.builders import TRACE, answer, request

from .test_lease_marker import ManualClock


def _ended(tally: Tally, lease: str, came: FetchedResponse | FailedFetch) -> None:
    wanted = request(lease_id=lease)
    tally.request_started(wanted)
    tally.request_finished(lease, interpret_result(wanted, came, made=TRACE, rules=RedirectRules()).completed)


@pytest.mark.req("S3.14.1", "S3.14.2", "S3.14.3", "S3.14.4", "S3.14.8")
def test_what_was_fetched_is_counted_by_status_and_outcome_and_rated_over_a_minute() -> None:
    metrics, clock = Metrics(()), ManualClock()
    tally = Tally(metrics, clock=clock)
    for number in range(6):
        _ended(tally, f"good-{number}", answer(b"<p>12345"))
    _ended(tally, "gone", answer(status=404))
    _ended(tally, "down", FailedFetch(ErrorClass.CONNECT_REFUSED))
    clock.seconds += 10
    tally.update_rates()

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


def test_rates_forget_what_is_older_than_a_minute() -> None:
    metrics, clock = Metrics(()), ManualClock()
    tally = Tally(metrics, clock=clock)
    for number in range(60):
        _ended(tally, str(number), answer(b"<p>"))
    for _ in range(30):
        clock.seconds += 5
        tally.update_rates()

    assert "crawler_pages_per_second 0.0" in metrics.render().decode().splitlines()


def test_what_was_done_is_told_once() -> None:
    tally = Tally(Metrics(()), clock=ManualClock())
    _ended(tally, "1", answer(b"<p>"))
    news, total = tally.unreported_counts()
    assert news == WorkerTotals(1, 0, 3)
    assert tally.unreported_counts()[0] == news, "what could not be told is told the next time"

    tally.mark_reported(total)
    _ended(tally, "2", FailedFetch(ErrorClass.CONNECT_REFUSED))
    assert tally.unreported_counts()[0] == WorkerTotals(0, 1, 0)


def test_the_oldest_request_in_hand_is_the_one_that_is_shown() -> None:
    tally = Tally(Metrics(()), clock=ManualClock())
    for name in ("a", "b"):
        tally.request_started(request(f"https://site.test/{name}", lease_id=name))
    shown = (tally.in_flight, tally.current_url)
    tally.request_finished("a", None)

    assert (shown, tally.current_url) == ((2, "https://site.test/a"), "https://site.test/b")
