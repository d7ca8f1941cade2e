"""Decide about a due entry: fetch, fetch robots.txt first, wait, or close.

    run cancelled, its budget spent     ──▶ close; paused: due never, until the run resumes
    no crawl spec any more              ──▶ close
    feed, and feeds are polled no more  ──▶ close
    host blocked beyond host patience   ──▶ close; blocked: wait
    robots.txt of another host awaited  ──▶ wait, which host patience does not count
    robots.txt unknown                  ──▶ fetch it first; wait where its outcome may be unread
    robots.txt denies, or unreachable   ──▶ close, or wait
    budget of run or host exhausted     ──▶ close; nearly exhausted: wait until that is known
    else                                ──▶ fetch

Takes a leased entry and the state of its host group and origin. The crawl delay is not decided here: the
entry has a lease, so the clock of its host group allowed it (`core/hosts/host_state.py`). A lease that is not
used is returned. The robots check itself is `core/hosts/robots.py`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.enums import DecisionReason, EntryReason
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.crawl.runs.control import CLOSE_REASONS, RunDirective, RunState
from strider.scheduler.core.budgets.limits import NO_AMOUNT, BudgetAmount
from strider.scheduler.core.budgets.reservations import ReservationResult, ReservationStatus
from strider.scheduler.core.entries.feed_polling import NO_POLLING, FeedPolling, is_polling_over
from strider.scheduler.core.entries.fetch_outcomes import (
    EntryTransition,
    close_without_page,
    schedule_recrawl,
)
from strider.scheduler.core.entries.state import requeue_entry
from strider.scheduler.core.hosts.host_state import HostGroup
from strider.scheduler.core.hosts.robots import (
    CachedRobots,
    RobotsDecision,
    check_robots,
    is_unreachable,
    unreachable_verdict,
)

NEVER_DUE_MS: Final = 1 << 45
"""Due time of the entries of a paused run: never (the year 3084)."""

BUDGET_WAIT_MS: Final = 250
"""Wait for requests in flight, whose cost may turn out lower than reserved."""

POLLING_OVER: Final = "feeds are polled no more: CRAWLER_FEED_POLL_ENABLED is false"

CATCH_UP_WAIT_MS: Final = 250
"""Wait of an entry of an unknown origin, until all earlier outcomes of its shard are read."""


class ReleaseAction(StrEnum):
    """Action for a due entry."""

    FETCH = "fetch"
    """Publish a fetch request for it."""
    FETCH_ROBOTS = "robots"
    """Publish a fetch request for its origin's robots.txt."""
    WAIT = "wait"
    """Requeue it; only its due time changes."""
    CLOSE = "close"
    """Close it, and publish why."""


@fast_dataclass(frozen=True, slots=True)
class ReleaseDecision:
    """Action, and the entry after it."""

    action: ReleaseAction
    entry: EntryRecorded
    transition: EntryTransition | None = None
    cost_limit: BudgetAmount = NO_AMOUNT
    """Limit of its request, where that is less than its crawl spec allows."""


@fast_dataclass(frozen=True, slots=True)
class ReleaseContext:
    """State around a due entry."""

    spec: CrawlSpecDeclared | None
    host_group: HostGroup
    robots: CachedRobots
    user_agent: str
    now_ms: int
    has_caught_up: bool = True
    """Whether all outcomes from before the takeover of the shard are read."""
    respects_robots: bool = True
    polling: FeedPolling = NO_POLLING


def decide_release(entry: EntryRecorded, context: ReleaseContext) -> ReleaseDecision:
    """Decide about a leased entry, apart from its run's state (`apply_run_state`) and budget.

    The budget comes last (`apply_budget`), since checking it reserves some.
    """
    spec, now_ms = context.spec, context.now_ms
    if spec is None:
        return _close(entry, DecisionReason.UNKNOWN_SPEC, now_ms)
    if is_polling_over(entry, spec, context.polling):
        return _close(entry, DecisionReason.FEED_NOT_POLLED, now_ms, POLLING_OVER)
    if context.host_group.is_blocked(now_ms):
        return _decide_for_blocked_host(entry, spec, context)
    wait_until_ms = context.host_group.robots_wait_until_ms
    if now_ms < wait_until_ms:
        return _wait(entry, EntryReason.WAITS_FOR_ROBOTS, wait_until_ms, now_ms)
    return _decide_by_robots(entry, spec, context)


def _decide_by_robots(
    entry: EntryRecorded, spec: CrawlSpecDeclared, context: ReleaseContext
) -> ReleaseDecision:
    now_ms = context.now_ms
    verdict = check_robots(
        entry,
        spec,
        context.robots,
        user_agent=context.user_agent,
        now_ms=now_ms,
        respects_robots=context.respects_robots,
    )
    if verdict.reason is not None:
        return _close_for_now(entry, spec, context, verdict.reason, verdict.detail)
    if verdict.decision is RobotsDecision.FETCH_FIRST and context.has_caught_up:
        return ReleaseDecision(ReleaseAction.FETCH_ROBOTS, entry)
    if verdict.decision in {RobotsDecision.FETCH_FIRST, RobotsDecision.WAIT}:
        again_at_ms = verdict.again_at_ms or now_ms + CATCH_UP_WAIT_MS
        return _wait(entry, EntryReason.WAITS_FOR_ROBOTS, again_at_ms, now_ms)
    return ReleaseDecision(ReleaseAction.FETCH, entry)


def apply_run_state(entry: EntryRecorded, directive: RunDirective, now_ms: int) -> ReleaseDecision | None:
    """Apply the state of its run to an entry; None where the run does not change it."""
    if (reason := CLOSE_REASONS.get(directive.state)) is not None:
        return _close(entry, reason, now_ms, directive.reason)
    is_parked_for_pause = entry.due_at_ms >= NEVER_DUE_MS
    if directive.state is RunState.PAUSED:
        return None if is_parked_for_pause else _wait(entry, entry.reason, NEVER_DUE_MS, now_ms)
    return _wait(entry, entry.reason, now_ms, now_ms) if is_parked_for_pause else None


def apply_budget(decision: ReleaseDecision, reservation: ReservationResult, now_ms: int) -> ReleaseDecision:
    """Apply the reservation of its run's budget to an entry that may be fetched."""
    if reservation.status is ReservationStatus.GRANTED:
        return (
            decision
            if reservation.amount == NO_AMOUNT
            else replace_fields(decision, cost_limit=reservation.amount)
        )
    if reservation.status is ReservationStatus.EXHAUSTED:
        return _close(decision.entry, DecisionReason.BUDGET, now_ms, reservation.detail)
    return _wait(decision.entry, decision.entry.reason, now_ms + BUDGET_WAIT_MS, now_ms)


def _decide_for_blocked_host(
    entry: EntryRecorded, spec: CrawlSpecDeclared, context: ReleaseContext
) -> ReleaseDecision:
    host_group, now_ms = context.host_group, context.now_ms
    is_manual = host_group.is_manually_blocked(now_ms)
    blocked_since_ms, until_ms = host_group.failing_since_ms, host_group.blocked_until_ms
    if is_manual:
        blocked_since_ms, until_ms = host_group.manual_block.since_ms, host_group.manual_block.until_ms
    since_ms = max(blocked_since_ms or now_ms, entry.discovered_at_ms)
    ends_at_ms = since_ms + spec.host_patience_seconds * 1000
    if now_ms >= ends_at_ms:
        reason, detail = _reason_of_block(entry, spec, context)
        return _close_for_now(entry, spec, context, reason, detail)
    # An operator may lift a block at any time: the entries stay in their queues, which the working set holds.
    is_kept_queued = is_manual and host_group.is_held_back(now_ms)
    again_at_ms = now_ms if is_kept_queued else min(until_ms, ends_at_ms)
    return _wait(entry, EntryReason.HOST_BACKS_OFF, again_at_ms, now_ms)


def _reason_of_block(
    entry: EntryRecorded, spec: CrawlSpecDeclared, context: ReleaseContext
) -> tuple[DecisionReason, str]:
    """Return reason and detail: where the host backs off before its robots.txt could be fetched, that."""
    host_group, origin_state = context.host_group, context.robots.origin_state
    if host_group.is_manually_blocked(context.now_ms):
        return DecisionReason.HOST_BLOCKED, host_group.manual_block.reason
    if is_unreachable(spec, origin_state, respects_robots=context.respects_robots):
        verdict = unreachable_verdict(entry, origin_state)
        assert verdict.reason is not None
        return verdict.reason, verdict.detail
    return DecisionReason.HOST_UNAVAILABLE, host_group.block_reason


def _wait(entry: EntryRecorded, reason: str, due_at_ms: int, now_ms: int) -> ReleaseDecision:
    return ReleaseDecision(
        ReleaseAction.WAIT, requeue_entry(entry, reason, due_at_ms=due_at_ms, now_ms=now_ms)
    )


def _close(entry: EntryRecorded, reason: DecisionReason, now_ms: int, detail: str = "") -> ReleaseDecision:
    return _closed_by(close_without_page(entry, reason, now_ms=now_ms, detail=detail))


def _close_for_now(
    entry: EntryRecorded,
    spec: CrawlSpecDeclared,
    context: ReleaseContext,
    reason: DecisionReason,
    detail: str,
) -> ReleaseDecision:
    """Close an entry, or put it off to its recrawl."""
    now_ms = context.now_ms
    closed = close_without_page(entry, reason, now_ms=now_ms, detail=detail)
    return _closed_by(schedule_recrawl(entry, closed, spec, now_ms=now_ms, polling=context.polling))


def _closed_by(transition: EntryTransition) -> ReleaseDecision:
    assert transition.entry is not None
    return ReleaseDecision(ReleaseAction.CLOSE, transition.entry, transition)
