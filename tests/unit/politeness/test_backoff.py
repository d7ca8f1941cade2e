"""Backoff of hosts: length of the waits, and when the count starts again."""

from __future__ import annotations

import pytest

from strider.politeness.backoff import (
    MAX_RETRY_AFTER_SECONDS,
    NO_BACKOFF,
    RESET_AFTER_QUIET_MS,
    HostBackoff,
    extend_backoff,
    is_overload_limit_reached,
    record_overload,
    record_success,
)

NOW = 5_000_000


class Fixed:
    """Random source that always returns the same part of the range."""

    def __init__(self, part: float) -> None:
        self._part = part

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self._part


def push(rest: HostBackoff, *, now: int = NOW, retry_after: float = -1.0, chance: float = 0.0) -> HostBackoff:
    return extend_backoff(
        rest, now_ms=now, retry_after_seconds=retry_after, reason="rate_limited", random=Fixed(chance)
    )


def test_waits_double_up_to_an_hour() -> None:
    rest, waits = NO_BACKOFF, []
    for _ in range(8):
        rest = push(rest, now=rest.until_ms or NOW)
        waits.append(rest.seconds)

    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]


@pytest.mark.parametrize(
    ("named", "seconds"),
    [
        pytest.param(7.0, 7.0, id="seconds"),
        pytest.param(0.0, 0.0, id="at-once"),
        pytest.param(1e9, MAX_RETRY_AFTER_SECONDS, id="huge"),
    ],
)
def test_a_host_may_name_the_time(named: float, seconds: float) -> None:
    assert push(NO_BACKOFF, retry_after=named).until_ms == NOW + round(seconds * 1000)


def test_a_named_time_that_is_too_short_is_not_believed_for_ever() -> None:
    rest, waits = NO_BACKOFF, []
    for _ in range(5):
        rest = push(rest, now=rest.until_ms or NOW, retry_after=1.0)
        waits.append(rest.seconds)

    assert waits == [1, 1, 1, 60, 120]


def test_quiet_forgives() -> None:
    rest = push(push(NO_BACKOFF))

    again = push(rest, now=rest.until_ms + RESET_AFTER_QUIET_MS + 1)

    assert (again.count, again.seconds) == (1, 60)


def test_chance_adds_a_tenth_at_most() -> None:
    """Hosts that were backed off together must not be requested together."""
    assert push(NO_BACKOFF, chance=1.0).seconds == 66


def test_a_later_wait_never_shortens_an_earlier_one() -> None:
    long = push(NO_BACKOFF, retry_after=600.0)

    assert push(long, retry_after=1.0).until_ms == long.until_ms


def test_a_success_shows_that_the_host_is_reachable() -> None:
    rest = record_success(record_overload(push(NO_BACKOFF), NOW))

    assert (rest.since_ms, rest.overloads, rest.count) == (0, 0, 1)


def test_only_a_third_overload_in_a_row_counts_against_the_host() -> None:
    once = record_overload(NO_BACKOFF, NOW)
    twice = record_overload(once, NOW + 1)

    assert [is_overload_limit_reached(rest) for rest in (NO_BACKOFF, once, twice)] == [False, False, True]
    assert not is_overload_limit_reached(record_success(twice))
    assert twice.since_ms == NOW
