"""Robots.txt verdicts about entries, and the wait for an unreachable robots.txt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.enums import DecisionReason, RobotsState
from strider.contracts.generated.events import HostRecorded
from strider.politeness import OriginRobots
from strider.politeness.robots.excerpt import MAX_EXCERPT_BYTES
from strider.scheduler.core.hosts.robots import (
    ALLOWED,
    FETCH_ROBOTS_FIRST,
    NO_ROBOTS,
    ROBOTS_JOB,
    CachedRobots,
    EntryRobotsVerdict,
    RobotsDecision,
    check_robots,
    denied_verdict,
    parse_robots,
    restore_robots,
    robots_fetch_result,
    robots_from_record,
    robots_request_entry,
    robots_to_record,
    with_robots_excerpt,
)
from tests.unit.scheduler.builders import NOW, a_spec, an_entry, an_outcome

AGENT = "Strider/1 (+x)"
LATER = NOW + 60_000


def known(state: RobotsState, **changes: Any) -> CachedRobots:
    return parse_robots(replace(OriginRobots(state=state, expires_at_ms=LATER), **changes))


def ask(rules: CachedRobots, entry: Any = None, **spec: Any) -> EntryRobotsVerdict:
    return check_robots(entry or an_entry(), a_spec(**spec), rules, user_agent=AGENT, now_ms=NOW)


@pytest.mark.req("S3.8.1", "S3.8.4", "S3.17.3")
def test_robots_come_first() -> None:
    assert ask(NO_ROBOTS) == FETCH_ROBOTS_FIRST


@pytest.mark.parametrize(
    ("text", "is_allowed"),
    [
        pytest.param("User-agent: *\nDisallow: /page", False, id="denied"),
        pytest.param("User-agent: *\nDisallow: /other", True, id="allowed"),
        pytest.param("User-agent: strider\nDisallow: /page", False, id="by-our-name"),
    ],
)
def test_rules_decide(text: str, is_allowed: bool) -> None:
    answer = ask(known(RobotsState.FETCHED, text=text))

    assert answer == (ALLOWED if is_allowed else denied_verdict("Disallow: /page"))
    assert answer.reason == (None if is_allowed else DecisionReason.ROBOTS_DENIED)


@pytest.mark.req("S1.14.3")
def test_a_deployment_may_disable_robots_txt() -> None:
    """Where every site is one's own: nothing is asked, and no denial counts; by default it does."""
    denied = known(RobotsState.FETCHED, text="User-agent: *\nDisallow: /")
    words = {"user_agent": AGENT, "now_ms": NOW}

    for rules in (denied, NO_ROBOTS):
        assert check_robots(an_entry(), a_spec(), rules, respects_robots=False, **words) == ALLOWED
        assert check_robots(an_entry(), a_spec(), rules, **words) != ALLOWED


def test_a_spec_may_set_another_user_agent() -> None:
    rules = known(RobotsState.FETCHED, text="User-agent: other\nDisallow: /")

    assert ask(rules) == ALLOWED
    assert ask(rules, user_agent="Other/2").reason == DecisionReason.ROBOTS_DENIED


def test_a_spec_may_leave_robots_out() -> None:
    """For itself alone: the next one is asked for in its own right."""
    assert ask(NO_ROBOTS, respect_robots=False) == ALLOWED


def test_what_cannot_be_reached_is_waited_for() -> None:
    rules = known(RobotsState.UNREACHABLE, unreachable_since_ms=NOW - 1000, failures=3)

    assert ask(rules) == EntryRobotsVerdict(RobotsDecision.WAIT, again_at_ms=LATER)


def test_waiting_ends_with_the_patience() -> None:
    """And with the last try within it: after that, nothing new would be known at its end."""
    next_try = NOW + 20_000
    rules = known(
        RobotsState.UNREACHABLE, unreachable_since_ms=NOW - 30_000, failures=3, expires_at_ms=next_try
    )
    entry = an_entry(discovered_at_ms=NOW - 30_000)

    assert ask(rules, entry, host_patience_seconds=60).again_at_ms == next_try
    assert ask(rules, entry, host_patience_seconds=50).reason == DecisionReason.HOST_UNAVAILABLE


def test_a_server_that_responds_is_reachable() -> None:
    """Why it was not crawled: its robots.txt failed, not its host."""
    rules = known(RobotsState.UNREACHABLE, unreachable_since_ms=1, status=500)

    assert ask(rules, host_patience_seconds=0).reason == DecisionReason.ROBOTS_UNREACHABLE


@pytest.mark.parametrize(
    ("changes", "response"),
    [
        pytest.param({"status": 503, "error_class": "status_server"}, "status 503", id="status"),
        pytest.param({"status": 200, "error_class": "body_timeout"}, "status 200, body_timeout", id="body"),
        pytest.param({"error_class": "connect_timeout"}, "connect_timeout", id="no-response"),
        pytest.param({}, "no outcome", id="lost-outcome"),
    ],
)
def test_the_detail_names_the_unreachable_robots_its_response_and_the_last_request(
    changes: dict[str, Any], response: str
) -> None:
    rules = known(
        RobotsState.UNREACHABLE, unreachable_since_ms=NOW - 30_000, requested_at_ms=NOW - 1_000, **changes
    )

    verdict = ask(rules, host_patience_seconds=0)

    assert verdict.detail == (
        f"robots.txt of http://www.a.test: {response}, "
        "last requested 2027-01-15T07:59:59Z, unreachable since 2027-01-15T07:59:30Z"
    )


def test_a_host_that_refuses_connections_is_unavailable_and_the_detail_names_its_robots() -> None:
    """It is given up before the host patience ends, as one without a name."""
    rules = known(
        RobotsState.UNREACHABLE,
        unreachable_since_ms=NOW - 6_000,
        requested_at_ms=NOW,
        failures=3,
        error_class="connect_refused",
    )

    verdict = ask(rules)

    assert (verdict.decision, verdict.reason) == (RobotsDecision.HOST_GONE, DecisionReason.HOST_UNAVAILABLE)
    assert verdict.detail.startswith("robots.txt of http://www.a.test: connect_refused, last requested 2027")


def test_the_detail_survives_a_restart() -> None:
    """Everything that it names is in the record of the origin."""
    rules = known(
        RobotsState.UNREACHABLE, unreachable_since_ms=NOW - 5_000, requested_at_ms=NOW - 1_000, status=503
    )
    record = robots_to_record("http://www.a.test", "www.a.test", rules, user_agent=AGENT, now_ms=NOW, epoch=3)

    after = ask(parse_robots(robots_from_record(record)), host_patience_seconds=0)

    assert after == ask(rules, host_patience_seconds=0)
    assert "status 503" in after.detail


def test_who_comes_late_has_a_patience_of_its_own() -> None:
    """The host has been down for days, but this URL is new: it waits for the next try at least."""
    rules = known(RobotsState.UNREACHABLE, unreachable_since_ms=1, expires_at_ms=NOW + 59_000)

    assert ask(rules, an_entry(discovered_at_ms=NOW), host_patience_seconds=60).reason is None


def test_an_expired_robots_file_is_requested_again() -> None:
    rules = known(RobotsState.FETCHED, expires_at_ms=NOW, text="User-agent: *\nDisallow: /")

    assert ask(rules) == FETCH_ROBOTS_FIRST


@pytest.mark.parametrize(
    ("error_class", "reason"),
    [
        pytest.param("dns_not_found", DecisionReason.HOST_UNAVAILABLE, id="no-such-name"),
        pytest.param("refused_address", DecisionReason.POLICY_BLOCKED, id="private"),
        pytest.param("no_contact", DecisionReason.POLICY_BLOCKED, id="no-contact"),
    ],
)
def test_what_time_does_not_heal_needs_no_patience(error_class: str, reason: DecisionReason) -> None:
    rules = known(RobotsState.UNREACHABLE, error_class=error_class, unreachable_since_ms=NOW)

    assert ask(rules).reason == reason


def test_the_request_is_no_entry_of_the_job() -> None:
    """A link to /robots.txt is a page; the two must never be taken for each other."""
    request = robots_request_entry(an_entry("http://www.a.test:8080/x"))

    assert (request.url, request.kind) == ("http://www.a.test:8080/robots.txt", "robots")
    assert (request.job_id, request.group) == (ROBOTS_JOB, "www.a.test")


def test_a_record_brings_rules_back() -> None:
    rules = known(
        RobotsState.LAST_GOOD,
        text="User-agent: *\nCrawl-delay: 3\nSitemap: http://a.test/s.xml",
        requested_at_ms=2,
        fetched_at_ms=1,
        failures=2,
        unreachable_since_ms=2,
        status=500,
        url="http://a.test/robots.txt",
        error_class="status_server",
    )

    record = robots_to_record("http://a.test", "a.test", rules, user_agent=AGENT, now_ms=NOW, epoch=3)

    assert robots_from_record(record) == rules.origin_state
    assert (record.robots_delay_seconds, record.sitemap_urls) == (3.0, ("http://a.test/s.xml",))


def test_an_outcome_is_a_robots_result() -> None:
    outcome = an_outcome("fetched", kind="robots", robots_text="User-agent: *", status=200, robots_hops=1)

    asked = robots_fetch_result(outcome)

    assert (asked.result, asked.text, asked.sequence) == ("good", "User-agent: *", 5)


def test_half_a_rule_is_no_rule() -> None:
    """Cut in its middle, `Disallow: /private` would close the whole site."""
    text = "User-agent: *\nDisallow: /a\nDisallow: /"

    whole = robots_fetch_result(an_outcome("fetched", kind="robots", robots_text=text))
    part = robots_fetch_result(an_outcome("fetched", kind="robots", robots_text=text, robots_truncated=True))

    assert (whole.text, part.text) == (text, "User-agent: *\nDisallow: /a\n")


@pytest.mark.fault("A6")
def test_of_a_long_text_an_excerpt_is_kept() -> None:
    """Also of a record that an earlier version has written: it is never read into memory whole."""
    text = "User-agent: *\n" + "".join(f"Disallow: /private/{number:06}\n" for number in range(10_000))

    outcome = an_outcome("fetched", kind="robots", robots_text=text)
    fetched = robots_fetch_result(with_robots_excerpt(outcome, user_agent=AGENT))
    record = HostRecorded(
        kind="robots", group="a.test", updated_at_ms=NOW, robots_state="fetched", robots_text=text
    )
    fresh = restore_robots(replace(record, robots_expires_at_ms=LATER), user_agent=AGENT, now_ms=NOW)

    assert fetched.text == fresh.origin_state.text
    assert len(fetched.text.encode()) <= MAX_EXCERPT_BYTES
    assert not fresh.rules.allows("http://a.test/private/009999", AGENT)
    assert restore_robots(record, user_agent=AGENT, now_ms=NOW) is NO_ROBOTS
