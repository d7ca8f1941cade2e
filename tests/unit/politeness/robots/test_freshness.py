"""State of an origin's robots.txt: known, outdated, absent or unreachable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.contracts.generated.enums import FetchOutcome, RobotsState
from strider.politeness import (
    OriginRobots,
    RobotsFetchResult,
    RobotsResponse,
    RobotsStatus,
    apply_redirect_target,
    apply_response,
    classify_outcome,
)

NOW = 1_000_000_000
HOUR = 3_600_000


class Lowest:
    """Random source that adds nothing."""

    def uniform(self, low: float, high: float) -> float:
        return low


def after(known: OriginRobots, answer: RobotsFetchResult, *, now: int = NOW, **told: object) -> OriginRobots:
    asked = replace(RobotsResponse(answer, known.sequence + 1), **told)
    return apply_response(known, asked, now_ms=now, random=Lowest())


@pytest.mark.req("S3.20.9")
@pytest.mark.req("S3.8.6", part="an answer holds for an hour, in the record of the host; no key in Redis")
def test_a_successful_robots_fetch_is_valid_for_an_hour() -> None:
    known = after(OriginRobots(), RobotsFetchResult.GOOD, text="User-agent: *", status=200)

    assert known.state is RobotsState.FETCHED
    assert known.status_at(NOW + HOUR - 1) is RobotsStatus.APPLY_RULES
    assert known.status_at(NOW + HOUR) is RobotsStatus.FETCH_FIRST


def test_an_unknown_origin_is_requested_first() -> None:
    assert OriginRobots().status_at(NOW) is RobotsStatus.FETCH_FIRST


@pytest.mark.parametrize(
    ("outcome", "error_class", "has_redirected", "answer"),
    [
        pytest.param("fetched", "", False, RobotsFetchResult.GOOD, id="good"),
        pytest.param("not_found", "status_client", False, RobotsFetchResult.ABSENT, id="404"),
        pytest.param("blocked", "status_client", False, RobotsFetchResult.ABSENT, id="403"),
        pytest.param("client_error", "status_client", False, RobotsFetchResult.ABSENT, id="400"),
        pytest.param("redirected", "too_many_redirects", True, RobotsFetchResult.ABSENT, id="six-redirects"),
        pytest.param(
            "rate_limited", "status_client", False, RobotsFetchResult.FAILED, id="429-counts-against-the-host"
        ),
        pytest.param("server_error", "status_server", False, RobotsFetchResult.FAILED, id="500"),
        pytest.param("overloaded", "status_server", False, RobotsFetchResult.FAILED, id="503"),
        pytest.param("timed_out", "head_timeout", False, RobotsFetchResult.TIMED_OUT, id="timeout"),
        pytest.param("network_failed", "connect_refused", False, RobotsFetchResult.NO_RESPONSE, id="refused"),
        pytest.param(
            "network_failed", "dns_not_found", False, RobotsFetchResult.NO_SUCH_HOST, id="no-such-name"
        ),
        pytest.param(
            "network_failed", "dns_not_found", True, RobotsFetchResult.NO_RESPONSE, id="no-such-name-there"
        ),
        pytest.param(
            "policy_blocked", "refused_address", False, RobotsFetchResult.FORBIDDEN, id="private-address"
        ),
        pytest.param(
            "policy_blocked", "refused_address", True, RobotsFetchResult.ABSENT, id="redirect-to-private"
        ),
        pytest.param("interrupted", "", False, RobotsFetchResult.OWN_FAILURE, id="we-stopped"),
        pytest.param("crashed", "internal", False, RobotsFetchResult.FAILED, id="we-crashed"),
    ],
)
def test_outcomes_are_classified_as_the_standard_requires(
    outcome: str, error_class: str, has_redirected: bool, answer: RobotsFetchResult
) -> None:
    assert classify_outcome(outcome, error_class=error_class, has_redirected=has_redirected) is answer


def test_every_outcome_has_a_reading() -> None:
    """A new outcome must not allow anything by default."""
    read = {
        word: classify_outcome(word, error_class="", has_redirected=False) for word in (*FetchOutcome, "new")
    }

    assert read["new"] is RobotsFetchResult.FAILED
    assert [word for word, answer in read.items() if answer is RobotsFetchResult.GOOD] == [
        FetchOutcome.FETCHED
    ]


def test_absence_allows_everything_for_an_hour() -> None:
    known = after(OriginRobots(), RobotsFetchResult.ABSENT, status=404)

    assert known.status_at(NOW) is RobotsStatus.ALLOW_ALL
    assert known.status_at(NOW + HOUR) is RobotsStatus.FETCH_FIRST


@pytest.mark.req("S3.19.5", "S3.19.19")
def test_failures_deny_and_are_retried_ever_more_rarely() -> None:
    known, waits = OriginRobots(), []
    for _ in range(9):
        known = after(known, RobotsFetchResult.FAILED, status=500)
        waits.append((known.expires_at_ms - NOW) / 1000)

    assert waits == [2, 4, 60, 120, 240, 480, 960, 1920, 3600]
    assert known.status_at(NOW) is RobotsStatus.UNREACHABLE
    assert known.status_at(known.expires_at_ms) is RobotsStatus.FETCH_FIRST


@pytest.mark.req("S3.19.33", part="left alone for an hour; not marked as blocked")
def test_a_host_that_stays_silent_is_left_alone_for_an_hour() -> None:
    known, waits = OriginRobots(), []
    for _ in range(4):
        known = after(known, RobotsFetchResult.TIMED_OUT)
        waits.append((known.expires_at_ms - NOW) / 1000)

    assert waits == [2, 4, 3600, 3600]


def test_the_last_good_copy_serves_while_there_is_no_newer() -> None:
    """C-16: also past a day; a site whose robots.txt breaks has not withdrawn its rules."""
    good = after(OriginRobots(), RobotsFetchResult.GOOD, text="User-agent: *\nDisallow: /a")

    known = after(good, RobotsFetchResult.FAILED, now=NOW + 48 * HOUR)

    assert (known.state, known.text) == (RobotsState.LAST_GOOD, good.text)
    assert known.status_at(NOW + 48 * HOUR) is RobotsStatus.APPLY_RULES


def test_an_empty_file_is_a_good_copy_too() -> None:
    good = after(OriginRobots(), RobotsFetchResult.GOOD, text="")

    assert after(good, RobotsFetchResult.FAILED).state is RobotsState.LAST_GOOD


def test_absence_is_no_copy() -> None:
    """An earlier 404 says nothing about a file that is unreachable now."""
    absent = after(OriginRobots(), RobotsFetchResult.ABSENT)

    assert after(absent, RobotsFetchResult.FAILED).status_at(NOW) is RobotsStatus.UNREACHABLE


def test_a_success_resets_all_failures() -> None:
    known = after(OriginRobots(), RobotsFetchResult.FAILED)
    known = after(after(known, RobotsFetchResult.NO_RESPONSE), RobotsFetchResult.GOOD, text="x")

    assert (known.failures, known.unreachable_since_ms, known.error_class) == (0, 0, "")


def test_a_failure_remembers_when_it_began() -> None:
    first = after(OriginRobots(), RobotsFetchResult.FAILED)

    assert after(first, RobotsFetchResult.FAILED, now=NOW + 5_000).unreachable_since_ms == NOW


@pytest.mark.parametrize(
    ("answer", "error_class", "standing"),
    [
        pytest.param(
            RobotsFetchResult.NO_SUCH_HOST, "dns_not_found", RobotsStatus.NO_SUCH_HOST, id="no-such-name"
        ),
        pytest.param(RobotsFetchResult.FORBIDDEN, "refused_address", RobotsStatus.FORBIDDEN, id="private"),
        pytest.param(RobotsFetchResult.FORBIDDEN, "no_contact", RobotsStatus.FORBIDDEN, id="no-contact"),
    ],
)
def test_what_needs_no_patience_is_known_at_once(
    answer: RobotsFetchResult, error_class: str, standing: RobotsStatus
) -> None:
    known = after(OriginRobots(), answer, error_class=error_class)

    assert known.status_at(NOW) is standing
    assert known.status_at(NOW + 300_000) is RobotsStatus.FETCH_FIRST


def test_an_origin_that_never_responded_is_not_waited_for() -> None:
    """A typing error in a port costs three requests, not an hour of retries."""
    known = OriginRobots()
    for wait, standing in (
        (2_000, RobotsStatus.UNREACHABLE),
        (4_000, RobotsStatus.UNREACHABLE),
        (300_000, RobotsStatus.NO_SUCH_HOST),
    ):
        known = after(known, RobotsFetchResult.NO_RESPONSE, error_class="connect_refused")
        assert (known.expires_at_ms - NOW, known.status_at(NOW)) == (wait, standing)
    assert known.status_at(NOW + 300_000) is RobotsStatus.FETCH_FIRST


def test_an_origin_that_responded_once_is_waited_for() -> None:
    """A server that is being restarted refuses connections too, and comes back."""
    known = after(OriginRobots(), RobotsFetchResult.ABSENT, url="http://a.test/robots.txt")
    for _ in range(4):
        known = after(known, RobotsFetchResult.NO_RESPONSE, error_class="connect_refused")

    assert known.status_at(NOW) is RobotsStatus.UNREACHABLE


def test_our_own_trouble_is_not_held_against_the_site() -> None:
    known = after(OriginRobots(), RobotsFetchResult.OWN_FAILURE)

    assert (known.failures, known.expires_at_ms) == (0, NOW + 5_000)


def test_a_repeated_response_changes_nothing() -> None:
    """Outcomes are redelivered after a crash; a failure must not be counted twice."""
    asked = RobotsResponse(RobotsFetchResult.FAILED, 7)
    known = apply_response(OriginRobots(), asked, now_ms=NOW, random=Lowest())

    assert apply_response(known, asked, now_ms=NOW + 9, random=Lowest()) == known
    assert apply_response(known, replace(asked, sequence=6), now_ms=NOW + 9, random=Lowest()) == known


def redirected(known: OriginRobots | None = None, **told: object) -> OriginRobots:
    return after(
        known or OriginRobots(),
        RobotsFetchResult.REDIRECTED,
        status=301,
        url="https://b.test/robots.txt",
        error_class="robots_redirected",
        **told,
    )


def test_a_redirect_to_another_host_denies_until_the_target_is_known() -> None:
    waiting = redirected()
    good = RobotsResponse(RobotsFetchResult.GOOD, waiting.sequence, text="User-agent: *", status=200)

    known = apply_redirect_target(waiting, good, now_ms=NOW, random=Lowest())

    assert waiting.status_at(NOW) is RobotsStatus.UNREACHABLE
    assert waiting.status_at(NOW + 30_000) is RobotsStatus.FETCH_FIRST
    assert (known.status_at(NOW), known.failures, known.error_class) == (RobotsStatus.APPLY_RULES, 0, "")
    assert apply_redirect_target(known, good, now_ms=NOW + 1, random=Lowest()) is known


def test_a_reply_to_an_earlier_redirect_changes_nothing() -> None:
    waiting = redirected()
    late = RobotsResponse(RobotsFetchResult.GOOD, waiting.sequence - 1, text="User-agent: *")

    assert apply_redirect_target(waiting, late, now_ms=NOW, random=Lowest()) is waiting


def test_a_target_that_fails_counts_as_one_failure_and_the_host_still_exists() -> None:
    waiting = redirected()
    failed = RobotsResponse(
        RobotsFetchResult.FAILED, waiting.sequence, status=301, error_class="robots_redirected"
    )

    known = apply_redirect_target(waiting, failed, now_ms=NOW, random=Lowest())

    assert (known.failures, known.status_at(NOW)) == (1, RobotsStatus.UNREACHABLE)


def test_known_rules_apply_while_a_redirect_is_followed() -> None:
    known = after(OriginRobots(), RobotsFetchResult.GOOD, text="User-agent: *", status=200)

    assert redirected(known).status_at(NOW) is RobotsStatus.APPLY_RULES
