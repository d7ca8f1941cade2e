"""When bad messages are too many."""

from __future__ import annotations

import pytest

from strider.runtime.publishing.dead_letter_breaker import DeadLetterBreaker, DeadLetterBreakerLimits

LIMITS = DeadLetterBreakerLimits(consecutive=5, failure_share=0.5, min_messages=20, window_seconds=60)


def _feed(
    breaker: DeadLetterBreaker, messages: str, *, every_seconds: float = 0.1, start: float = 0.0
) -> int | None:
    """Feed `.` (good) and `x` (bad); return at which one it tripped."""
    for number, message in enumerate(messages):
        now = start + number * every_seconds
        if message == ".":
            breaker.record_success(now)
        elif not breaker.record_failure(now):
            return number
    return None


@pytest.mark.parametrize(
    ("messages", "tripped_at"),
    [
        pytest.param("." * 100, None, id="all good"),
        pytest.param("xxxx." * 3, None, id="runs that end in time"),
        pytest.param("..xxxxx", 6, id="a run at the limit"),
        pytest.param("x." * 9 + "xx.x.", 19, id="half of a window, once enough were seen"),
        pytest.param("x.." * 60, None, id="a third of a window"),
        pytest.param("xx..." * 100, None, id="two fifths for long"),
    ],
)
def test_it_trips_at_its_limits(messages: str, tripped_at: int | None) -> None:
    assert _feed(DeadLetterBreaker(LIMITS), messages) == tripped_at


def test_what_is_older_than_the_window_does_not_count() -> None:
    breaker = DeadLetterBreaker(LIMITS)
    _feed(breaker, "xx.x" * 3, every_seconds=1)

    assert _feed(breaker, "." * 10 + "x" * 4, start=70) is None


def test_it_stays_tripped_until_it_is_reset() -> None:
    breaker = DeadLetterBreaker(LIMITS)
    _feed(breaker, "xxxxx")
    breaker.record_success(1.0)
    tripped = (breaker.record_failure(2.0), breaker.reason)
    breaker.reset()

    assert tripped == (False, "5 bad messages in a row")
    assert breaker.reason is None
    assert breaker.record_failure(3.0) is True


def test_the_share_is_reported_with_its_figures() -> None:
    breaker = DeadLetterBreaker(LIMITS)
    _feed(breaker, "x.x.x.x.x.x.x.x.x.xx")

    assert breaker.reason == "11 of 20 messages were bad within 60 s"


def test_memory_does_not_grow_with_time() -> None:
    breaker = DeadLetterBreaker(LIMITS)
    _feed(breaker, "x..." * 5_000, every_seconds=10)

    assert len(breaker._slots) <= 13
