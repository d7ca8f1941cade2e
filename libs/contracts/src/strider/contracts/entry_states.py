"""State machine of a frontier entry: transitions, reasons, and the status of its URL.

    ─accepted─▶ pending ─fetched─▶ in_progress ─settled─▶ completed ─┐
                 ▲  │ ▲                │  │                          │ seed, interval
                 │  │ └──lost once─────┘  └─given up─▶ failed ───────┤
                 │  └──closed without a page─▶ completed, failed     │
                 └───────────────────────────────────────────────────┘

Records of the frontier are written only as these tables allow, and readers may rely on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from .generated.enums import DecisionReason, EntryReason, EntryState
from .generated.events import EntryRecorded


class UrlStatus(StrEnum):
    """Crawl status of a URL."""

    NEVER_CRAWLED = "never_crawled"
    """No request was made yet."""
    FETCHED = "fetched"
    """A response arrived: a page or a redirect."""
    FAILED = "failed"
    """All requests failed."""
    BLOCKED = "blocked"
    """robots.txt, the host or our own rules forbid the request."""


class TaskState(StrEnum):
    """Progress of the work for a URL, as shown to users; derived, never stored."""

    PENDING = "pending"
    """It waits in its queue."""
    QUEUED = "queued"
    """Its request is published."""
    CRAWLING = "crawling"
    """A fetcher is requesting it."""
    DOWNLOADED = "downloaded"
    """Its page was fetched but not parsed yet."""
    PARSING = "parsing"
    """Its page was parsed and stored; its links are on their way to the frontier."""
    COMPLETED = "completed"
    """Its page is fully processed, or it redirects."""
    FAILED = "failed"
    """It was closed without a page, after all attempts."""


ALLOWED_TRANSITIONS: Final[Mapping[EntryState, frozenset[EntryState]]] = {
    EntryState.PENDING: frozenset(EntryState),
    EntryState.IN_PROGRESS: frozenset(EntryState),
    EntryState.COMPLETED: frozenset({EntryState.PENDING}),
    EntryState.FAILED: frozenset({EntryState.PENDING}),
}
"""States that may follow a state; an open entry may be recorded again in the same state."""

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
        {
            EntryReason.SETTLED,
            EntryReason.NOT_MODIFIED,
            EntryReason.REJECTED,
            EntryReason.REDIRECTED,
            EntryReason.NOT_A_FEED,
        }
    ),
    EntryState.FAILED: frozenset(
        set(DecisionReason)
        - {
            DecisionReason.REDIRECTED,
            DecisionReason.NOT_A_FEED,
            # These concern links and pages, never an accepted entry.
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
"""Reasons that are allowed in each state."""

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
    """Whether one record may follow another; `before` is None for the first record of an entry.

    After a crash the last decision is repeated with the same result.
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
    """Return the crawl status of an entry's URL."""
    if entry.state == EntryState.COMPLETED:
        return UrlStatus.FETCHED
    if entry.state == EntryState.FAILED:
        if entry.reason in _BLOCKED_REASONS:
            return UrlStatus.BLOCKED
        was_requested = bool(entry.status or entry.error_class or entry.tries or entry.fetched_at_ms)
        return UrlStatus.FAILED if was_requested else UrlStatus.NEVER_CRAWLED
    return UrlStatus.FETCHED if entry.fetched_at_ms else UrlStatus.NEVER_CRAWLED


def task_state(state: str, queue_place: str = "", *, is_read: bool = False) -> TaskState:
    """Return the progress of the work, from the record, the place in the working set and what is stored.

    The place is newer than the record, which is written when the page is fetched and when it is settled.
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
