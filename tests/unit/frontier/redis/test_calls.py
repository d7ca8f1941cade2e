"""What an owner makes of the answers that it had."""

from __future__ import annotations

from strider.frontier.redis.calls import OwnerEstimate


def test_before_the_first_success_any_duration_is_accepted() -> None:
    assert OwnerEstimate().clock_bounds(100.0) == (0, 0)


def test_the_clock_must_stand_where_ours_has_got_to() -> None:
    """Give and take a second, and what the answer took on its way."""
    reckoning = OwnerEstimate()
    reckoning.record_clock(1_000_000, sent_at=10.0, received_at=10.1)

    assert reckoning.clock_bounds(20.0) == (1_000_000 + 9_900 - 1_000, 1_000_000 + 10_000 + 1_000)


def test_a_slow_response_weighs_less_than_a_fast_one_before_it() -> None:
    """It may have been given at its beginning or at its end."""
    reckoning = OwnerEstimate()
    reckoning.record_clock(1_000_000, sent_at=10.0, received_at=10.1)
    reckoning.record_clock(1_001_000, sent_at=11.0, received_at=11.9)

    assert reckoning.clock_bounds(20.0) == (1_008_900, 1_011_000)


def test_a_slow_response_is_better_than_none() -> None:
    reckoning = OwnerEstimate()
    reckoning.record_clock(1_000_000, sent_at=10.0, received_at=10.9)

    assert reckoning.clock_bounds(11.0) == (999_100, 1_002_000)


def test_a_header_that_starts_again_is_not_taken_for_an_older_one() -> None:
    """And the clock that told the time is the same."""
    reckoning = OwnerEstimate()
    reckoning.record_reply(7)
    reckoning.record_reply(5)
    reckoning.record_clock(1_000_000, sent_at=10.0, received_at=10.0)
    assert reckoning.last_completed_call == 7

    reckoning.reset()

    assert reckoning.last_completed_call == 0
    assert reckoning.clock_bounds(10.0) == (999_000, 1_001_000)
