"""Labels of events, and the counts of a host."""

from __future__ import annotations

import pytest

from strider.insights.core import (
    HOUR_MS,
    HostCounts,
    add_count,
    count_requests,
    fetch_label,
    hour_of,
    is_expired,
    keep_busiest,
    settlement_label,
)

from .events import a_fetch, a_settlement

HOUR = 500_000
KNOWN = HostCounts(
    total={"fetched": 7, "not_found": 1}, hour=HOUR, this_hour={"fetched": 2}, hour_before={"not_found": 1}
)


@pytest.mark.parametrize(
    ("event", "word"),
    [
        pytest.param(a_fetch(), "fetched", id="a-page"),
        pytest.param(a_fetch(outcome="timed_out"), "timed_out", id="a-failure"),
        pytest.param(a_fetch(kind="robots"), "robots:fetched", id="a-robots-txt-is-no-page"),
    ],
)
def test_a_request_is_counted_by_its_outcome(event, word):
    assert fetch_label(event) == word


def test_a_settled_page_is_counted_by_its_verdict():
    assert settlement_label(a_settlement(verdict="rejected")) == "settled:rejected"


@pytest.mark.parametrize(
    ("timestamp_ms", "hour"),
    [
        pytest.param(HOUR * HOUR_MS, HOUR, id="the-first-moment-of-an-hour"),
        pytest.param(HOUR * HOUR_MS - 1, HOUR - 1, id="the-last-of-the-one-before"),
        pytest.param((HOUR + 99) * HOUR_MS, HOUR, id="the-future-is-now"),
    ],
)
def test_an_event_belongs_to_its_own_hour(timestamp_ms, hour):
    """A wrong clock of another machine must not freeze the hours of a host."""
    assert hour_of(timestamp_ms, now_ms=HOUR * HOUR_MS + 5) == hour


def test_the_first_count_of_a_host():
    assert add_count(None, "fetched", hour=HOUR) == HostCounts(
        total={"fetched": 1}, hour=HOUR, this_hour={"fetched": 1}, hour_before={}
    )


@pytest.mark.parametrize(
    ("hour", "this_hour", "hour_before", "latest"),
    [
        pytest.param(HOUR, {"fetched": 3}, {"not_found": 1}, HOUR, id="the-same-hour"),
        pytest.param(HOUR + 1, {"fetched": 1}, {"fetched": 2}, HOUR + 1, id="the-next-hour"),
        pytest.param(HOUR + 2, {"fetched": 1}, {}, HOUR + 2, id="an-hour-after-a-quiet-one"),
        pytest.param(HOUR - 1, {"fetched": 2}, {"not_found": 1, "fetched": 1}, HOUR, id="an-hour-late"),
        pytest.param(HOUR - 2, {"fetched": 2}, {"not_found": 1}, HOUR, id="too-late-for-any-hour"),
    ],
)
def test_hours_tumble(hour, this_hour, hour_before, latest):
    """The total counts in any hour."""
    assert add_count(KNOWN, "fetched", hour=hour) == HostCounts(
        total={"fetched": 8, "not_found": 1}, hour=latest, this_hour=this_hour, hour_before=hour_before
    )


def test_given_counts_are_not_changed():
    """It may be about to be written to the changelog."""
    known = HostCounts(total={"fetched": 1}, hour=HOUR, this_hour={"fetched": 1}, hour_before={})

    add_count(known, "fetched", hour=HOUR)

    assert known == HostCounts(total={"fetched": 1}, hour=HOUR, this_hour={"fetched": 1}, hour_before={})


def test_what_became_of_a_page_is_no_request():
    assert count_requests({"fetched": 2, "robots:fetched": 1, "settled:valid": 2}) == 3


@pytest.mark.parametrize(
    ("hour", "forgotten"),
    [pytest.param(HOUR + 168, False, id="just-kept"), pytest.param(HOUR + 169, True, id="just-not")],
)
def test_a_quiet_host_is_forgotten(hour, forgotten):
    assert is_expired(KNOWN, hour=hour, keep_hours=168) is forgotten


@pytest.mark.parametrize(
    ("host", "requests", "after"),
    [
        pytest.param("c.test", 3, {"a.test": 5, "c.test": 3}, id="overtakes-the-last"),
        pytest.param("c.test", 1, {"a.test": 5, "b.test": 2}, id="does-not-overtake"),
        pytest.param("b.test", 9, {"a.test": 5, "b.test": 9}, id="is-there-already"),
    ],
)
def test_only_the_busiest_hosts_are_named(host, requests, after):
    assert keep_busiest({"a.test": 5, "b.test": 2}, host=host, requests=requests, most=2) == after
