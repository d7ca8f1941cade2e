"""Delay, backoff and breaker of a host group."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.contracts.generated.events import FetchCompleted
from strider.politeness.backoff import HostBackoff
from strider.scheduler.core.hosts.host_state import (
    HostGroup,
    apply_outcome_to_host,
    apply_patience,
    apply_robots_delay,
    has_breaker_tripped,
    host_group_from_record,
    host_group_to_record,
    new_host_group,
    pace_of,
)
from strider.scheduler.core.hosts.overrides import HostOverrides
from tests.unit.scheduler.builders import NOW, LowestChance, a_spec, an_outcome

DELAY = 1.0


def a_group(**changes: object) -> HostGroup:
    return replace(new_host_group("a.test", delay_seconds=DELAY), **changes)


@pytest.mark.req("S3.17.2")
@pytest.mark.req("S4.8.6", part="a delay of one second by default")
def test_a_second_is_the_default() -> None:
    assert a_group().delay_ms == 1000
    assert pace_of(a_spec())[:2] == (None, 1)
    assert pace_of(None)[:2] == (None, 1)


@pytest.mark.parametrize(
    ("delay", "delay_ms"),
    [
        pytest.param(None, None, id="the-deployments"),
        pytest.param(0.0, 0, id="none"),
        pytest.param(0.25, 250, id="shorter"),
        pytest.param(5.0, 5000, id="longer"),
        pytest.param(-1.0, 0, id="negative"),
        pytest.param(86_400.0, 60_000, id="beyond-the-longest"),
    ],
)
def test_a_spec_may_set_another_delay(delay: float | None, delay_ms: int | None) -> None:
    pace = pace_of(a_spec(delay_seconds=delay), max_delay_seconds=60)

    assert pace.delay_ms == delay_ms


@pytest.mark.req("S4.8.6", part="delay and concurrent requests of crawl specs")
def test_a_pace_is_all_that_a_spec_sets_for_hosts() -> None:
    spec = a_spec(delay_seconds=0.1, max_in_flight_per_group=8, host_patience_seconds=60)

    assert pace_of(spec) == (100, 8, 60)


@pytest.mark.req("S3.5.2", "S3.8.5", "S4.5.4")
def test_robots_win_upwards_only() -> None:
    """C-27: a crawl-delay makes it longer, never shorter; the largest of the group's origins counts."""
    group = apply_robots_delay(apply_robots_delay(a_group(), "http://a.test", 3.0), "https://a.test", 0.5)

    assert group.delay_ms == 3000
    assert apply_robots_delay(group, "http://a.test", 0.0).delay_ms == 1000


def test_429_makes_a_group_rest() -> None:
    group = apply_outcome_to_host(a_group(), an_outcome("rate_limited"), now_ms=NOW, chance=LowestChance())

    assert group.is_blocked(NOW + 59_999)
    assert not group.is_blocked(NOW + 60_000)
    assert group.back_off.reason == "rate_limited"


def test_the_same_outcome_is_applied_once() -> None:
    """It comes again after a crash, and must not double the wait."""
    outcome = an_outcome("rate_limited")
    group = apply_outcome_to_host(a_group(), outcome, now_ms=NOW, chance=LowestChance())

    assert apply_outcome_to_host(group, outcome, now_ms=NOW + 9, chance=LowestChance()) == group


def test_three_overloads_in_a_row_make_a_group_rest() -> None:
    group, blocked = a_group(), []
    for number in range(3):
        outcome = an_outcome("overloaded", fetch_sequence=number)
        group = apply_outcome_to_host(group, outcome, now_ms=NOW, chance=LowestChance())
        blocked.append(group.is_blocked(NOW))

    assert blocked == [False, False, True]


def test_a_success_between_failures_shows_that_the_page_was_at_fault() -> None:
    group = a_group()
    for number, word in enumerate(["overloaded", "overloaded", "fetched", "overloaded", "overloaded"]):
        group = apply_outcome_to_host(
            group, an_outcome(word, fetch_sequence=number), now_ms=NOW, chance=LowestChance()
        )

    assert not group.is_blocked(NOW)


def test_a_resting_group_is_looked_at_when_a_patience_ends() -> None:
    """Else a crawl with two minutes of patience would wait a day for a host that asked for one."""
    rest = HostBackoff(count=1, until_ms=NOW + 86_400_000, since_ms=NOW)
    group = apply_patience(a_group(back_off=rest), a_spec(host_patience_seconds=120))

    assert group.block_period_ms(NOW) == (NOW, NOW + 86_400_000)
    assert [group.is_held_back(NOW + wait) for wait in (0, 119_999, 120_000)] == [True, True, False]
    assert a_group(back_off=rest).is_held_back(NOW + 120_000)
    assert a_group().block_period_ms(NOW) == (0, 0)
    assert not a_group().is_held_back(NOW)


def test_no_patience_shortens_the_wait_for_the_robots_of_another_host() -> None:
    """Only our own query is waited for: the host is neither blocked nor unavailable."""
    waits = apply_patience(a_group(robots_wait_until_ms=NOW + 30_000), a_spec(host_patience_seconds=0))

    assert {waits.block_period_ms(NOW + passed) for passed in (0, 1, 29_999)} == {(0, NOW + 30_000)}
    assert [waits.is_held_back(NOW + passed) for passed in (0, 29_999, 30_000)] == [True, True, False]
    rest = HostBackoff(count=1, until_ms=NOW + 60_000, since_ms=NOW)
    assert replace(waits, back_off=rest).block_period_ms(NOW) == (NOW, NOW + 60_000)


def test_a_record_brings_a_group_back() -> None:
    group = apply_outcome_to_host(
        a_group(configured_delay_ms=4000), an_outcome("rate_limited"), now_ms=NOW, chance=LowestChance()
    )

    record = host_group_to_record(group, now_ms=NOW, epoch=3)
    back = host_group_from_record(record, delay_seconds=4.0)

    assert back == replace(group, applied_sequences=())
    assert (record.kind, record.group, record.delay_seconds, record.epoch) == ("group", "a.test", 4.0, 3)


def test_a_record_does_not_bring_a_delay_back() -> None:
    """Delays of crawl specs follow from open entries; one that was recorded must not hold for ever."""
    record = host_group_to_record(a_group(configured_delay_ms=10_000), now_ms=NOW, epoch=3)

    assert host_group_from_record(record, delay_seconds=DELAY).delay_ms == 1000


def failed(group: HostGroup, number: int, *, first: int = 10) -> HostGroup:
    for sequence in range(first, first + number):
        outcome = an_outcome("server_error", fetch_sequence=sequence, status=500)
        group = apply_outcome_to_host(group, outcome, now_ms=NOW, chance=LowestChance())
    return group


@pytest.mark.req("S3.19.12", "S3.5.4")
def test_a_host_that_fails_five_times_in_a_row_is_left_alone() -> None:
    before = a_group(overrides=HostOverrides(None, 4))
    group = failed(before, 5)

    assert (group.is_blocked(NOW + 59_999), group.is_blocked(NOW + 60_000)) == (True, False)
    assert (before.max_in_flight_override, group.max_in_flight_override) == (4, 1)
    assert group.block_reason == "breaker"
    assert (has_breaker_tripped(before, group), has_breaker_tripped(group, failed(group, 1, first=15))) == (
        True,
        False,
    )


@pytest.mark.req("S2.1.11")
@pytest.mark.parametrize("word", ["blocked", "rate_limited"])
def test_a_host_that_turns_us_away_five_times_in_a_row_is_left_alone(word: str) -> None:
    group = a_group()
    for number in range(5):
        group = apply_outcome_to_host(
            group, an_outcome(word, fetch_sequence=number), now_ms=NOW, chance=LowestChance()
        )

    assert group.is_blocked(NOW + 299_999)
    assert group.breaker.reason == "forbidden"


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(an_outcome("blocked", status=401), id="a-password-is-wanted"),
        pytest.param(an_outcome("network_failed", error_class="dns_not_found"), id="no-such-name"),
        pytest.param(an_outcome("network_failed", error_class="tls_expired"), id="certificate"),
        pytest.param(an_outcome("server_error", kind="robots"), id="robots-have-their-own-rules"),
        pytest.param(an_outcome("offline"), id="our-own-trouble"),
        pytest.param(an_outcome("crashed"), id="our-own-fault"),
    ],
)
def test_an_outcome_without_relation_to_the_host_trips_no_breaker(outcome: FetchCompleted) -> None:
    group = a_group()
    for number in range(9):
        group = apply_outcome_to_host(
            group, replace(outcome, fetch_sequence=number), now_ms=NOW, chance=LowestChance()
        )

    assert group.breaker == a_group().breaker


def test_an_open_breaker_comes_back_from_its_record() -> None:
    """C-8: it survives a restart, a move of its shard, and the loss of Redis."""
    group = failed(a_group(), 5)

    back = host_group_from_record(host_group_to_record(group, now_ms=NOW, epoch=3), delay_seconds=DELAY)

    assert back.breaker == group.breaker
    assert (back.blocked_until_ms, back.max_in_flight_override) == (NOW + 60_000, 1)


def test_the_longer_of_rest_and_breaker_holds() -> None:
    group = failed(a_group(), 5)
    day = an_outcome("rate_limited", fetch_sequence=99, retry_after_seconds=3600.0)

    assert (
        apply_outcome_to_host(group, day, now_ms=NOW, chance=LowestChance()).blocked_until_ms
        == NOW + 3_600_000
    )
