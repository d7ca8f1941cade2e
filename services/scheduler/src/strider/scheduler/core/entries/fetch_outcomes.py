"""Apply a fetch outcome to its entry. A URL is retried here (`retry_or_close`).

    page fetched                        ──▶ in progress, until pages-settled
    redirect                            ──▶ `redirects`
    429, 503 with Retry-After, 3rd 503  ──▶ requeued without counting a try, closed at the eighth;
                                            the host backs off
    5xx, broken connection, too slow    ──▶ retried after 1, 2, 4 s (`FETCH_RETRY`); then closed
    no such name, bad certificate       ──▶ closed at once (`host_unavailable`)
    4xx, too large, wrong type, policy  ──▶ closed at once
    failure of our own                  ──▶ requeued (`_requeue_own_failure`)

Takes the entry before the outcome, the outcome, and the state of its host group; how long a host backs off is
`politeness.backoff`'s. A lease that expires without an outcome is retried by the same `retry_or_close`,
called from `loops/release.py`. Knows no leases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
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
from .feed_polling import NO_POLLING, FeedPolling
from .recrawl import recrawl_rule, reschedule_without_page, waits_for_recrawl
from .redirects import SpecScopes, apply_redirect
from .state import close_entry, mark_fetched, request_duration_ms, requeue_entry
from .url_decisions import UrlDecision, closed_decision

MAX_BACK_OFF_REQUEUES: Final = 8
"""Times that one entry is requeued for its host's backoff before it is closed as failed.

Where the host answers every other request, the cause is this URL.
"""

OWN_FAILURE_WAIT_MS: Final = 5_000
"""First wait after a failure that is not the site's fault; doubles with each further one."""
OWN_FAILURE_MAX_WAIT_MS: Final = 600_000


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
"""The host works, even though it rejects the request."""

_HOST_FAILURES: Final = frozenset(
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
"""Authentication required, which concerns the page and not the host."""

_OWN_FAILURES: Final = frozenset({FetchOutcome.OFFLINE, FetchOutcome.PROXY_FAILED, FetchOutcome.INTERRUPTED})

_CLOSE_REASON_BY_ERROR: Final[Mapping[str, DecisionReason]] = {
    ErrorClass.DNS_NOT_FOUND: DecisionReason.HOST_UNAVAILABLE,
    ErrorClass.TLS_EXPIRED: DecisionReason.HOST_UNAVAILABLE,
    ErrorClass.TLS_WRONG_NAME: DecisionReason.HOST_UNAVAILABLE,
    ErrorClass.TLS_UNTRUSTED: DecisionReason.HOST_UNAVAILABLE,
    ErrorClass.BAD_URL: DecisionReason.BAD_URL,
    ErrorClass.REFUSED_SCHEME: DecisionReason.REFUSED_SCHEME,
    ErrorClass.REFUSED_PORT: DecisionReason.REFUSED_PORT,
}
"""Errors that another try a second later would not change."""

_CLOSE_REASON_BY_OUTCOME: Final[Mapping[str, DecisionReason]] = {
    FetchOutcome.NOT_FOUND: DecisionReason.NOT_FOUND,
    FetchOutcome.CLIENT_ERROR: DecisionReason.CLIENT_ERROR,
    FetchOutcome.BLOCKED: DecisionReason.CLIENT_ERROR,
    FetchOutcome.ODD_STATUS: DecisionReason.CLIENT_ERROR,
    FetchOutcome.TOO_LARGE: DecisionReason.TOO_LARGE,
    FetchOutcome.POLICY_BLOCKED: DecisionReason.POLICY_BLOCKED,
    FetchOutcome.UNSUPPORTED_TYPE: DecisionReason.UNSUPPORTED_TYPE,
}
"""Outcomes that close at once; any other outcome is retried."""


class BackOffSignal(StrEnum):
    """Effect of an outcome on the backoff of its host group."""

    HEALTHY = "healthy"
    """The host answers."""
    BACK_OFF = "back_off"
    """The host asks for fewer requests."""
    OVERLOADED = "overloaded"
    """A 503 without Retry-After: a problem of one page, or of the host."""
    NONE = "none"


@fast_dataclass(frozen=True, slots=True)
class EntryTransition:
    """New state of an entry, and the events that follow from it."""

    label: str
    """Label of a metric."""
    entry: EntryRecorded | None = None
    """The record to write; None where nothing changes."""
    decisions: tuple[UrlDecision, ...] = ()
    redirect_target: Candidate | None = None


@fast_dataclass(frozen=True, slots=True)
class OutcomeContext:
    """State around an entry that an outcome is applied with."""

    spec: CrawlSpecDeclared
    now_ms: int
    host_backs_off: bool
    """Whether this outcome made the host group back off: then a 503 does not count against the URL."""
    allow_private: bool = False
    by_domain: bool = False
    has_reduced_limit: bool = False
    """Whether the request had a smaller body limit than usual, because the budget had no more left."""
    scopes: SpecScopes = field(default_factory=SpecScopes)
    polling: FeedPolling = NO_POLLING


STALE: Final = EntryTransition("stale")


def back_off_signal_of(outcome: FetchCompleted) -> BackOffSignal:
    """Return what an outcome means for the backoff of its host group, of pages and robots.txt alike."""
    kind = outcome.outcome
    if kind == FetchOutcome.RATE_LIMITED:
        return BackOffSignal.BACK_OFF
    if kind == FetchOutcome.OVERLOADED:
        return BackOffSignal.BACK_OFF if outcome.retry_after_seconds >= 0 else BackOffSignal.OVERLOADED
    return BackOffSignal.HEALTHY if kind in _HEALTHY_OUTCOMES else BackOffSignal.NONE


def breaker_signal_of(outcome: FetchCompleted) -> BreakerSignal | None:
    """Return what an outcome means for the circuit breaker of its host group; None for nothing.

    A name that does not exist and a bad certificate close their URLs at once, which needs no breaker; and a
    robots.txt that cannot be fetched has rules of its own.
    """
    kind = outcome.outcome
    if kind in _HEALTHY_OUTCOMES or kind in _ANSWERED_OUTCOMES:
        return BreakerSignal.GOOD
    if kind == FetchOutcome.RATE_LIMITED:
        return BreakerSignal.REFUSED
    if outcome.kind == RequestKind.ROBOTS:
        return None
    if kind == FetchOutcome.BLOCKED:
        return None if outcome.status == _UNAUTHORIZED else BreakerSignal.REFUSED
    if kind == FetchOutcome.SERVER_ERROR and outcome.try_number > 1:
        return BreakerSignal.FAILED_AGAIN
    is_failure = kind in _HOST_FAILURES and outcome.error_class not in _CLOSE_REASON_BY_ERROR
    return BreakerSignal.FAILED if is_failure else None


def is_current(entry: EntryRecorded, outcome: FetchCompleted, *, now_ms: int) -> bool:
    """Whether an outcome is of the entry's run and not applied yet."""
    if entry.execution_id != outcome.execution_id or entry.fetch_sequence > outcome.fetch_sequence:
        return False
    if waits_for_recrawl(entry, now_ms):
        return False
    return entry.state == EntryState.PENDING or entry.fetch_sequence < outcome.fetch_sequence


def apply_fetch_outcome(
    entry: EntryRecorded, outcome: FetchCompleted, context: OutcomeContext, *, chance: RandomSource
) -> EntryTransition:
    """Return the entry after an outcome, and the events that follow; `STALE` where it does not count."""
    if not is_current(entry, outcome, now_ms=context.now_ms):
        return STALE
    return schedule_recrawl(
        entry,
        _apply(entry, outcome, context, chance),
        context.spec,
        now_ms=context.now_ms,
        polling=context.polling,
    )


def schedule_recrawl(
    before: EntryRecorded,
    transition: EntryTransition,
    spec: CrawlSpecDeclared,
    *,
    now_ms: int,
    polling: FeedPolling,
) -> EntryTransition:
    """Requeue an entry that is crawled again for its recrawl, whatever closed it."""
    rule = recrawl_rule(before, spec, polling)
    if rule is None or transition.entry is None:
        return transition
    return replace_fields(
        transition, entry=reschedule_without_page(before, transition.entry, rule, now_ms=now_ms)
    )


def _apply(  # one return for each line of the table above
    entry: EntryRecorded, outcome: FetchCompleted, context: OutcomeContext, chance: RandomSource
) -> EntryTransition:
    if outcome.has_page:
        return EntryTransition("fetched", mark_fetched(entry, outcome, now_ms=context.now_ms))
    updated = replace_fields(
        entry,
        fetch_sequence=outcome.fetch_sequence,
        body_bytes=entry.body_bytes + outcome.body_bytes,
        busy_ms=entry.busy_ms + request_duration_ms(outcome),
        status=outcome.status,
        error_class=outcome.error_class,
    )
    kind = outcome.outcome
    if kind == FetchOutcome.REDIRECTED:
        return _follow_redirect(updated, outcome, context)
    if back_off_signal_of(outcome) is BackOffSignal.BACK_OFF or (
        kind == FetchOutcome.OVERLOADED and context.host_backs_off
    ):
        return _requeue_for_back_off(updated, outcome, context)
    if kind in _OWN_FAILURES:
        return _requeue_own_failure(updated, context)
    if (reason := permanent_failure_reason(outcome, has_reduced_limit=context.has_reduced_limit)) is not None:
        return close_without_page(updated, reason, now_ms=context.now_ms, detail=outcome.error_message)
    return retry_or_close(
        updated,
        context.spec,
        now_ms=context.now_ms,
        chance=chance,
        detail=outcome.error_message,
        outcome=kind,
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
    """Requeue an entry for its next try, by the retry policy, or close it where no try is left."""
    tries = entry.tries + 1
    wait_seconds = replace(FETCH_RETRY, retries=spec.max_tries).wait_seconds(tries, chance)
    retried = replace_fields(entry, tries=tries)
    if wait_seconds is not None:
        due_at_ms = now_ms + round(wait_seconds * 1000)
        return EntryTransition(
            "retry", requeue_entry(retried, EntryReason.RETRY, due_at_ms=due_at_ms, now_ms=now_ms)
        )
    is_crash = outcome == FetchOutcome.CRASHED
    reason = DecisionReason.HANDLER_CRASHED if is_crash else DecisionReason.RETRIES_EXHAUSTED
    return close_without_page(retried, reason, now_ms=now_ms, detail=detail)


def close_without_page(
    entry: EntryRecorded, reason: DecisionReason, *, now_ms: int, detail: str = ""
) -> EntryTransition:
    """Close an entry without a page, and publish why."""
    record = close_entry(entry, reason, now_ms=now_ms)
    return EntryTransition(reason.value, record, (closed_decision(record, detail),))


def permanent_failure_reason(
    outcome: FetchCompleted, *, has_reduced_limit: bool = False
) -> DecisionReason | None:
    """Return why another try would not help; None where it may."""
    if has_reduced_limit and outcome.outcome == FetchOutcome.TOO_LARGE:
        return DecisionReason.BUDGET
    error = _CLOSE_REASON_BY_ERROR.get(outcome.error_class)
    return error or _CLOSE_REASON_BY_OUTCOME.get(outcome.outcome)


def _follow_redirect(
    entry: EntryRecorded, outcome: FetchCompleted, context: OutcomeContext
) -> EntryTransition:
    result = apply_redirect(
        entry,
        outcome,
        context.spec,
        now_ms=context.now_ms,
        allow_private=context.allow_private,
        by_domain=context.by_domain,
        scopes=context.scopes,
    )
    if result.entry.state == EntryState.PENDING:
        return EntryTransition("moved", result.entry)
    decisions = [closed_decision(result.entry, result.detail)]
    if result.refused_target is not None:
        decisions.append(result.refused_target)
    return EntryTransition(result.entry.reason, result.entry, tuple(decisions), result.target)


def _requeue_for_back_off(
    entry: EntryRecorded, outcome: FetchCompleted, context: OutcomeContext
) -> EntryTransition:
    count = entry.error_count + 1
    if count >= MAX_BACK_OFF_REQUEUES:
        return close_without_page(
            entry, DecisionReason.RETRIES_EXHAUSTED, now_ms=context.now_ms, detail=outcome.error_message
        )
    requeued = requeue_entry(
        entry, EntryReason.HOST_BACKS_OFF, due_at_ms=context.now_ms, now_ms=context.now_ms
    )
    return EntryTransition("host_backs_off", replace_fields(requeued, error_count=count))


def _requeue_own_failure(entry: EntryRecorded, context: OutcomeContext) -> EntryTransition:
    """Requeue after a failure of our network, proxy or process, for at most the spec's host patience."""
    waits = [
        min(OWN_FAILURE_WAIT_MS << min(n, 16), OWN_FAILURE_MAX_WAIT_MS) for n in range(entry.error_count + 1)
    ]
    if sum(waits) > context.spec.host_patience_seconds * 1000:
        return close_without_page(
            entry, DecisionReason.HOST_UNAVAILABLE, now_ms=context.now_ms, detail=entry.error_class
        )
    requeued = requeue_entry(
        entry, EntryReason.RETRY, due_at_ms=context.now_ms + waits[-1], now_ms=context.now_ms
    )
    return EntryTransition("put_back", replace_fields(requeued, error_count=entry.error_count + 1))
