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
from .decisions import Line
from .decisions import closed as closed_line
from .entries import busy_ms, closed, fetched, waiting
from .recrawl import after_none, is_over
from .redirects import redirected

MAX_SIGNS: Final = 8
"""How often one entry may be put back because its host wants to rest, before it counts as failed.

A host that answers everything else well means this one URL.
"""

OURS_WAIT_MS: Final = 5_000
"""Before an entry is tried again that failed through no fault of its site; doubles with each time."""
OURS_MAX_WAIT_MS: Final = 600_000


class Sign(StrEnum):
    """What an outcome says of the group as a whole."""

    GOOD = "good"
    """It answers."""
    PUSH = "push"
    """It wants to be left alone."""
    STRAIN = "strain"
    """A plain 503: one page's trouble, or the host's."""
    NONE = "none"


@fast_dataclass(frozen=True, slots=True)
class Ended:
    """What follows from an outcome."""

    word: str
    """For metrics."""
    entry: EntryRecorded | None = None
    """The record to write; None: nothing changes."""
    lines: tuple[Line, ...] = ()
    target: Candidate | None = None


@fast_dataclass(frozen=True, slots=True)
class Circumstances:
    """What else it hangs on."""

    spec: CrawlSpecDeclared
    now_ms: int
    group_rests: bool
    """Whether this outcome made the group rest: then a 503 is not held against the URL."""
    allow_private: bool = False
    by_domain: bool = False
    is_cut: bool = False
    """Whether the request was given fewer bytes than a page may have, because no more was left."""


DROPPED: Final = Ended("stale")


def sign_of(outcome: FetchCompleted) -> Sign:
    """Read what an outcome says of the group, for pages and robots.txt alike."""
    word = outcome.outcome
    if word == FetchOutcome.RATE_LIMITED:
        return Sign.PUSH
    if word == FetchOutcome.OVERLOADED:
        return Sign.PUSH if outcome.retry_after_seconds >= 0 else Sign.STRAIN
    return Sign.GOOD if word in _GOOD else Sign.NONE


def signal_of(outcome: FetchCompleted) -> BreakerSignal | None:
    """Read what an outcome says to the group's breaker; None where it says nothing.

    A name that does not exist and a bad certificate close their URLs at once, which needs no breaker; and
    a robots.txt that cannot be fetched has its own rules.
    """
    word = outcome.outcome
    if word in _GOOD or word in _ANSWERED:
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


def ended(entry: EntryRecorded, outcome: FetchCompleted, at: Circumstances, *, chance: RandomSource) -> Ended:
    """Decide what becomes of an entry."""
    if not is_heard(entry, outcome, now_ms=at.now_ms):
        return DROPPED
    return lasting(entry, _ended(entry, outcome, at, chance), at.spec, now_ms=at.now_ms)


def lasting(before: EntryRecorded, result: Ended, spec: CrawlSpecDeclared, *, now_ms: int) -> Ended:
    """Have an entry of a continuous crawl come again, whatever ended it."""
    if not spec.continuous or result.entry is None:
        return result
    return replace_fields(result, entry=after_none(before, result.entry, spec, now_ms=now_ms))


def _ended(  # one a line of the table above
    entry: EntryRecorded, outcome: FetchCompleted, at: Circumstances, chance: RandomSource
) -> Ended:
    if outcome.has_page:
        return Ended("fetched", fetched(entry, outcome, now_ms=at.now_ms))
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
        return _redirected(told, outcome, at)
    if sign_of(outcome) is Sign.PUSH or (word == FetchOutcome.OVERLOADED and at.group_rests):
        return _rested(told, outcome, at)
    if word in _OURS:
        return _put_back(told, at)
    if (reason := closing_reason(outcome, is_cut=at.is_cut)) is not None:
        return close(told, reason, now_ms=at.now_ms, detail=outcome.error_message)
    return tried(told, at.spec, now_ms=at.now_ms, chance=chance, detail=outcome.error_message, outcome=word)


def tried(
    entry: EntryRecorded,
    spec: CrawlSpecDeclared,
    *,
    now_ms: int,
    chance: RandomSource,
    detail: str = "",
    outcome: str = "",
) -> Ended:
    """Try an entry again, up the ladder, or close it where the ladder ends."""
    tries = entry.tries + 1
    wait_seconds = replace(FETCH_RETRY, retries=spec.max_tries).wait_seconds(tries, chance)
    told = replace_fields(entry, tries=tries)
    if wait_seconds is not None:
        due_at_ms = now_ms + round(wait_seconds * 1000)
        return Ended("retry", waiting(told, EntryReason.RETRY, due_at_ms=due_at_ms, now_ms=now_ms))
    is_crash = outcome == FetchOutcome.CRASHED
    reason = DecisionReason.HANDLER_CRASHED if is_crash else DecisionReason.RETRIES_EXHAUSTED
    return close(told, reason, now_ms=now_ms, detail=detail)


def close(entry: EntryRecorded, reason: DecisionReason, *, now_ms: int, detail: str = "") -> Ended:
    """Close an entry without a page, and say so."""
    record = closed(entry, reason, now_ms=now_ms)
    return Ended(reason.value, record, (closed_line(record, detail),))


def closing_reason(outcome: FetchCompleted, *, is_cut: bool = False) -> DecisionReason | None:
    """Say why another try would not help; None where it may."""
    if is_cut and outcome.outcome == FetchOutcome.TOO_LARGE:
        return DecisionReason.BUDGET
    error = _BY_ERROR.get(outcome.error_class)
    return error or _BY_OUTCOME.get(outcome.outcome)


def _redirected(told: EntryRecorded, outcome: FetchCompleted, at: Circumstances) -> Ended:
    result = redirected(
        told,
        outcome,
        at.spec,
        now_ms=at.now_ms,
        allow_private=at.allow_private,
        by_domain=at.by_domain,
    )
    if result.entry.state == EntryState.PENDING:
        return Ended("moved", result.entry)
    lines = [closed_line(result.entry, result.detail)]
    if result.refused is not None:
        lines.append(result.refused)
    return Ended(result.entry.reason, result.entry, tuple(lines), result.target)


def _rested(told: EntryRecorded, outcome: FetchCompleted, at: Circumstances) -> Ended:
    signs = told.error_count + 1
    if signs >= MAX_SIGNS:
        return close(told, DecisionReason.RETRIES_EXHAUSTED, now_ms=at.now_ms, detail=outcome.error_message)
    back = waiting(told, EntryReason.HOST_BACKS_OFF, due_at_ms=at.now_ms, now_ms=at.now_ms)
    return Ended("host_backs_off", replace_fields(back, error_count=signs))


def _put_back(told: EntryRecorded, at: Circumstances) -> Ended:
    """Wait for our own network, proxy or process; no longer than the spec's patience with hosts."""
    waits = [min(OURS_WAIT_MS << min(n, 16), OURS_MAX_WAIT_MS) for n in range(told.error_count + 1)]
    if sum(waits) > at.spec.host_patience_seconds * 1000:
        return close(told, DecisionReason.HOST_UNAVAILABLE, now_ms=at.now_ms, detail=told.error_class)
    back = waiting(told, EntryReason.RETRY, due_at_ms=at.now_ms + waits[-1], now_ms=at.now_ms)
    return Ended("put_back", replace_fields(back, error_count=told.error_count + 1))


_GOOD: Final = frozenset(
    {
        FetchOutcome.FETCHED,
        FetchOutcome.NOT_MODIFIED,
        FetchOutcome.REDIRECTED,
        FetchOutcome.NOT_FOUND,
        FetchOutcome.TOO_LARGE,
        FetchOutcome.UNSUPPORTED_TYPE,
    }
)

_ANSWERED: Final = frozenset({FetchOutcome.CLIENT_ERROR, FetchOutcome.ODD_STATUS})
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

_BY_OUTCOME: Final[Mapping[str, DecisionReason]] = {
    FetchOutcome.NOT_FOUND: DecisionReason.NOT_FOUND,
    FetchOutcome.CLIENT_ERROR: DecisionReason.CLIENT_ERROR,
    FetchOutcome.BLOCKED: DecisionReason.CLIENT_ERROR,
    FetchOutcome.ODD_STATUS: DecisionReason.CLIENT_ERROR,
    FetchOutcome.TOO_LARGE: DecisionReason.TOO_LARGE,
    FetchOutcome.POLICY_BLOCKED: DecisionReason.POLICY_BLOCKED,
    FetchOutcome.UNSUPPORTED_TYPE: DecisionReason.UNSUPPORTED_TYPE,
}
"""What is not here is tried again."""
