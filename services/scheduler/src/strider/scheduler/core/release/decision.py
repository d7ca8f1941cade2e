"""What is done with an entry whose turn it is?

    run cancelled, its budget spent  ──▶ closed; paused: put on the shelf until it goes on
    no crawl spec any more           ──▶ closed
    budget of its host used up       ──▶ closed; nearly used up: waits until it is known
    host rests beyond the patience   ──▶ closed; rests: waits
    robots.txt unknown               ──▶ it is asked first, unless its rules may lie unread: then it waits
    robots.txt denies, out of reach  ──▶ closed, or waits
    else                             ──▶ asked for

Takes a leased entry and what is in memory of its group and origin. A lease is there already: what is
not asked for gives it back, unused.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.enums import DecisionReason, EntryReason
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.politeness.robots.freshness import RobotsStatus as RobotsStanding
from strider.scheduler.core.budgets.limits import NOTHING, BudgetAmount
from strider.scheduler.core.budgets.reservations import ReservationResult, ReservationStatus
from strider.scheduler.core.entries.fetch_outcomes import (
    EntryTransition,
    close_without_page,
    schedule_recrawl,
)
from strider.scheduler.core.entries.state import requeue_entry
from strider.scheduler.core.hosts.host_state import HostGroup
from strider.scheduler.core.hosts.robots import CachedRobots, check_robots
from strider.scheduler.core.runs.control import REASONS, RunDirective, Standing

NEVER_DUE_MS: Final = 1 << 45
"""When the entries of a paused run are due: never. The year is 3084."""

BUDGET_WAIT_MS: Final = 250
"""How long an entry waits for pages under way, one of which may not come and leave its place."""

CATCH_UP_WAIT_MS: Final = 250
"""How long an entry of an unknown origin waits, each time, until its shard's outcomes are read."""


class Step(StrEnum):
    """What is done."""

    ASK = "ask"
    """Request it."""
    FETCH_ROBOTS = "robots"
    """Request its origin's robots.txt."""
    WAIT = "wait"
    """Put it back; nothing about it changes but when it is due."""
    CLOSE = "close"
    """Close it, and say so."""


@fast_dataclass(frozen=True, slots=True)
class Turn:
    """The step, and what it leaves of the entry."""

    action: Step
    entry: EntryRecorded
    transition: EntryTransition | None = None
    amount: BudgetAmount = NOTHING
    """What its request may cost, where that is less than its crawl spec allows."""


@fast_dataclass(frozen=True, slots=True)
class ReleaseContext:
    """What is known around an entry."""

    spec: CrawlSpecDeclared | None
    host_group: HostGroup
    robots: CachedRobots
    user_agent: str
    now_ms: int
    has_caught_up: bool = True
    """Whether what was said of origins before the shard was taken is all read."""
    heeds_robots: bool = True


def decide_release(entry: EntryRecorded, context: ReleaseContext) -> Turn:
    """Decide about a leased entry that its run's wishes leave as it is (`obey`), all but its budget: that is
    asked last, since asking takes of it.
    """
    spec, now_ms = context.spec, context.now_ms
    if spec is None:
        return _closed(entry, DecisionReason.UNKNOWN_SPEC, now_ms)
    if context.host_group.is_blocked(now_ms):
        return _resting(entry, spec, context.host_group, now_ms)
    permit = check_robots(
        entry,
        spec,
        context.robots,
        user_agent=context.user_agent,
        now_ms=now_ms,
        respects_robots=context.heeds_robots,
    )
    if permit.reason is not None:
        detail = context.robots.origin_state.error_class
        return _closed(entry, permit.reason, now_ms, detail, spec=spec)
    if permit.decision is RobotsStanding.FETCH_FIRST and context.has_caught_up:
        return Turn(Step.FETCH_ROBOTS, entry)
    if permit.decision in {RobotsStanding.FETCH_FIRST, RobotsStanding.UNREACHABLE}:
        again_at_ms = permit.again_at_ms or now_ms + CATCH_UP_WAIT_MS
        return _waits(entry, EntryReason.WAITS_FOR_ROBOTS, again_at_ms, now_ms)
    return Turn(Step.ASK, entry)


def apply_run_state(entry: EntryRecorded, directive: RunDirective, now_ms: int) -> Turn | None:
    """Do with a waiting entry what is wished of its run; None where it may go on as it is."""
    if (over := REASONS.get(directive.state)) is not None:
        return _closed(entry, over, now_ms, directive.reason)
    is_shelved = entry.due_at_ms >= NEVER_DUE_MS
    if directive.state is Standing.PAUSED:
        return None if is_shelved else _waits(entry, entry.reason, NEVER_DUE_MS, now_ms)
    return _waits(entry, entry.reason, now_ms, now_ms) if is_shelved else None


def apply_budget(decision: Turn, reservation: ReservationResult, now_ms: int) -> Turn:
    """Hold an entry that may be asked for to the budgets of its run."""
    if reservation.status is ReservationStatus.GRANTED:
        return (
            decision if reservation.amount == NOTHING else replace_fields(decision, amount=reservation.amount)
        )
    if reservation.status is ReservationStatus.EXHAUSTED:
        return _closed(decision.entry, DecisionReason.BUDGET, now_ms, reservation.detail)
    return _waits(decision.entry, decision.entry.reason, now_ms + BUDGET_WAIT_MS, now_ms)


def _resting(entry: EntryRecorded, spec: CrawlSpecDeclared, group: HostGroup, now_ms: int) -> Turn:
    is_barred = group.is_barred(now_ms)
    stopped_ms, until_ms = group.failing_since_ms, group.blocked_until_ms
    if is_barred:
        stopped_ms, until_ms = group.manual_block.since_ms, group.manual_block.until_ms
    since_ms = max(stopped_ms or now_ms, entry.discovered_at_ms)
    ends_at_ms = since_ms + spec.host_patience_seconds * 1000
    if now_ms >= ends_at_ms:
        reason = DecisionReason.HOST_BLOCKED if is_barred else DecisionReason.HOST_UNAVAILABLE
        detail = group.manual_block.reason if is_barred else group.block_reason
        return _closed(entry, reason, now_ms, detail, spec=spec)
    # A person may lift a bar at any time: its entries wait in their queues, which the working set holds.
    is_held = is_barred and group.release_blocked_until_ms(now_ms) > 0
    again_at_ms = now_ms if is_held else min(until_ms, ends_at_ms)
    return _waits(entry, EntryReason.HOST_BACKS_OFF, again_at_ms, now_ms)


def _waits(entry: EntryRecorded, reason: str, again_at_ms: int, now_ms: int) -> Turn:
    return Turn(Step.WAIT, requeue_entry(entry, reason, due_at_ms=again_at_ms, now_ms=now_ms))


def _closed(
    entry: EntryRecorded,
    reason: DecisionReason,
    now_ms: int,
    detail: str = "",
    *,
    spec: CrawlSpecDeclared | None = None,
) -> Turn:
    ended = close_without_page(entry, reason, now_ms=now_ms, detail=detail)
    if spec is not None:
        ended = schedule_recrawl(entry, ended, spec, now_ms=now_ms)
    assert ended.entry is not None
    return Turn(Step.CLOSE, ended.entry, ended)
