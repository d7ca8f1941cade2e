"""Circuit breaker of a group: when it opens, becomes half-open, and closes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from strider.contracts.generated.enums import BreakerState
from strider.politeness.circuit_breaker import (
    NEW_BREAKER,
    BreakerLimits,
    BreakerSignal,
    CircuitBreaker,
    advance_to,
    apply_signal,
)

NOW = 5_000_000
CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN
GOOD, FAILED, REFUSED, AGAIN = (
    BreakerSignal.GOOD,
    BreakerSignal.FAILED,
    BreakerSignal.REFUSED,
    BreakerSignal.FAILED_AGAIN,
)


def after(
    *signals: BreakerSignal, breaker: CircuitBreaker = NEW_BREAKER, now_ms: int = NOW
) -> CircuitBreaker:
    for signal in signals:
        breaker = apply_signal(breaker, signal, now_ms=now_ms)
    return breaker


@pytest.mark.req("S2.1.11", "S2.1.12", "S3.19.12")
@pytest.mark.parametrize(
    ("signals", "state", "open_ms", "reason"),
    [
        pytest.param((FAILED,) * 4, CLOSED, 0, "", id="four-failures"),
        pytest.param((FAILED,) * 5, OPEN, 60_000, "breaker", id="five-failures"),
        pytest.param((REFUSED,) * 4, CLOSED, 0, "", id="four-refusals"),
        pytest.param((REFUSED,) * 5, OPEN, 300_000, "forbidden", id="five-refusals"),
        pytest.param((FAILED,) * 4 + (REFUSED,) * 4, CLOSED, 0, "", id="each-feed-counts-for-itself"),
        pytest.param((*(FAILED,) * 4, GOOD, *(FAILED,) * 4), CLOSED, 0, "", id="a-success-between"),
        pytest.param((*(REFUSED,) * 4, GOOD, *(REFUSED,) * 4), CLOSED, 0, "", id="welcome-between"),
    ],
)
def test_a_row_opens_it(signals: tuple[BreakerSignal, ...], state: str, open_ms: int, reason: str) -> None:
    breaker = after(*signals)

    assert (breaker.state, breaker.reason) == (state, reason)
    assert breaker.blocked_until_ms == (NOW + open_ms if open_ms else 0)


@pytest.mark.req("S3.19.16")
def test_a_success_ends_a_series_of_failures() -> None:
    assert after(FAILED, FAILED, REFUSED, GOOD) == NEW_BREAKER


@pytest.mark.req("S3.19.13", "S3.19.15")
def test_an_open_one_looks_again_when_its_time_is_over() -> None:
    opened = after(*(FAILED,) * 5)

    assert advance_to(opened, NOW + 59_999) == opened
    assert advance_to(opened, NOW + 60_000) == replace(
        opened, state=HALF_OPEN, changed_at_ms=NOW + 60_000, until_ms=0
    )


@pytest.mark.req("S3.19.14")
def test_two_successes_close_it() -> None:
    half_open = advance_to(after(*(FAILED,) * 5), NOW + 60_000)

    one = after(GOOD, breaker=half_open, now_ms=NOW + 61_000)
    two = after(GOOD, breaker=one, now_ms=NOW + 62_000)

    assert (one.state, one.successes) == (HALF_OPEN, 1)
    assert two == CircuitBreaker(changed_at_ms=NOW + 62_000)


@pytest.mark.parametrize(
    ("signal", "open_ms"),
    [pytest.param(FAILED, 60_000, id="fails"), pytest.param(REFUSED, 300_000, id="403")],
)
@pytest.mark.parametrize("good", [0, 1])
def test_one_failure_opens_it_again(signal: BreakerSignal, open_ms: int, good: int) -> None:
    half_open = advance_to(after(*(FAILED,) * 5), NOW + 60_000)

    again = after(*(GOOD,) * good, signal, breaker=half_open, now_ms=NOW + 70_000)

    assert (again.state, again.successes) == (OPEN, 0)
    assert again.blocked_until_ms == NOW + 70_000 + open_ms


@pytest.mark.parametrize("signal", BreakerSignal)
def test_what_was_under_way_when_it_opened_changes_nothing(signal: BreakerSignal) -> None:
    """A group with several places has several requests in flight; their late responses count for nothing."""
    opened = after(*(FAILED,) * 5)

    assert after(signal, breaker=opened, now_ms=NOW + 1_000) == opened
    late = apply_signal(opened, signal, now_ms=NOW + 90_000, requested_at_ms=NOW - 1_000)
    assert late == advance_to(opened, NOW + 90_000)


def test_a_limit_of_nothing_never_opens_it() -> None:
    breaker = NEW_BREAKER
    for _ in range(100):
        for signal in (FAILED, REFUSED):
            breaker = apply_signal(breaker, signal, now_ms=NOW, limits=BreakerLimits(failures=0, refusals=0))

    assert breaker.state is CLOSED


def test_trouble_is_dated_from_its_beginning() -> None:
    """The time of unreachability runs from the first failure to the first success."""
    breaker = after(FAILED, now_ms=NOW)
    breaker = after(*(FAILED,) * 4, breaker=breaker, now_ms=NOW + 5_000)
    reopened = after(FAILED, breaker=breaker, now_ms=NOW + 80_000)
    seen_well = after(GOOD, breaker=advance_to(reopened, NOW + 200_000), now_ms=NOW + 200_000)

    assert (reopened.since_ms, seen_well.since_ms) == (NOW, 0)


def test_repeated_failures_of_pages_do_not_back_off_a_responding_host() -> None:
    """The retries of a few bad pages accumulate between successes."""
    assert after(FAILED, GOOD, *[AGAIN] * 9).state is CLOSED
    assert after(FAILED, *[AGAIN] * 4).state is OPEN, "nothing good in between"
    assert after(FAILED, GOOD, AGAIN, FAILED, *[AGAIN] * 4).state is OPEN


class BreakerMachine(RuleBasedStateMachine):
    """Any signals at any times, compared with a plain list of all signals."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = NOW
        self.breaker = NEW_BREAKER
        self.row: list[BreakerSignal] = []
        """Signals since the last success while it is closed."""
        self.opened_at_ms = 0

    @rule(seconds=st.sampled_from([0, 1, 30, 60, 300]))
    def wait(self, seconds: int) -> None:
        self.now_ms += seconds * 1000

    @rule(signal=st.sampled_from(BreakerSignal))
    def answer(self, signal: BreakerSignal) -> None:
        before = advance_to(self.breaker, self.now_ms)
        self.breaker = apply_signal(self.breaker, signal, now_ms=self.now_ms)
        self.row = [] if signal is GOOD or not before.is_closed else [*self.row, *self._counted(signal)]
        moves = {
            CLOSED: {CLOSED, OPEN},
            OPEN: {OPEN},
            HALF_OPEN: {HALF_OPEN, OPEN, CLOSED},
        }
        assert self.breaker.state in moves[before.state]
        if self.breaker.state is OPEN and before.state is not OPEN:
            self.opened_at_ms = self.now_ms
            assert signal is not GOOD

    def _counted(self, signal: BreakerSignal) -> list[BreakerSignal]:
        if signal is not AGAIN:
            return [signal]
        return [FAILED] if self.row else []

    @invariant()
    def opens_for_five_in_a_row_only(self) -> None:
        counts = (self.row.count(FAILED), self.row.count(REFUSED))
        if self.breaker.is_closed:
            assert (self.breaker.failures, self.breaker.refusals) == counts
            assert max(counts) < 5

    @invariant()
    def never_stays_open_for_ever(self) -> None:
        if self.breaker.state is OPEN:
            assert 60_000 <= self.breaker.blocked_until_ms - self.opened_at_ms <= 300_000
        else:
            assert self.breaker.blocked_until_ms == 0

    @invariant()
    def one_answer_short_of_closed(self) -> None:
        assert self.breaker.successes < 2


BreakerMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestBreakers = BreakerMachine.TestCase
