"""What is read out of an access log: the witnesses of every crawl must see what is wrong."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from strider.testing.site import AccessLogLine, ServedSite, SiteShape, make_plan
from tests.e2e.checks import (
    asked_too_often,
    assert_only_known_urls_were_asked,
    assert_polite,
    assert_robots_came_first,
)

HOST = "a.localhost:80"
PLAN = make_plan(1, [f"http://{HOST}"], SiteShape(hosts=1, pages_per_host=3))


def a_line(path: str, started: float, *, seconds: float = 0.1, late: float = 0.0) -> AccessLogLine:
    ended = started + seconds
    return AccessLogLine(HOST, path, "GET", 200, started, started - late, ended, connection=1, agent="")


def a_site(tmp_path: Path, *lines: AccessLogLine) -> ServedSite:
    log = tmp_path / "access.log"
    log.write_text("".join(json.dumps(asdict(line)) + "\n" for line in lines))
    return ServedSite(PLAN, 80, log, pid=0)


def test_a_polite_crawl_passes(tmp_path: Path) -> None:
    site = a_site(tmp_path, a_line("/robots.txt", 1.0), a_line("/", 2.0), a_line("/p/1", 3.0))

    assert_polite(site, delay_seconds=1.0)
    assert_robots_came_first(site)
    assert_only_known_urls_were_asked(site)
    assert asked_too_often(site) == {}


def test_haste_is_seen(tmp_path: Path) -> None:
    site = a_site(tmp_path, a_line("/", 2.0), a_line("/p/1", 2.5))

    with pytest.raises(AssertionError):
        assert_polite(site, delay_seconds=1.0)


def test_a_site_that_was_not_scheduled_reports_no_haste(tmp_path: Path) -> None:
    """The first of two may have come when the log says, or before; the second was not sooner for that."""
    late_first = a_site(tmp_path, a_line("/", 2.5, late=0.6), a_line("/p/1", 3.0))
    assert_polite(late_first, delay_seconds=1.0)

    late_second = a_site(tmp_path, a_line("/", 2.5), a_line("/p/1", 3.0, late=0.6))
    with pytest.raises(AssertionError):
        assert_polite(late_second, delay_seconds=1.0)


def test_two_at_a_time_are_seen(tmp_path: Path) -> None:
    """Also where the delay between their starts was kept. Lines come in the order of the answers."""
    site = a_site(tmp_path, a_line("/p/1", 3.0), a_line("/slow", 2.0, seconds=1.5))

    assert [(before.path, after.path) for before, after in site.overlapping_requests()] == [("/slow", "/p/1")]
    with pytest.raises(AssertionError):
        assert_polite(site, delay_seconds=1.0)


def test_a_request_without_a_response_is_under_way(tmp_path: Path) -> None:
    """The line of an answer ends what the line of its request began."""
    done, waiting = a_line("/p/1", 3.0), a_line("/slow", 4.0)
    site = a_site(tmp_path, done)
    assert site.log_path is not None
    begun = [json.dumps({**asdict(each), "ended": None}) for each in (done, waiting)]
    site.log_path.write_text("\n".join((begun[0], json.dumps(asdict(done)), begun[1], "")) + '{"half')

    assert site.unanswered() == {waiting.url: 4.0}
    assert site.access_log() == [done]


def test_a_page_before_the_rules_is_seen(tmp_path: Path) -> None:
    site = a_site(tmp_path, a_line("/robots.txt", 2.0), a_line("/", 1.0))

    with pytest.raises(AssertionError):
        assert_robots_came_first(site)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/private/0", id="forbidden"),
        pytest.param("/files/archive.zip", id="refused"),
        pytest.param("/guessed", id="without-a-link"),
    ],
)
def test_a_request_for_a_forbidden_page_is_found(tmp_path: Path, path: str) -> None:
    site = a_site(tmp_path, a_line(path, 1.0))

    with pytest.raises(AssertionError):
        assert_only_known_urls_were_asked(site)


def test_repeated_requests_are_counted(tmp_path: Path) -> None:
    """Failures may be asked as often as they were planned to fail."""
    twice = [a_line("/", number) for number in (1.0, 2.0, 3.0)]
    planned = [a_line("/flaky", number) for number in (4.0, 5.0)]

    assert asked_too_often(a_site(tmp_path, *twice, *planned)) == {f"http://{HOST}/": 2}
