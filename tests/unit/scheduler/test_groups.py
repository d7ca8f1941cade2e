"""How fast a group may be asked, and until when not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.politeness.backoff import BackOff
from strider.scheduler.core import (
    Group,
    group_of_record,
    group_record,
    hear,
    new_group,
    with_robots,
    with_spec,
)

from .builders import NOW, Lowest, a_spec, an_outcome

DELAY = 1.0


def a_group(**changes: object) -> Group:
    return replace(
        with_spec(new_group("a.test", delay_seconds=DELAY), a_spec(), delay_seconds=DELAY), **changes
    )


@pytest.mark.req("S3.17.2")
def test_a_second_is_the_default() -> None:
    assert (a_group().delay_ms, a_group().places) == (1000, 1)


@pytest.mark.parametrize(
    ("delay", "delay_ms"),
    [
        pytest.param(None, 1000, id="the-deployments"),
        pytest.param(0.0, 0, id="none"),
        pytest.param(0.25, 250, id="shorter"),
        pytest.param(5.0, 5000, id="longer"),
        pytest.param(-1.0, 0, id="negative"),
    ],
)
def test_a_spec_may_set_another_delay(delay: float | None, delay_ms: int) -> None:
    group = with_spec(
        new_group("a.test", delay_seconds=DELAY), a_spec(delay_seconds=delay), delay_seconds=DELAY
    )

    assert group.delay_ms == delay_ms


def test_the_most_careful_spec_wins() -> None:
    """Two crawls of one host share its patience."""
    fast = a_spec(delay_seconds=0.1, max_in_flight_per_group=8, host_patience_seconds=60)
    slow = a_spec(delay_seconds=3.0, max_in_flight_per_group=2)
    empty = new_group("a.test", delay_seconds=DELAY)

    one_way = with_spec(with_spec(empty, fast, delay_seconds=DELAY), slow, delay_seconds=DELAY)
    other_way = with_spec(with_spec(empty, slow, delay_seconds=DELAY), fast, delay_seconds=DELAY)

    assert one_way == other_way
    assert (one_way.delay_ms, one_way.places, one_way.patience_ms) == (3000, 2, 60_000)


@pytest.mark.req("S3.5.2", "S3.8.5")
def test_robots_win_upwards_only() -> None:
    """C-27: a crawl-delay makes it longer, never shorter; the largest of the group's origins counts."""
    group = with_robots(with_robots(a_group(), "http://a.test", 3.0), "https://a.test", 0.5)

    assert group.delay_ms == 3000
    assert with_robots(group, "http://a.test", 0.0).delay_ms == 1000


def test_429_makes_a_group_rest() -> None:
    group = hear(a_group(), an_outcome("rate_limited"), now_ms=NOW, chance=Lowest())

    assert group.is_blocked(NOW + 59_999)
    assert not group.is_blocked(NOW + 60_000)
    assert group.rest.reason == "rate_limited"


def test_the_same_outcome_is_heard_once() -> None:
    """It comes again after a crash, and must not double the wait."""
    outcome = an_outcome("rate_limited")
    group = hear(a_group(), outcome, now_ms=NOW, chance=Lowest())

    assert hear(group, outcome, now_ms=NOW + 9, chance=Lowest()) == group


def test_three_overloads_in_a_row_make_a_group_rest() -> None:
    group, blocked = a_group(), []
    for number in range(3):
        outcome = an_outcome("overloaded", fetch_sequence=number)
        group = hear(group, outcome, now_ms=NOW, chance=Lowest())
        blocked.append(group.is_blocked(NOW))

    assert blocked == [False, False, True]


def test_a_good_answer_between_them_says_that_it_was_the_page() -> None:
    group = a_group()
    for number, word in enumerate(["overloaded", "overloaded", "fetched", "overloaded", "overloaded"]):
        group = hear(group, an_outcome(word, fetch_sequence=number), now_ms=NOW, chance=Lowest())

    assert not group.is_blocked(NOW)


def test_a_resting_group_is_looked_at_when_a_patience_ends() -> None:
    """Else a crawl with two minutes of patience would wait a day for a host that asked for one."""
    rest = BackOff(count=1, until_ms=NOW + 86_400_000, since_ms=NOW)
    group = a_group(rest=rest, patience_ms=120_000)

    assert group.look_at_ms(NOW) == NOW + 120_000
    assert group.look_at_ms(NOW + 120_000) == 0
    assert a_group(rest=rest).look_at_ms(NOW) == NOW + 86_400_000
    assert a_group().look_at_ms(NOW) == 0


def test_a_record_brings_a_group_back() -> None:
    group = hear(a_group(configured_ms=4000), an_outcome("rate_limited"), now_ms=NOW, chance=Lowest())

    record = group_record(group, now_ms=NOW, epoch=3)
    back = group_of_record(record, delay_seconds=DELAY, keeps_specs=True)

    assert back == replace(group, heard=())
    assert (record.kind, record.group, record.delay_seconds, record.epoch) == ("group", "a.test", 4.0, 3)


def test_after_a_rebuild_only_specs_with_entries_count() -> None:
    """A spec that asked for ten seconds once must not slow a host down for ever."""
    record = group_record(a_group(configured_ms=10_000), now_ms=NOW, epoch=3)

    back = group_of_record(record, delay_seconds=DELAY, keeps_specs=False)

    assert with_spec(back, a_spec(), delay_seconds=DELAY).delay_ms == 1000
