"""The lives of an entry as tables: which state may follow which, for which reasons, and what its URL is then.

    ─accepted─▶ pending ─fetched─▶ in_progress ─settled─▶ completed ─┐
                 ▲  │ ▲                │  │                          │ seed, interval
                 │  │ └──lost once─────┘  └─given up─▶ failed ───────┤
                 │  └──closed without a page─▶ completed, failed     │
                 └───────────────────────────────────────────────────┘

Whoever writes records of the frontier keeps to these tables; whoever reads them may rely on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from .generated.enums import DecisionReason, EntryReason, EntryState
from .generated.events import EntryRecorded


class UrlStatus(StrEnum):
    """What is known of a URL, in one word."""

    NEVER_CRAWLED = "never_crawled"
    """It was not asked for yet."""
    FETCHED = "fetched"
    """It was answered, with a page or with where to look for one."""
    FAILED = "failed"
    """It was asked for in vain."""
    BLOCKED = "blocked"
    """robots.txt, its host or our own rules forbid to ask."""


class TaskState(StrEnum):
    """How far the work for a URL is, seen from outside; derived, and recorded nowhere."""

    PENDING = "pending"
    """It waits for its turn."""
    QUEUED = "queued"
    """Its request is on the bus."""
    CRAWLING = "crawling"
    """A fetcher asks for it."""
    DOWNLOADED = "downloaded"
    """Its page came, and was not read yet."""
    PARSING = "parsing"
    """Its page was read and stored; its links are on their way to the frontier."""
    COMPLETED = "completed"
    """Its page has gone round, or it redirects."""
    FAILED = "failed"
    """Nothing came of it, whatever was tried."""


ALLOWED_TRANSITIONS: Final[Mapping[EntryState, frozenset[EntryState]]] = {
    EntryState.PENDING: frozenset(EntryState),
    EntryState.IN_PROGRESS: frozenset(EntryState),
    EntryState.COMPLETED: frozenset({EntryState.PENDING}),
    EntryState.FAILED: frozenset({EntryState.PENDING}),
}
"""What may follow a state; what is open may tell news of it."""

INITIAL_STATE: Final = EntryState.PENDING

STATE_REASONS: Final[Mapping[EntryState, frozenset[str]]] = {
    EntryState.PENDING: frozenset(
        {
            EntryReason.ACCEPTED,
            EntryReason.REOPENED,
            EntryReason.DUE_AGAIN,
            EntryReason.RETRY,
            EntryReason.REDIRECTED,
            EntryReason.WAITS_FOR_ROBOTS,
            EntryReason.WAITS_FOR_RENDER,
            EntryReason.HOST_BACKS_OFF,
            EntryReason.LOST_ONCE,
            EntryReason.RECOVERED,
            EntryReason.PARKED,
        }
    ),
    EntryState.IN_PROGRESS: frozenset({EntryReason.FETCHED}),
    EntryState.COMPLETED: frozenset(
        {EntryReason.SETTLED, EntryReason.NOT_MODIFIED, EntryReason.REJECTED, EntryReason.REDIRECTED}
    ),
    EntryState.FAILED: frozenset(
        set(DecisionReason)
        - {
            DecisionReason.REDIRECTED,
            # These are said of links and pages, never of an entry that was taken.
            DecisionReason.ALREADY_SEEN,
            DecisionReason.DUPLICATE_ON_PAGE,
            DecisionReason.TOO_MANY_LINKS,
            DecisionReason.RATE_LIMITED,
            DecisionReason.NOFOLLOW,
            DecisionReason.REJECTED,
            DecisionReason.UNREADABLE,
            DecisionReason.NEAR_DUPLICATE,
            DecisionReason.NOINDEX,
        }
    ),
}
"""Why an entry may be in a state: one closed list for each."""

_BLOCKED_REASONS: Final = frozenset(
    {
        DecisionReason.ROBOTS_DENIED,
        DecisionReason.ROBOTS_UNREACHABLE,
        DecisionReason.HOST_BLOCKED,
        DecisionReason.POLICY_BLOCKED,
        DecisionReason.REFUSED_PORT,
        DecisionReason.REFUSED_SCHEME,
    }
)


def is_allowed_transition(before: EntryRecorded | None, after: EntryRecorded) -> bool:
    """Say whether one record may follow another; None for the first of all.

    After a crash the last decision is taken again, and comes to the same.
    """
    state = EntryState(after.state)
    if after.reason not in STATE_REASONS[state]:
        return False
    if before is None:
        return state is INITIAL_STATE
    is_repeat = (before.state, before.reason) == (after.state, after.reason)
    return state in ALLOWED_TRANSITIONS[EntryState(before.state)] or (
        is_repeat and before.fetch_sequence == after.fetch_sequence
    )


def url_status(entry: EntryRecorded) -> UrlStatus:
    """Say in one word what is known of the entry's URL."""
    if entry.state == EntryState.COMPLETED:
        return UrlStatus.FETCHED
    if entry.state == EntryState.FAILED:
        if entry.reason in _BLOCKED_REASONS:
            return UrlStatus.BLOCKED
        is_asked = bool(entry.status or entry.error_class or entry.tries or entry.fetched_at_ms)
        return UrlStatus.FAILED if is_asked else UrlStatus.NEVER_CRAWLED
    return UrlStatus.FETCHED if entry.fetched_at_ms else UrlStatus.NEVER_CRAWLED


def task_state(state: str, queue_place: str = "", *, is_read: bool = False) -> TaskState:
    """Say how far the work is: by the entry's record, its place in the working set, and what is stored.

    The place is newer than the record, which is written when a page came and when it has gone round.
    """
    if state in _CLOSED_TASKS:
        return _CLOSED_TASKS[state]
    if state == EntryState.IN_PROGRESS or queue_place == "in_ring":
        return TaskState.PARSING if is_read else TaskState.DOWNLOADED
    return _REQUESTED.get(queue_place, TaskState.PENDING)


_CLOSED_TASKS: Final[Mapping[str, TaskState]] = {
    EntryState.COMPLETED: TaskState.COMPLETED,
    EntryState.FAILED: TaskState.FAILED,
}
_REQUESTED: Final[Mapping[str, TaskState]] = {"issued": TaskState.QUEUED, "started": TaskState.CRAWLING}
