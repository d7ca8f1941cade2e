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

from .allowance import NOTHING, Amount
from .budget import Answer, Grant
from .entries import waiting
from .groups import Group
from .orders import REASONS, Order, Standing
from .outcomes import Ended, close, lasting
from .robots import Rules, permission

SHELVED_MS: Final = 1 << 45
"""When the entries of a paused run are due: never. The year is 3084."""

BUDGET_WAIT_MS: Final = 250
"""How long an entry waits for pages under way, one of which may not come and leave its place."""

CATCH_UP_MS: Final = 250
"""How long an entry of an unknown origin waits, each time, until its shard's outcomes are read."""


class Step(StrEnum):
    """What is done."""

    ASK = "ask"
    """Request it."""
    ROBOTS = "robots"
    """Request its origin's robots.txt."""
    WAIT = "wait"
    """Put it back; nothing about it changes but when it is due."""
    CLOSE = "close"
    """Close it, and say so."""


@fast_dataclass(frozen=True, slots=True)
class Turn:
    """The step, and what it leaves of the entry."""

    step: Step
    entry: EntryRecorded
    ended: Ended | None = None
    amount: Amount = NOTHING
    """What its request may cost, where that is less than its crawl spec allows."""


@fast_dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known around an entry."""

    spec: CrawlSpecDeclared | None
    group: Group
    rules: Rules
    agent: str
    now_ms: int
    has_caught_up: bool = True
    """Whether what was said of origins before the shard was taken is all read."""
    heeds_robots: bool = True


def turn(entry: EntryRecorded, around: Surroundings) -> Turn:
    """Decide about a leased entry that its run's wishes leave as it is (`obey`), all but its budget: that is
    asked last, since asking takes of it.
    """
    spec, now_ms = around.spec, around.now_ms
    if spec is None:
        return _closed(entry, DecisionReason.UNKNOWN_SPEC, now_ms)
    if around.group.is_blocked(now_ms):
        return _resting(entry, spec, around.group, now_ms)
    permit = permission(
        entry, spec, around.rules, agent=around.agent, now_ms=now_ms, is_heeded=around.heeds_robots
    )
    if permit.reason is not None:
        detail = around.rules.known.error_class
        return _closed(entry, permit.reason, now_ms, detail, spec=spec)
    if permit.standing is RobotsStanding.FETCH_FIRST and around.has_caught_up:
        return Turn(Step.ROBOTS, entry)
    if permit.standing in {RobotsStanding.FETCH_FIRST, RobotsStanding.UNREACHABLE}:
        again_at_ms = permit.again_at_ms or now_ms + CATCH_UP_MS
        return _waits(entry, EntryReason.WAITS_FOR_ROBOTS, again_at_ms, now_ms)
    return Turn(Step.ASK, entry)


def obey(entry: EntryRecorded, order: Order, now_ms: int) -> Turn | None:
    """Do with a waiting entry what is wished of its run; None where it may go on as it is."""
    if (over := REASONS.get(order.standing)) is not None:
        return _closed(entry, over, now_ms, order.reason)
    is_shelved = entry.due_at_ms >= SHELVED_MS
    if order.standing is Standing.PAUSED:
        return None if is_shelved else _waits(entry, entry.reason, SHELVED_MS, now_ms)
    return _waits(entry, entry.reason, now_ms, now_ms) if is_shelved else None


def within_budget(asked: Turn, answer: Answer, now_ms: int) -> Turn:
    """Hold an entry that may be asked for to the budgets of its run."""
    if answer.grant is Grant.GIVEN:
        return asked if answer.amount == NOTHING else replace_fields(asked, amount=answer.amount)
    if answer.grant is Grant.USED_UP:
        return _closed(asked.entry, DecisionReason.BUDGET, now_ms, answer.detail)
    return _waits(asked.entry, asked.entry.reason, now_ms + BUDGET_WAIT_MS, now_ms)


def _resting(entry: EntryRecorded, spec: CrawlSpecDeclared, group: Group, now_ms: int) -> Turn:
    is_barred = group.is_barred(now_ms)
    stopped_ms, until_ms = group.unwell_since_ms, group.blocked_until_ms
    if is_barred:
        stopped_ms, until_ms = group.bar.since_ms, group.bar.until_ms
    since_ms = max(stopped_ms or now_ms, entry.discovered_at_ms)
    ends_at_ms = since_ms + spec.host_patience_seconds * 1000
    if now_ms >= ends_at_ms:
        reason = DecisionReason.HOST_BLOCKED if is_barred else DecisionReason.HOST_UNAVAILABLE
        detail = group.bar.reason if is_barred else group.blocked_for
        return _closed(entry, reason, now_ms, detail, spec=spec)
    # A person may lift a bar at any time: its entries wait in their queues, which the working set holds.
    is_held = is_barred and group.look_at_ms(now_ms) > 0
    again_at_ms = now_ms if is_held else min(until_ms, ends_at_ms)
    return _waits(entry, EntryReason.HOST_BACKS_OFF, again_at_ms, now_ms)


def _waits(entry: EntryRecorded, reason: str, again_at_ms: int, now_ms: int) -> Turn:
    return Turn(Step.WAIT, waiting(entry, reason, due_at_ms=again_at_ms, now_ms=now_ms))


def _closed(
    entry: EntryRecorded,
    reason: DecisionReason,
    now_ms: int,
    detail: str = "",
    *,
    spec: CrawlSpecDeclared | None = None,
) -> Turn:
    ended = close(entry, reason, now_ms=now_ms, detail=detail)
    if spec is not None:
        ended = lasting(entry, ended, spec, now_ms=now_ms)
    assert ended.entry is not None
    return Turn(Step.CLOSE, ended.entry, ended)
