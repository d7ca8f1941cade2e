"""The circuit breaker of a group: when is a host that fails, or turns us away, left alone altogether?

    closed ──5 failures, or 5 refusals, in a row──▶ open ──60 s, or 5 min──▶ half-open
      ▲                                               ▲                          │
      └────────────── 2 good answers ─────────────────┼──────────────────────────┤
                                                      └── any failure or refusal ┘

Two feeds, one state: failures (nothing, or a 5xx, comes back) and refusals (403, 429). A page that fails
once more counts only in a row that something else has begun. A good answer
ends both rows. Half-open, requests go one at a time. What was asked before the state changed says
nothing of the new one. Values in, values out; no clock, and no notion of what a request was for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from strider.contracts.generated.enums import BlockReason, BreakerState


class BreakerSignal(StrEnum):
    """What one answer says to the breaker."""

    GOOD = "good"
    FAILED = "failed"
    """Nothing came back, or that the server failed."""
    FAILED_AGAIN = "failed_again"
    """That the server failed with a page with which it had failed before."""
    REFUSED = "refused"
    """It came back that we are not wanted."""


@dataclass(frozen=True, slots=True)
class BreakerLimits:
    """When a breaker opens and closes."""

    failures: int = 5
    """In a row, that open it; 0 never does."""
    open_ms: int = 60_000
    """How long it is open after failures."""
    refusals: int = 5
    """In a row, that open it; 0 never does."""
    refused_ms: int = 300_000
    """How long it is open after refusals: who turns us away wants longer than who stumbles."""
    successes: int = 2
    """Good answers that close it."""


DEFAULT_LIMITS: Final = BreakerLimits()


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """How a breaker stands."""

    state: BreakerState = BreakerState.CLOSED
    changed_at_ms: int = 0
    """When it got there; 0 where it was never open."""
    until_ms: int = 0
    """While it is open: no request before."""
    reason: str = ""
    """Which feed opened it; empty while it is closed."""
    failures: int = 0
    """In a row."""
    refusals: int = 0
    """In a row."""
    successes: int = 0
    """Since it is half-open."""
    since_ms: int = 0
    """First failure or refusal since the last good answer; 0 where there was none."""

    @property
    def is_closed(self) -> bool:
        """Say whether requests go as they may."""
        return self.state is BreakerState.CLOSED

    @property
    def blocked_until_ms(self) -> int:
        """Say before when nothing is asked; 0 for no such time."""
        return self.until_ms if self.state is BreakerState.OPEN else 0


NEW_BREAKER: Final = CircuitBreaker()


def advance_to(before: CircuitBreaker, now_ms: int) -> CircuitBreaker:
    """Let time pass: an open breaker whose time is over lets a few requests through to see."""
    if before.state is BreakerState.OPEN and now_ms >= before.until_ms:
        return replace(
            before, state=BreakerState.HALF_OPEN, changed_at_ms=before.until_ms, until_ms=0, successes=0
        )
    return before


def apply_signal(
    before: CircuitBreaker,
    signal: BreakerSignal,
    *,
    now_ms: int,
    requested_at_ms: int = 0,
    limits: BreakerLimits = DEFAULT_LIMITS,
) -> CircuitBreaker:
    """Take in an answer; `asked_at_ms` is when its request began, 0 where nobody knows."""
    breaker = advance_to(before, now_ms)
    if requested_at_ms and requested_at_ms < breaker.changed_at_ms:
        return breaker
    return _TRANSITIONS[breaker.state, signal](breaker, now_ms, limits)


def _on_success(breaker: CircuitBreaker, _now_ms: int, _limits: BreakerLimits) -> CircuitBreaker:
    if not breaker.since_ms:
        return breaker
    return replace(breaker, failures=0, refusals=0, since_ms=0)


def _failed(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    failures = breaker.failures + 1
    counted = replace(breaker, failures=failures, since_ms=breaker.since_ms or now_ms)
    if not 0 < limits.failures <= failures:
        return counted
    return _opened(counted, now_ms, limits.open_ms, BlockReason.BREAKER)


def _on_repeated_failure(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    """Count it where nothing good has come since something else failed.

    Tries of a few bad pages gather between the good ones: a row of them says nothing of a host that answers.
    """
    return _failed(breaker, now_ms, limits) if breaker.since_ms else breaker


def _refused(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    refusals = breaker.refusals + 1
    counted = replace(breaker, refusals=refusals, since_ms=breaker.since_ms or now_ms)
    if not 0 < limits.refusals <= refusals:
        return counted
    return _opened(counted, now_ms, limits.refused_ms, BlockReason.FORBIDDEN)


def _answered(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    successes = breaker.successes + 1
    if successes < limits.successes:
        return replace(breaker, successes=successes, since_ms=0)
    return CircuitBreaker(changed_at_ms=now_ms)


def _on_half_open_failure(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    counted = replace(breaker, failures=breaker.failures + 1, since_ms=breaker.since_ms or now_ms)
    return _opened(counted, now_ms, limits.open_ms, BlockReason.BREAKER)


def _on_half_open_refusal(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    counted = replace(breaker, refusals=breaker.refusals + 1, since_ms=breaker.since_ms or now_ms)
    return _opened(counted, now_ms, limits.refused_ms, BlockReason.FORBIDDEN)


def _opened(breaker: CircuitBreaker, now_ms: int, wait_ms: int, reason: BlockReason) -> CircuitBreaker:
    return replace(
        breaker,
        state=BreakerState.OPEN,
        changed_at_ms=now_ms,
        until_ms=now_ms + wait_ms,
        reason=reason.value,
        successes=0,
    )


def _unchanged(breaker: CircuitBreaker, _now_ms: int, _limits: BreakerLimits) -> CircuitBreaker:
    """Nothing is asked while it is open, so this was asked before."""
    return breaker


BreakerStep = Callable[[CircuitBreaker, int, BreakerLimits], CircuitBreaker]

_TRANSITIONS: Final[Mapping[tuple[BreakerState, BreakerSignal], BreakerStep]] = {
    (BreakerState.CLOSED, BreakerSignal.GOOD): _on_success,
    (BreakerState.CLOSED, BreakerSignal.FAILED): _failed,
    (BreakerState.CLOSED, BreakerSignal.FAILED_AGAIN): _on_repeated_failure,
    (BreakerState.CLOSED, BreakerSignal.REFUSED): _refused,
    (BreakerState.OPEN, BreakerSignal.GOOD): _unchanged,
    (BreakerState.OPEN, BreakerSignal.FAILED): _unchanged,
    (BreakerState.OPEN, BreakerSignal.FAILED_AGAIN): _unchanged,
    (BreakerState.OPEN, BreakerSignal.REFUSED): _unchanged,
    (BreakerState.HALF_OPEN, BreakerSignal.GOOD): _answered,
    (BreakerState.HALF_OPEN, BreakerSignal.FAILED): _on_half_open_failure,
    (BreakerState.HALF_OPEN, BreakerSignal.FAILED_AGAIN): _on_half_open_failure,
    (BreakerState.HALF_OPEN, BreakerSignal.REFUSED): _on_half_open_refusal,
}
