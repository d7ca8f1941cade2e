"""Decisions about due entries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.enums import RobotsState
from strider.politeness import OriginRobots
from strider.politeness.backoff import HostBackoff
from strider.scheduler.core.budgets.reservations import ReservationResult, ReservationStatus
from strider.scheduler.core.hosts.host_state import new_host_group
from strider.scheduler.core.hosts.robots import NO_ROBOTS, CachedRobots, parse_robots
from strider.scheduler.core.release.decision import (
    ReleaseAction,
    ReleaseContext,
    ReleaseDecision,
    apply_budget,
    decide_release,
)
from tests.unit.scheduler.builders import NOW, a_spec, an_entry

OPEN = parse_robots(OriginRobots(state=RobotsState.ABSENT, expires_at_ms=NOW + 1))


def around(rules: CachedRobots = OPEN, *, rest: HostBackoff | None = None, **changes: Any) -> ReleaseContext:
    group = new_host_group("www.a.test", delay_seconds=1)
    group = group if rest is None else replace(group, back_off=rest)
    return replace(ReleaseContext(a_spec(), group, rules, "Strider/1", NOW), **changes)


def test_a_due_and_allowed_url_is_requested() -> None:
    assert decide_release(an_entry(), around()) == ReleaseDecision(ReleaseAction.FETCH, an_entry())


def test_unknown_robots_is_requested_first() -> None:
    assert decide_release(an_entry(), around(NO_ROBOTS)).action is ReleaseAction.FETCH_ROBOTS


def test_robots_that_may_lie_unread_are_waited_for() -> None:
    """The previous owner of the shard may have read them and died: asked again they would be asked twice."""
    result = decide_release(an_entry(), around(NO_ROBOTS, has_caught_up=False))

    assert (result.action, result.entry.reason) == (ReleaseAction.WAIT, "waits_for_robots")
    assert NOW < result.entry.due_at_ms <= NOW + 1000
    assert decide_release(an_entry(), around(OPEN, has_caught_up=False)).action is ReleaseAction.FETCH


def test_the_robots_of_another_host_are_waited_for_without_patience() -> None:
    """An entry that was leased before the redirect was known: the site has not failed."""
    redirected = OriginRobots(
        RobotsState.UNREACHABLE,
        expires_at_ms=NOW + 30_000,
        failures=1,
        unreachable_since_ms=NOW,
        status=301,
        error_class="robots_redirected",
    )
    waits = replace(new_host_group("www.a.test", delay_seconds=1), robots_wait_until_ms=NOW + 30_000)
    spec = a_spec(host_patience_seconds=0)

    result = decide_release(an_entry(), around(parse_robots(redirected), spec=spec, host_group=waits))

    assert (result.action, result.entry.reason) == (ReleaseAction.WAIT, "waits_for_robots")
    assert result.entry.due_at_ms == NOW + 30_000


@pytest.mark.req("S3.8.4")
def test_a_forbidden_url_is_closed_with_a_decision() -> None:
    rules = parse_robots(
        OriginRobots(state=RobotsState.FETCHED, text="User-agent: *\nDisallow: /", expires_at_ms=NOW + 1)
    )

    result = decide_release(an_entry(), around(rules))

    assert result.action is ReleaseAction.CLOSE
    assert result.transition is not None
    (line,) = result.transition.decisions
    assert (line.decision, line.reason, line.detail) == ("closed", "robots_denied", "Disallow: /")
    assert (result.entry.state, result.entry.reason) == ("failed", "robots_denied")


def test_a_lost_spec_closes_the_entry() -> None:
    assert decide_release(an_entry(), around(spec=None)).entry.reason == "unknown_spec"


@pytest.mark.req("S3.5.4")
def test_a_resting_host_is_waited_for() -> None:
    rest = HostBackoff(count=1, until_ms=NOW + 60_000, since_ms=NOW)

    result = decide_release(an_entry(), around(rest=rest))

    assert (result.action, result.entry.due_at_ms) == (ReleaseAction.WAIT, NOW + 60_000)
    assert result.entry.reason == "host_backs_off"


def test_but_no_longer_than_the_patience() -> None:
    rest = HostBackoff(count=1, until_ms=NOW + 3_600_000, since_ms=NOW - 120_000)
    entry = an_entry(discovered_at_ms=NOW - 500_000)

    result = decide_release(entry, around(rest=rest, spec=a_spec(host_patience_seconds=120)))

    assert (result.action, result.entry.reason) == (ReleaseAction.CLOSE, "host_unavailable")


def an_unreachable_robots(**changes: Any) -> CachedRobots:
    state = {"unreachable_since_ms": NOW - 120_000, "requested_at_ms": NOW - 60_000, "status": 503}
    return parse_robots(
        OriginRobots(state=RobotsState.UNREACHABLE, expires_at_ms=NOW + 60_000, **{**state, **changes})
    )


@pytest.mark.parametrize(
    ("robots", "spec", "reason", "detail"),
    [
        pytest.param(
            an_unreachable_robots(),
            {},
            "robots_unreachable",
            "robots.txt of http://www.a.test: status 503, last requested 2027-01-15T07:59:00Z, "
            "unreachable since 2027-01-15T07:58:00Z",
            id="status",
        ),
        pytest.param(
            an_unreachable_robots(status=0, error_class="connect_timeout"),
            {},
            "host_unavailable",
            "robots.txt of http://www.a.test: connect_timeout, last requested 2027-01-15T07:59:00Z, "
            "unreachable since 2027-01-15T07:58:00Z",
            id="no-response",
        ),
        pytest.param(OPEN, {}, "host_unavailable", "overloaded", id="rules-known"),
        pytest.param(NO_ROBOTS, {}, "host_unavailable", "overloaded", id="never-requested"),
        pytest.param(
            an_unreachable_robots(), {"respect_robots": False}, "host_unavailable", "overloaded", id="ignored"
        ),
    ],
)
def test_an_entry_of_a_blocked_host_closes_for_its_robots_where_it_waited_for_that(
    robots: CachedRobots, spec: dict[str, Any], reason: str, detail: str
) -> None:
    """A 503 for robots.txt is a signal about the host, too; the entry waited for both."""
    rest = HostBackoff(count=1, until_ms=NOW + 60_000, since_ms=NOW - 120_000, reason="overloaded")
    entry = an_entry(discovered_at_ms=NOW - 500_000)

    result = decide_release(entry, around(robots, rest=rest, spec=a_spec(host_patience_seconds=120, **spec)))

    assert result.transition is not None
    (line,) = result.transition.decisions
    assert (result.entry.reason, line.reason, line.detail) == (reason, reason, detail)


def test_a_budget_closes_what_is_left() -> None:
    result = apply_budget(
        ReleaseDecision(ReleaseAction.FETCH, an_entry()),
        ReservationResult(ReservationStatus.EXHAUSTED, "pages"),
        NOW,
    )

    assert (result.action, result.entry.reason) == (ReleaseAction.CLOSE, "budget")


def test_what_may_still_be_left_of_a_budget_is_waited_for() -> None:
    result = apply_budget(
        ReleaseDecision(ReleaseAction.FETCH, an_entry()),
        ReservationResult(ReservationStatus.MUST_WAIT),
        NOW,
    )

    assert result.action is ReleaseAction.WAIT
    assert result.entry.due_at_ms > NOW
