"""What is done with an entry whose turn it is?

    no crawl spec any more           ──▶ closed
    budget used up                   ──▶ closed; nearly used up: waits until it is known
    host rests beyond the patience   ──▶ closed; rests: waits
    robots.txt unknown               ──▶ it is asked first
    robots.txt denies, out of reach  ──▶ closed, or waits
    else                             ──▶ asked for

Takes a leased entry and what is in memory of its group and origin. A lease is there already: what is
not asked for gives it back, unused.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.contracts.generated.words import DecisionReason, EntryReason
from strider.politeness.robots_state import Standing

from .budget import Grant
from .entries import waiting
from .groups import Group
from .outcomes import Ended, close
from .robots import Rules, permission

BUDGET_WAIT_MS: Final = 1_000
"""How long an entry waits for pages under way, one of which may not come and leave its place."""


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


@dataclass(frozen=True, slots=True)
class Turn:
    """The step, and what it leaves of the entry."""

    step: Step
    entry: EntryRecorded
    ended: Ended | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known around an entry."""

    spec: CrawlSpecDeclared | None
    group: Group
    rules: Rules
    agent: str
    now_ms: int


def turn(entry: EntryRecorded, around: Surroundings) -> Turn:
    """Decide about a leased entry, all but its budget: that is asked last, since asking takes of it."""
    spec, now_ms = around.spec, around.now_ms
    if spec is None:
        return _closed(entry, DecisionReason.UNKNOWN_SPEC, now_ms)
    if around.group.is_blocked(now_ms):
        return _resting(entry, spec, around.group, now_ms)
    permit = permission(entry, spec, around.rules, agent=around.agent, now_ms=now_ms)
    if permit.reason is not None:
        detail = around.rules.known.error_class
        return _closed(entry, permit.reason, now_ms, detail)
    if permit.standing is Standing.ASK:
        return Turn(Step.ROBOTS, entry)
    if permit.standing is Standing.WAIT:
        return _waits(entry, EntryReason.WAITS_FOR_ROBOTS, permit.again_at_ms, now_ms)
    return Turn(Step.ASK, entry)


def within_budget(asked: Turn, grant: Grant, now_ms: int) -> Turn:
    """Hold an entry that may be asked for to the budget of its run."""
    if grant is Grant.GIVEN:
        return asked
    if grant is Grant.USED_UP:
        return _closed(asked.entry, DecisionReason.BUDGET, now_ms)
    return _waits(asked.entry, asked.entry.reason, now_ms + BUDGET_WAIT_MS, now_ms)


def _resting(entry: EntryRecorded, spec: CrawlSpecDeclared, group: Group, now_ms: int) -> Turn:
    since_ms = max(group.unwell_since_ms or now_ms, entry.discovered_at_ms)
    ends_at_ms = since_ms + spec.host_patience_seconds * 1000
    if now_ms >= ends_at_ms:
        return _closed(entry, DecisionReason.HOST_UNAVAILABLE, now_ms, group.blocked_for)
    again_at_ms = min(group.blocked_until_ms, ends_at_ms)
    return _waits(entry, EntryReason.HOST_BACKS_OFF, again_at_ms, now_ms)


def _waits(entry: EntryRecorded, reason: str, again_at_ms: int, now_ms: int) -> Turn:
    return Turn(Step.WAIT, waiting(entry, reason, due_at_ms=again_at_ms, now_ms=now_ms))


def _closed(entry: EntryRecorded, reason: DecisionReason, now_ms: int, detail: str = "") -> Turn:
    ended = close(entry, reason, now_ms=now_ms, detail=detail)
    assert ended.entry is not None
    return Turn(Step.CLOSE, ended.entry, ended)
