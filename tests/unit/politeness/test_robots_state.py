"""What holds for an origin whose robots.txt is known, old, absent or out of reach."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.contracts.generated.words import FetchOutcome, RobotsState
from strider.politeness import Answer, Asked, OriginRobots, Standing, answer_of, answered

NOW = 1_000_000_000
HOUR = 3_600_000


class Lowest:
    """Chance that adds nothing."""

    def uniform(self, low: float, high: float) -> float:
        return low


def after(known: OriginRobots, answer: Answer, *, now: int = NOW, **told: object) -> OriginRobots:
    asked = replace(Asked(answer, known.sequence + 1), **told)
    return answered(known, asked, now_ms=now, chance=Lowest())


@pytest.mark.req("S3.8.6", "S3.20.9")
def test_a_good_answer_holds_for_an_hour() -> None:
    known = after(OriginRobots(), Answer.GOOD, text="User-agent: *", status=200)

    assert known.state is RobotsState.FETCHED
    assert known.standing(NOW + HOUR - 1) is Standing.OBEY
    assert known.standing(NOW + HOUR) is Standing.ASK


def test_what_was_never_asked_is_asked_first() -> None:
    assert OriginRobots().standing(NOW) is Standing.ASK


@pytest.mark.parametrize(
    ("outcome", "error_class", "has_redirected", "answer"),
    [
        pytest.param("fetched", "", False, Answer.GOOD, id="good"),
        pytest.param("not_found", "status_client", False, Answer.ABSENT, id="404"),
        pytest.param("blocked", "status_client", False, Answer.ABSENT, id="403"),
        pytest.param("client_error", "status_client", False, Answer.ABSENT, id="400"),
        pytest.param("redirected", "too_many_redirects", True, Answer.ABSENT, id="six-redirects"),
        pytest.param("rate_limited", "status_client", False, Answer.FAILED, id="429-speaks-of-the-host"),
        pytest.param("server_error", "status_server", False, Answer.FAILED, id="500"),
        pytest.param("overloaded", "status_server", False, Answer.FAILED, id="503"),
        pytest.param("timed_out", "head_timeout", False, Answer.TIMED_OUT, id="timeout"),
        pytest.param("network_failed", "connect_refused", False, Answer.SILENT, id="refused"),
        pytest.param("network_failed", "dns_not_found", False, Answer.GONE, id="no-such-name"),
        pytest.param("network_failed", "dns_not_found", True, Answer.SILENT, id="no-such-name-there"),
        pytest.param("policy_blocked", "refused_address", False, Answer.FORBIDDEN, id="private-address"),
        pytest.param("policy_blocked", "refused_address", True, Answer.ABSENT, id="redirect-to-private"),
        pytest.param("interrupted", "", False, Answer.OURS, id="we-stopped"),
        pytest.param("crashed", "internal", False, Answer.FAILED, id="we-crashed"),
    ],
)
def test_outcomes_are_read_as_the_standard_says(
    outcome: str, error_class: str, has_redirected: bool, answer: Answer
) -> None:
    assert answer_of(outcome, error_class=error_class, has_redirected=has_redirected) is answer


def test_every_outcome_has_a_reading() -> None:
    """A new word must not let anything pass that nobody has thought about."""
    read = {word: answer_of(word, error_class="", has_redirected=False) for word in (*FetchOutcome, "new")}

    assert read["new"] is Answer.FAILED
    assert [word for word, answer in read.items() if answer is Answer.GOOD] == [FetchOutcome.FETCHED]


def test_absence_allows_everything_for_an_hour() -> None:
    known = after(OriginRobots(), Answer.ABSENT, status=404)

    assert known.standing(NOW) is Standing.ALLOW
    assert known.standing(NOW + HOUR) is Standing.ASK


@pytest.mark.req("S3.19.5", "S3.19.19")
def test_failures_deny_and_are_asked_again_ever_more_rarely() -> None:
    known, waits = OriginRobots(), []
    for _ in range(9):
        known = after(known, Answer.FAILED, status=500)
        waits.append((known.expires_at_ms - NOW) / 1000)

    assert waits == [2, 4, 60, 120, 240, 480, 960, 1920, 3600]
    assert known.standing(NOW) is Standing.WAIT
    assert known.standing(known.expires_at_ms) is Standing.ASK


@pytest.mark.req("S3.19.33")
def test_a_host_that_stays_silent_is_left_alone_for_an_hour() -> None:
    known, waits = OriginRobots(), []
    for _ in range(4):
        known = after(known, Answer.TIMED_OUT)
        waits.append((known.expires_at_ms - NOW) / 1000)

    assert waits == [2, 4, 3600, 3600]


def test_the_last_good_copy_serves_while_there_is_no_newer() -> None:
    """C-16: also past a day; a site whose robots.txt breaks has not withdrawn its rules."""
    good = after(OriginRobots(), Answer.GOOD, text="User-agent: *\nDisallow: /a")

    known = after(good, Answer.FAILED, now=NOW + 48 * HOUR)

    assert (known.state, known.text) == (RobotsState.LAST_GOOD, good.text)
    assert known.standing(NOW + 48 * HOUR) is Standing.OBEY


def test_an_empty_file_is_a_good_copy_too() -> None:
    good = after(OriginRobots(), Answer.GOOD, text="")

    assert after(good, Answer.FAILED).state is RobotsState.LAST_GOOD


def test_absence_is_no_copy() -> None:
    """What was a 404 once says nothing about the file that cannot be reached now."""
    absent = after(OriginRobots(), Answer.ABSENT)

    assert after(absent, Answer.FAILED).standing(NOW) is Standing.WAIT


def test_a_good_answer_forgives_everything() -> None:
    known = after(OriginRobots(), Answer.FAILED)
    known = after(after(known, Answer.SILENT), Answer.GOOD, text="x")

    assert (known.failures, known.unreachable_since_ms, known.error_class) == (0, 0, "")


def test_a_failure_remembers_when_it_began() -> None:
    first = after(OriginRobots(), Answer.FAILED)

    assert after(first, Answer.FAILED, now=NOW + 5_000).unreachable_since_ms == NOW


@pytest.mark.parametrize(
    ("answer", "error_class", "standing"),
    [
        pytest.param(Answer.GONE, "dns_not_found", Standing.GONE, id="no-such-name"),
        pytest.param(Answer.FORBIDDEN, "refused_address", Standing.FORBIDDEN, id="private"),
        pytest.param(Answer.FORBIDDEN, "no_contact", Standing.FORBIDDEN, id="nobody-to-write-to"),
    ],
)
def test_what_needs_no_patience_is_known_at_once(
    answer: Answer, error_class: str, standing: Standing
) -> None:
    known = after(OriginRobots(), answer, error_class=error_class)

    assert known.standing(NOW) is standing
    assert known.standing(NOW + 300_000) is Standing.ASK


def test_where_nobody_has_ever_listened_nobody_is_waited_for() -> None:
    """A typo in a port costs three tries, not an hour of hope."""
    known = OriginRobots()
    for wait, standing in ((2_000, Standing.WAIT), (4_000, Standing.WAIT), (300_000, Standing.GONE)):
        known = after(known, Answer.SILENT, error_class="connect_refused")
        assert (known.expires_at_ms - NOW, known.standing(NOW)) == (wait, standing)
    assert known.standing(NOW + 300_000) is Standing.ASK


def test_who_has_answered_once_is_waited_for() -> None:
    """A server that is being restarted refuses connections too, and comes back."""
    known = after(OriginRobots(), Answer.ABSENT, url="http://a.test/robots.txt")
    for _ in range(4):
        known = after(known, Answer.SILENT, error_class="connect_refused")

    assert known.standing(NOW) is Standing.WAIT


def test_our_own_trouble_is_not_held_against_the_site() -> None:
    known = after(OriginRobots(), Answer.OURS)

    assert (known.failures, known.expires_at_ms) == (0, NOW + 5_000)


def test_a_repeated_answer_changes_nothing() -> None:
    """Outcomes come again after a crash; a failure must not be counted twice."""
    asked = Asked(Answer.FAILED, 7)
    known = answered(OriginRobots(), asked, now_ms=NOW, chance=Lowest())

    assert answered(known, asked, now_ms=NOW + 9, chance=Lowest()) == known
    assert answered(known, replace(asked, sequence=6), now_ms=NOW + 9, chance=Lowest()) == known
