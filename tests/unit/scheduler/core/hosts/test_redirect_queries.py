"""Queries and replies about robots.txt files that redirect to other hosts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.contracts.generated.enums import RobotsState
from strider.politeness import OriginRobots, RobotsFetchResult
from strider.scheduler.core.entries.candidates import parse_candidates
from strider.scheduler.core.hosts.redirect_queries import (
    RobotsMessage,
    RobotsQuery,
    RobotsReply,
    is_robots_message,
    next_query,
    parse_robots_message,
    reply_to,
    response_of,
    robots_messages,
)
from tests.unit.scheduler.builders import NOW, a_candidate

QUERY = RobotsQuery("https://www.b.test/robots.txt", ("http://a.test/robots.txt",), 7)
FRESH = OriginRobots(state=RobotsState.FETCHED, text="User-agent: *", status=200, expires_at_ms=NOW + 1)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(QUERY, id="query"),
        pytest.param(RobotsReply(QUERY, RobotsFetchResult.GOOD, "User-agent: *\n", 200), id="text"),
        pytest.param(
            RobotsReply(QUERY, RobotsFetchResult.REDIRECTED, target="https://c.test/robots.txt"),
            id="redirect",
        ),
    ],
)
def test_a_message_arrives_as_it_was_sent(message: RobotsMessage) -> None:
    (event,) = robots_messages([message], shards=12, now_ms=NOW, by_domain=False)
    (candidate,) = parse_candidates(event, by_domain=False)

    assert is_robots_message(candidate)
    assert parse_robots_message(candidate) == message
    assert candidate.group == ("www.b.test" if message is QUERY else "a.test")


def test_a_page_is_no_query_and_a_broken_query_is_a_bad_message() -> None:
    assert not is_robots_message(a_candidate("http://a.test/robots.txt"))

    with pytest.raises(ValueError, match="lacks its chain or sequence"):
        parse_robots_message(a_candidate(QUERY.url, kind="robots"))


@pytest.mark.parametrize(
    ("state", "result"),
    [
        pytest.param(FRESH, RobotsFetchResult.GOOD, id="rules"),
        pytest.param(replace(FRESH, state=RobotsState.LAST_GOOD), RobotsFetchResult.GOOD, id="last-good"),
        pytest.param(replace(FRESH, state=RobotsState.ABSENT), RobotsFetchResult.ABSENT, id="absent"),
        pytest.param(replace(FRESH, state=RobotsState.UNREACHABLE), RobotsFetchResult.FAILED, id="failed"),
        pytest.param(
            replace(FRESH, state=RobotsState.UNREACHABLE, error_class="dns_not_found"),
            RobotsFetchResult.FAILED,
            id="no-such-host",
        ),
        pytest.param(
            replace(FRESH, state=RobotsState.UNREACHABLE, error_class="refused_address"),
            RobotsFetchResult.ABSENT,
            id="forbidden-address",
        ),
        pytest.param(
            replace(
                FRESH, state=RobotsState.UNREACHABLE, error_class="robots_redirected", url="https://c.test/"
            ),
            RobotsFetchResult.REDIRECTED,
            id="redirects-on",
        ),
    ],
)
def test_the_state_of_the_target_is_the_reply(state: OriginRobots, result: RobotsFetchResult) -> None:
    reply = reply_to(QUERY, state, now_ms=NOW)

    assert reply is not None
    assert reply.result is result


@pytest.mark.parametrize("state", [OriginRobots(), replace(FRESH, expires_at_ms=NOW)])
def test_an_unknown_or_expired_target_is_fetched_first(state: OriginRobots) -> None:
    assert reply_to(QUERY, state, now_ms=NOW) is None


def test_redirects_are_followed_five_times_and_in_no_circle() -> None:
    query, followed = QUERY, 1
    for number in range(10):
        reply = RobotsReply(query, RobotsFetchResult.REDIRECTED, target=f"http://c{number}.test/robots.txt")
        if (following := next_query(reply)) is None:
            break
        query, followed = following, followed + 1

    assert (followed, len(query.chain)) == (5, 5)
    circle = RobotsReply(QUERY, RobotsFetchResult.REDIRECTED, target=QUERY.chain[0])
    assert next_query(circle) is None
    assert response_of(circle, OriginRobots()).result is RobotsFetchResult.ABSENT


@pytest.mark.parametrize(
    "target", ["http://c.test/robots.txt?x", "http://c.test/a", "http://c.test/a/robots.txt"]
)
def test_only_robots_files_are_queried(target: str) -> None:
    assert next_query(RobotsReply(QUERY, RobotsFetchResult.REDIRECTED, target=target)) is None
