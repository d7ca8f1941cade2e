"""Circuit breaker of a host group: stop requests to a host that fails or refuses them.

    closed ──5 failures, or 5 refusals, in a row──▶ open ──60 s, or 5 min──▶ half-open
      ▲                                               ▲                          │
      └───────────────── 2 successes ─────────────────┼──────────────────────────┤
                                                      └── any failure or refusal ┘

Two kinds of signals, one state: failures (no response, one that is too slow or not valid HTTP, or a 5xx) and
refusals (403, 429). Further failures of one page count only after a failure of another. A success resets both
counts. While half-open, requests go one at a time. Responses to requests sent before a change of state do not
affect the new state.
Pure: no clock, and no knowledge of what a request was for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from strider.contracts.generated.enums import BlockReason, BreakerState


class BreakerSignal(StrEnum):
    """Effect of one response on the breaker."""

    GOOD = "good"
    FAILED = "failed"
    """No response, one that is too slow or not valid HTTP, or a server error."""
    FAILED_AGAIN = "failed_again"
    """A server error of a page that had failed before."""
    REFUSED = "refused"
    """The host refused us (403, 429)."""


@dataclass(frozen=True, slots=True)
class BreakerLimits:
    """Thresholds and times of a breaker."""

    failures: int = 5
    """Consecutive failures that open it; 0 never does."""
    open_ms: int = 60_000
    """How long it is open after failures."""
    refusals: int = 5
    """Consecutive refusals that open it; 0 never does."""
    refused_ms: int = 300_000
    """How long it is open after refusals, which need more time than failures."""
    successes: int = 2
    """Successes that close it."""


DEFAULT_LIMITS: Final = BreakerLimits()


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """State of a breaker."""

    state: BreakerState = BreakerState.CLOSED
    changed_at_ms: int = 0
    """When it entered this state; 0 where it was never open."""
    until_ms: int = 0
    """While it is open: no request before this time."""
    reason: str = ""
    """The kind of signal that opened it; empty while it is closed."""
    failures: int = 0
    """Consecutive failures."""
    refusals: int = 0
    """Consecutive refusals."""
    successes: int = 0
    """Successes since it is half-open."""
    since_ms: int = 0
    """First failure or refusal since the last success; 0 where there was none."""

    @property
    def is_closed(self) -> bool:
        """Whether requests are not restricted."""
        return self.state is BreakerState.CLOSED

    @property
    def blocked_until_ms(self) -> int:
        """Return the time before which no request is allowed; 0 for none."""
        return self.until_ms if self.state is BreakerState.OPEN else 0


NEW_BREAKER: Final = CircuitBreaker()


def advance_to(before: CircuitBreaker, now_ms: int) -> CircuitBreaker:
    """Advance to a time: an open breaker becomes half-open when its time is over."""
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
    """Apply the signal of a response whose request began at `requested_at_ms` (0: unknown)."""
    breaker = advance_to(before, now_ms)
    if requested_at_ms and requested_at_ms < breaker.changed_at_ms:
        return breaker
    return _TRANSITIONS[breaker.state, signal](breaker, now_ms, limits)


def _on_success(breaker: CircuitBreaker, _now_ms: int, _limits: BreakerLimits) -> CircuitBreaker:
    if not breaker.since_ms:
        return breaker
    return replace(breaker, failures=0, refusals=0, since_ms=0)


def _on_failure(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    failures = breaker.failures + 1
    counted = replace(breaker, failures=failures, since_ms=breaker.since_ms or now_ms)
    if not 0 < limits.failures <= failures:
        return counted
    return _open(counted, now_ms, limits.open_ms, BlockReason.BREAKER)


def _on_repeated_failure(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    """Count it only where something else has failed since the last success.

    Retries of a few bad pages accumulate between successes: several in a row say nothing about a host that
    responds.
    """
    return _on_failure(breaker, now_ms, limits) if breaker.since_ms else breaker


def _on_refusal(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    refusals = breaker.refusals + 1
    counted = replace(breaker, refusals=refusals, since_ms=breaker.since_ms or now_ms)
    if not 0 < limits.refusals <= refusals:
        return counted
    return _open(counted, now_ms, limits.refused_ms, BlockReason.FORBIDDEN)


def _on_half_open_success(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    successes = breaker.successes + 1
    if successes < limits.successes:
        return replace(breaker, successes=successes, since_ms=0)
    return CircuitBreaker(changed_at_ms=now_ms)


def _on_half_open_failure(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    counted = replace(breaker, failures=breaker.failures + 1, since_ms=breaker.since_ms or now_ms)
    return _open(counted, now_ms, limits.open_ms, BlockReason.BREAKER)


def _on_half_open_refusal(breaker: CircuitBreaker, now_ms: int, limits: BreakerLimits) -> CircuitBreaker:
    counted = replace(breaker, refusals=breaker.refusals + 1, since_ms=breaker.since_ms or now_ms)
    return _open(counted, now_ms, limits.refused_ms, BlockReason.FORBIDDEN)


def _open(breaker: CircuitBreaker, now_ms: int, wait_ms: int, reason: BlockReason) -> CircuitBreaker:
    return replace(
        breaker,
        state=BreakerState.OPEN,
        changed_at_ms=now_ms,
        until_ms=now_ms + wait_ms,
        reason=reason.value,
        successes=0,
    )


def _unchanged(breaker: CircuitBreaker, _now_ms: int, _limits: BreakerLimits) -> CircuitBreaker:
    """Return the breaker unchanged: requests are not sent while it is open, so this one was sent before."""
    return breaker


BreakerStep = Callable[[CircuitBreaker, int, BreakerLimits], CircuitBreaker]

_TRANSITIONS: Final[Mapping[tuple[BreakerState, BreakerSignal], BreakerStep]] = {
    (BreakerState.CLOSED, BreakerSignal.GOOD): _on_success,
    (BreakerState.CLOSED, BreakerSignal.FAILED): _on_failure,
    (BreakerState.CLOSED, BreakerSignal.FAILED_AGAIN): _on_repeated_failure,
    (BreakerState.CLOSED, BreakerSignal.REFUSED): _on_refusal,
    (BreakerState.OPEN, BreakerSignal.GOOD): _unchanged,
    (BreakerState.OPEN, BreakerSignal.FAILED): _unchanged,
    (BreakerState.OPEN, BreakerSignal.FAILED_AGAIN): _unchanged,
    (BreakerState.OPEN, BreakerSignal.REFUSED): _unchanged,
    (BreakerState.HALF_OPEN, BreakerSignal.GOOD): _on_half_open_success,
    (BreakerState.HALF_OPEN, BreakerSignal.FAILED): _on_half_open_failure,
    (BreakerState.HALF_OPEN, BreakerSignal.FAILED_AGAIN): _on_half_open_failure,
    (BreakerState.HALF_OPEN, BreakerSignal.REFUSED): _on_half_open_refusal,
}
