"""Requests to a domain through one proxy are limited, whatever the number of proxies."""

from __future__ import annotations

import pytest

from strider.politeness import rate_window as windows
from strider.politeness.rate_window import RateWindows


@pytest.mark.req("S4.5.2", "S4.5.3", "S4.5.5")
def test_a_window_that_is_full_opens_when_its_time_is_over() -> None:
    counts = RateWindows(max_requests=2, seconds=1.0)
    counts.record_request("a.test", "one", now=10.0)
    counts.record_request("a.test", "one", now=10.4)

    assert [counts.can_crawl("a.test", "one", now=now) for now in (10.5, 10.9, 11.0)] == [False, False, True]
    assert counts.opens_at("a.test", "one", now=10.5) == 11.0
    assert counts.can_crawl("a.test", "two", now=10.5)
    assert counts.can_crawl("b.test", "one", now=10.5)

    counts.record_request("a.test", "one", now=11.2)
    assert counts.can_crawl("a.test", "one", now=11.3)


def test_without_a_limit_nothing_is_kept() -> None:
    counts = RateWindows(max_requests=0)
    for _ in range(50):
        counts.record_request("a.test", "one", now=1.0)

    assert counts.can_crawl("a.test", "one", now=1.0)


def test_memory_of_windows_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "MAX_WINDOWS", 2)
    counts = RateWindows(max_requests=1)
    for domain in ("a", "b", "c"):
        counts.record_request(domain, "one", now=1.0)

    assert [counts.can_crawl(domain, "one", now=1.5) for domain in ("a", "b", "c")] == [True, False, False]
