"""What becomes of an entry when its request has ended?

    page on its way                     ──▶ round the ring
    redirect                            ──▶ `redirects`
    429, Retry-After, a third 503       ──▶ back into the queue, nothing held against it; the host rests
    5xx, broken connection, too slow    ──▶ tried again after 1, 2, 4 s; then closed
    no such name, bad certificate       ──▶ closed at once: the host is not there
    4xx, too large, wrong type, policy  ──▶ closed at once
    our own trouble                     ──▶ back into the queue

Takes the entry as it was, the outcome and how the group stands; how long hosts rest is
`politeness.backoff`'s. Knows no leases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.enums import (
    DecisionReason,
    EntryReason,
    EntryState,
    ErrorClass,
    FetchOutcome,
    RequestKind,
)
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, FetchCompleted
from strider.politeness.circuit_breaker import BreakerSignal
from strider.politeness.retry_policy import FETCH_RETRY, RandomSource

from .candidates import Candidate
from .recrawl import is_over, reschedule_without_page
from .redirects import apply_redirect
from .state import busy_ms, close_entry, mark_fetched, requeue_entry
from .url_decisions import UrlDecision
from .url_decisions import closed_decision as closed_line

MAX_BACK_OFF_REQUEUES: Final = 8
"""How often one entry may be put back because its host wants to rest, before it counts as failed.

A host that answers everything else well means this one URL.
"""

OWN_FAILURE_WAIT_MS: Final = 5_000
"""Before an entry is tried again that failed through no fault of its site; doubles with each time."""
OWN_FAILURE_MAX_WAIT_MS: Final = 600_000


class Sign(StrEnum):
    """What an outcome says of the group as a whole."""

    HEALTHY = "good"
    """It answers."""
    BACK_OFF = "push"
    """It wants to be left alone."""
    OVERLOADED = "strain"
    """A plain 503: one page's trouble, or the host's."""
    NONE = "none"


@fast_dataclass(frozen=True, slots=True)
class EntryTransition:
    """What follows from an outcome."""

    label: str
    """For metrics."""
    entry: EntryRecorded | None = None
    """The record to write; None: nothing changes."""
    decisions: tuple[UrlDecision, ...] = ()
    redirect_target: Candidate | None = None


@fast_dataclass(frozen=True, slots=True)
class OutcomeContext:
    """What else it hangs on."""

    spec: CrawlSpecDeclared
    now_ms: int
    host_backs_off: bool
    """Whether this outcome made the group rest: then a 503 is not held against the URL."""
    allow_private: bool = False
    by_domain: bool = False
    is_cut: bool = False
    """Whether the request was given fewer bytes than a page may have, because no more was left."""


DROPPED: Final = EntryTransition("stale")


def back_off_signal_of(outcome: FetchCompleted) -> Sign:
    """Read what an outcome says of the group, for pages and robots.txt alike."""
    word = outcome.outcome
    if word == FetchOutcome.RATE_LIMITED:
        return Sign.BACK_OFF
    if word == FetchOutcome.OVERLOADED:
        return Sign.BACK_OFF if outcome.retry_after_seconds >= 0 else Sign.OVERLOADED
    return Sign.HEALTHY if word in _HEALTHY_OUTCOMES else Sign.NONE


def breaker_signal_of(outcome: FetchCompleted) -> BreakerSignal | None:
    """Read what an outcome says to the group's breaker; None where it says nothing.

    A name that does not exist and a bad certificate close their URLs at once, which needs no breaker; and
    a robots.txt that cannot be fetched has its own rules.
    """
    word = outcome.outcome
    if word in _HEALTHY_OUTCOMES or word in _ANSWERED_OUTCOMES:
        return BreakerSignal.GOOD
    if word == FetchOutcome.RATE_LIMITED:
        return BreakerSignal.REFUSED
    if outcome.kind == RequestKind.ROBOTS:
        return None
    if word == FetchOutcome.BLOCKED:
        return None if outcome.status == _UNAUTHORIZED else BreakerSignal.REFUSED
    if word == FetchOutcome.SERVER_ERROR and outcome.try_number > 1:
        return BreakerSignal.FAILED_AGAIN
    is_failure = word in _FAILURES and outcome.error_class not in _BY_ERROR
    return BreakerSignal.FAILED if is_failure else None


def is_heard(entry: EntryRecorded, outcome: FetchCompleted, *, now_ms: int) -> bool:
    """Say whether an outcome that ends its lease fits its entry: same run, and not counted already."""
    if entry.execution_id != outcome.execution_id or entry.fetch_sequence > outcome.fetch_sequence:
        return False
    if is_over(entry, now_ms):
        return False
    return entry.state == EntryState.PENDING or entry.fetch_sequence < outcome.fetch_sequence


def apply_fetch_outcome(
    entry: EntryRecorded, outcome: FetchCompleted, context: OutcomeContext, *, chance: RandomSource
) -> EntryTransition:
    """Decide what becomes of an entry."""
    if not is_heard(entry, outcome, now_ms=context.now_ms):
        return DROPPED
    return schedule_recrawl(
        entry, _ended(entry, outcome, context, chance), context.spec, now_ms=context.now_ms
    )


def schedule_recrawl(
    before: EntryRecorded, transition: EntryTransition, spec: CrawlSpecDeclared, *, now_ms: int
) -> EntryTransition:
    """Have an entry of a continuous crawl come again, whatever ended it."""
    if not spec.continuous or transition.entry is None:
        return transition
    return replace_fields(
        transition, entry=reschedule_without_page(before, transition.entry, spec, now_ms=now_ms)
    )


def _ended(  # one a line of the table above
    entry: EntryRecorded, outcome: FetchCompleted, at: OutcomeContext, chance: RandomSource
) -> EntryTransition:
    if outcome.has_page:
        return EntryTransition("fetched", mark_fetched(entry, outcome, now_ms=at.now_ms))
    told = replace_fields(
        entry,
        fetch_sequence=outcome.fetch_sequence,
        body_bytes=entry.body_bytes + outcome.body_bytes,
        busy_ms=entry.busy_ms + busy_ms(outcome),
        status=outcome.status,
        error_class=outcome.error_class,
    )
    word = outcome.outcome
    if word == FetchOutcome.REDIRECTED:
        return _follow_redirect(told, outcome, at)
    if back_off_signal_of(outcome) is Sign.BACK_OFF or (
        word == FetchOutcome.OVERLOADED and at.host_backs_off
    ):
        return _requeue_for_back_off(told, outcome, at)
    if word in _OURS:
        return _put_back(told, at)
    if (reason := permanent_failure_reason(outcome, is_cut=at.is_cut)) is not None:
        return close_without_page(told, reason, now_ms=at.now_ms, detail=outcome.error_message)
    return retry_or_close(
        told, at.spec, now_ms=at.now_ms, chance=chance, detail=outcome.error_message, outcome=word
    )


def retry_or_close(
    entry: EntryRecorded,
    spec: CrawlSpecDeclared,
    *,
    now_ms: int,
    chance: RandomSource,
    detail: str = "",
    outcome: str = "",
) -> EntryTransition:
    """Try an entry again, up the ladder, or close it where the ladder ends."""
    tries = entry.tries + 1
    wait_seconds = replace(FETCH_RETRY, retries=spec.max_tries).wait_seconds(tries, chance)
    told = replace_fields(entry, tries=tries)
    if wait_seconds is not None:
        due_at_ms = now_ms + round(wait_seconds * 1000)
        return EntryTransition(
            "retry", requeue_entry(told, EntryReason.RETRY, due_at_ms=due_at_ms, now_ms=now_ms)
        )
    is_crash = outcome == FetchOutcome.CRASHED
    reason = DecisionReason.HANDLER_CRASHED if is_crash else DecisionReason.RETRIES_EXHAUSTED
    return close_without_page(told, reason, now_ms=now_ms, detail=detail)


def close_without_page(
    entry: EntryRecorded, reason: DecisionReason, *, now_ms: int, detail: str = ""
) -> EntryTransition:
    """Close an entry without a page, and say so."""
    record = close_entry(entry, reason, now_ms=now_ms)
    return EntryTransition(reason.value, record, (closed_line(record, detail),))


def permanent_failure_reason(outcome: FetchCompleted, *, is_cut: bool = False) -> DecisionReason | None:
    """Say why another try would not help; None where it may."""
    if is_cut and outcome.outcome == FetchOutcome.TOO_LARGE:
        return DecisionReason.BUDGET
    error = _BY_ERROR.get(outcome.error_class)
    return error or _CLOSE_REASON_BY_OUTCOME.get(outcome.outcome)


def _follow_redirect(told: EntryRecorded, outcome: FetchCompleted, at: OutcomeContext) -> EntryTransition:
    result = apply_redirect(
        told,
        outcome,
        at.spec,
        now_ms=at.now_ms,
        allow_private=at.allow_private,
        by_domain=at.by_domain,
    )
    if result.entry.state == EntryState.PENDING:
        return EntryTransition("moved", result.entry)
    lines = [closed_line(result.entry, result.detail)]
    if result.refused_target is not None:
        lines.append(result.refused_target)
    return EntryTransition(result.entry.reason, result.entry, tuple(lines), result.target)


def _requeue_for_back_off(
    told: EntryRecorded, outcome: FetchCompleted, at: OutcomeContext
) -> EntryTransition:
    signs = told.error_count + 1
    if signs >= MAX_BACK_OFF_REQUEUES:
        return close_without_page(
            told, DecisionReason.RETRIES_EXHAUSTED, now_ms=at.now_ms, detail=outcome.error_message
        )
    back = requeue_entry(told, EntryReason.HOST_BACKS_OFF, due_at_ms=at.now_ms, now_ms=at.now_ms)
    return EntryTransition("host_backs_off", replace_fields(back, error_count=signs))


def _put_back(told: EntryRecorded, at: OutcomeContext) -> EntryTransition:
    """Wait for our own network, proxy or process; no longer than the spec's patience with hosts."""
    waits = [
        min(OWN_FAILURE_WAIT_MS << min(n, 16), OWN_FAILURE_MAX_WAIT_MS) for n in range(told.error_count + 1)
    ]
    if sum(waits) > at.spec.host_patience_seconds * 1000:
        return close_without_page(
            told, DecisionReason.HOST_UNAVAILABLE, now_ms=at.now_ms, detail=told.error_class
        )
    back = requeue_entry(told, EntryReason.RETRY, due_at_ms=at.now_ms + waits[-1], now_ms=at.now_ms)
    return EntryTransition("put_back", replace_fields(back, error_count=told.error_count + 1))


_HEALTHY_OUTCOMES: Final = frozenset(
    {
        FetchOutcome.FETCHED,
        FetchOutcome.NOT_MODIFIED,
        FetchOutcome.REDIRECTED,
        FetchOutcome.NOT_FOUND,
        FetchOutcome.TOO_LARGE,
        FetchOutcome.UNSUPPORTED_TYPE,
    }
)

_ANSWERED_OUTCOMES: Final = frozenset({FetchOutcome.CLIENT_ERROR, FetchOutcome.ODD_STATUS})
"""The host is well, whatever it thinks of the request."""

_FAILURES: Final = frozenset(
    {
        FetchOutcome.SERVER_ERROR,
        FetchOutcome.OVERLOADED,
        FetchOutcome.NETWORK_FAILED,
        FetchOutcome.TIMED_OUT,
        FetchOutcome.TOO_SLOW,
        FetchOutcome.PROTOCOL_ERROR,
    }
)
_UNAUTHORIZED: Final = 401
"""It wants a password; that is about the page."""

_OURS: Final = frozenset({FetchOutcome.OFFLINE, FetchOutcome.PROXY_FAILED, FetchOutcome.INTERRUPTED})

_BY_ERROR: Final[Mapping[str, DecisionReason]] = {
    ErrorClass.DNS_NOT_FOUND: DecisionReason.HOST_UNAVAILABLE,
    ErrorClass.TLS_EXPIRED: DecisionReason.HOST_UNAVAILABLE,
    ErrorClass.TLS_WRONG_NAME: DecisionReason.HOST_UNAVAILABLE,
    ErrorClass.TLS_UNTRUSTED: DecisionReason.HOST_UNAVAILABLE,
    ErrorClass.BAD_URL: DecisionReason.BAD_URL,
    ErrorClass.REFUSED_SCHEME: DecisionReason.REFUSED_SCHEME,
    ErrorClass.REFUSED_PORT: DecisionReason.REFUSED_PORT,
}
"""Nothing that another try a second later would change."""

_CLOSE_REASON_BY_OUTCOME: Final[Mapping[str, DecisionReason]] = {
    FetchOutcome.NOT_FOUND: DecisionReason.NOT_FOUND,
    FetchOutcome.CLIENT_ERROR: DecisionReason.CLIENT_ERROR,
    FetchOutcome.BLOCKED: DecisionReason.CLIENT_ERROR,
    FetchOutcome.ODD_STATUS: DecisionReason.CLIENT_ERROR,
    FetchOutcome.TOO_LARGE: DecisionReason.TOO_LARGE,
    FetchOutcome.POLICY_BLOCKED: DecisionReason.POLICY_BLOCKED,
    FetchOutcome.UNSUPPORTED_TYPE: DecisionReason.UNSUPPORTED_TYPE,
}
"""What is not here is tried again."""
