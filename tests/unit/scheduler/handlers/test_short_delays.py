"""A crawl delay below a second is logged, once for each crawl spec and domain, except on this machine."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from strider.scheduler import log_events
from strider.scheduler.handlers.short_delays import ShortDelayWarnings, is_loopback
from tests.unit.scheduler.builders import a_spec


def logged(*cases: tuple[str, float | None]) -> list[tuple[str, float]]:
    """Return domain and delay of each warning, for specs with these delays on these hosts."""
    warnings = ShortDelayWarnings()
    with capture_logs() as logs:
        for host, delay in cases:
            warnings.warn_once(host, a_spec(crawl_spec_id=f"spec {delay}", delay_seconds=delay))
    assert {line["event"] for line in logs} <= {log_events.SHORT_CRAWL_DELAY.text}
    return [(line["domain"], line["seconds"]) for line in logs]


def test_a_short_delay_is_logged_once_for_each_spec_and_domain() -> None:
    hosts = [("www.a.test", 0.0), ("shop.a.test", 0.0), ("www.a.test", 0.5), ("www.b.test", 0.5)]

    assert logged(*hosts, *hosts) == [("a.test", 0.0), ("a.test", 0.5), ("b.test", 0.5)]


def test_usual_delays_and_loopback_are_not_logged() -> None:
    assert (
        logged(("a.test", None), ("a.test", 1.0), ("127.0.0.1", 0.0), ("[::1]", 0.0), ("localhost", 0.0))
        == []
    )


@pytest.mark.parametrize("host", ["10.0.0.1", "[fd00::1]", "localhost.example", "a.test"])
def test_other_private_hosts_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)
