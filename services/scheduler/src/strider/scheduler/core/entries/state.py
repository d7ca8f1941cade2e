"""The record of an entry through its life, and what follows from a record for the working set.

    accepted ──▶ pending ──fetched──▶ in_progress ──settled──▶ completed
                 │  ▲ tried again                     └given up▶ failed
                 │  └──┘
                 └─ redirected ▶ completed     └─ refused, failed ▶ failed

A record alone says where its entry is: so a rebuild and a decision cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import (
    DecisionReason,
    EntryReason,
    EntryState,
    FetchOutcome,
    SettleVerdict,
)
from strider.contracts.generated.events import EntryRecorded, FetchCompleted, PageSettled

from .candidates import Candidate


class Fate(StrEnum):
    """Where an entry is to be; the words are the working set's."""

    QUEUE = "queue"
    RING = "ring"
    CLOSE = "close"
    CLOSE_AND_FORGET = "close_and_forget"


FORGOTTEN_REASONS: Final = frozenset(
    {
        DecisionReason.BUDGET,
        DecisionReason.CANCELLED,
        DecisionReason.DROPPED,
        DecisionReason.EXECUTION_OVER,
        DecisionReason.HOST_BLOCKED,
        DecisionReason.HOST_UNAVAILABLE,
        DecisionReason.ROBOTS_UNREACHABLE,
    }
)
"""Closed for these reasons an entry was not tried, unless it has an error class: a later link is new."""


def disposition_of(entry: EntryRecorded) -> Fate:
    """Say where the entry of a record is."""
    if entry.state == EntryState.PENDING:
        return Fate.QUEUE
    if entry.state == EntryState.IN_PROGRESS:
        return Fate.RING
    return Fate.CLOSE_AND_FORGET if is_forgotten(entry) else Fate.CLOSE


def is_forgotten(entry: EntryRecorded) -> bool:
    """Say whether a closed entry counts as never seen."""
    return entry.state == EntryState.FAILED and entry.reason in FORGOTTEN_REASONS and not entry.error_class


def open_entry(
    candidate: Candidate,
    *,
    now_ms: int,
    reason: EntryReason = EntryReason.ACCEPTED,
    after_sequence: int = 0,
) -> EntryRecorded:
    """Open an entry. What was fetched of it up to `after_sequence` belongs to its life before."""
    origin = candidate.origin
    return EntryRecorded(
        job_id=origin.job_id,
        url_key=candidate.url_key,
        url=candidate.url,
        group=candidate.group,
        state=EntryState.PENDING,
        execution_id=origin.execution_id,
        crawl_spec_id=origin.crawl_spec_id,
        fetch_sequence=after_sequence,
        updated_at_ms=now_ms,
        reason=reason,
        kind=candidate.kind,
        hop=candidate.hop,
        depth=candidate.depth,
        priority=candidate.priority,
        is_start=candidate.is_start,
        referrer="" if candidate.hop else origin.url,
        redirect_chain=candidate.redirect_chain,
        metadata=candidate.metadata,
        discovered_at_ms=now_ms,
        due_at_ms=now_ms,
        seed_token=candidate.seed_token,
    )


def mark_fetched(entry: EntryRecorded, outcome: FetchCompleted, *, now_ms: int) -> EntryRecorded:
    """Note that the page is on its way round. Its hashes come when it is settled."""
    is_same = outcome.outcome == FetchOutcome.NOT_MODIFIED
    return replace_fields(
        entry,
        state=EntryState.IN_PROGRESS,
        reason=EntryReason.FETCHED,
        fetch_sequence=outcome.fetch_sequence,
        updated_at_ms=now_ms,
        fetched_at_ms=now_ms,
        body_bytes=entry.body_bytes + outcome.body_bytes,
        busy_ms=entry.busy_ms + busy_ms(outcome),
        status=outcome.status,
        # What we have still holds: a 304 need not name its validators again.
        etag=outcome.etag or (entry.etag if is_same else ""),
        last_modified=outcome.last_modified or (entry.last_modified if is_same else ""),
        tries=0,
        error_count=0,
        error_class="",
    )


def busy_ms(event: FetchCompleted | PageSettled) -> int:
    """Say how long a request took: never nothing, so that a record shows that its answer was counted."""
    return max(1, -(-event.total_us // 1000))


def requeue_entry(entry: EntryRecorded, reason: str, *, due_at_ms: int, now_ms: int) -> EntryRecorded:
    """Put an entry back without holding anything against it."""
    return replace_fields(
        entry, state=EntryState.PENDING, reason=reason, due_at_ms=due_at_ms, updated_at_ms=now_ms
    )


def close_entry(entry: EntryRecorded, reason: str, *, now_ms: int) -> EntryRecorded:
    """Close an entry without a page."""
    return replace_fields(
        entry,
        state=EntryState.COMPLETED if reason == DecisionReason.REDIRECTED else EntryState.FAILED,
        reason=reason,
        updated_at_ms=now_ms,
        closed_at_ms=now_ms,
    )


def settle_entry(entry: EntryRecorded, page: PageSettled, *, now_ms: int) -> EntryRecorded:
    """Close an entry whose page has gone round."""
    state, reason = _SETTLED_STATES.get(page.verdict, (EntryState.COMPLETED, EntryReason.SETTLED))
    return replace_fields(
        _answered(entry, page, now_ms=now_ms),
        state=state,
        reason=reason,
        fetch_sequence=page.fetch_sequence,
        updated_at_ms=now_ms,
        closed_at_ms=now_ms,
        losses=0,
        raw_hash=page.raw_hash or entry.raw_hash,
        text_hash=page.text_hash or entry.text_hash,
    )


def _answered(entry: EntryRecorded, page: PageSettled, *, now_ms: int) -> EntryRecorded:
    """Take from a settlement what its outcome would have told, where that was not read before it.

    What an earlier try has left would stand there else, and the validators of an older page beside the
    hashes of this one.
    """
    if entry.state == EntryState.IN_PROGRESS and entry.fetch_sequence == page.fetch_sequence:
        return entry
    if not has_fetch_fields(page):
        return replace_fields(entry, fetched_at_ms=entry.fetched_at_ms or now_ms)
    return replace_fields(
        entry,
        fetched_at_ms=now_ms,
        body_bytes=entry.body_bytes + page.body_bytes,
        busy_ms=entry.busy_ms + busy_ms(page),
        status=page.status,
        etag=page.etag or (entry.etag if page.not_modified else ""),
        last_modified=page.last_modified or (entry.last_modified if page.not_modified else ""),
        tries=0,
        error_count=0,
        error_class="",
    )


def has_fetch_fields(page: PageSettled) -> bool:
    """Say whether a settlement knows of the answer; of a page that nobody could read it does not."""
    return page.total_us > 0


_SETTLED_STATES: Final[Mapping[str, tuple[EntryState, EntryReason]]] = {
    SettleVerdict.VALID: (EntryState.COMPLETED, EntryReason.SETTLED),
    SettleVerdict.NOT_MODIFIED: (EntryState.COMPLETED, EntryReason.NOT_MODIFIED),
    SettleVerdict.REJECTED: (EntryState.COMPLETED, EntryReason.REJECTED),
    SettleVerdict.GIVEN_UP: (EntryState.FAILED, EntryReason.HANDLER_CRASHED),
}
