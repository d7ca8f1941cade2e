"""Entry records: state transitions, and where a record places its entry in the working set.

    accepted ──▶ pending ──fetched──▶ in_progress ──settled──▶ completed
                 │  ▲ retried                      └given up▶ failed
                 │  └──┘
                 └─ redirected ▶ completed     └─ refused, failed ▶ failed

The place of an entry follows from its record alone, so a rebuild and a decision cannot disagree. The last
transitions of a page, by its settlement, are in `settlement`.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import DecisionReason, EntryReason, EntryState, FetchOutcome
from strider.contracts.generated.events import EntryRecorded, FetchCompleted, PageSettled
from strider.frontier.models import EntryDisposition

from .candidates import Candidate

FORGOTTEN_REASONS: Final = frozenset(
    {
        DecisionReason.BUDGET,
        DecisionReason.CANCELLED,
        DecisionReason.DROPPED,
        DecisionReason.EXECUTION_OVER,
        DecisionReason.FEED_NOT_POLLED,
        DecisionReason.HOST_BLOCKED,
        DecisionReason.HOST_UNAVAILABLE,
        DecisionReason.ROBOTS_UNREACHABLE,
    }
)
"""Close reasons of an entry that was never tried; without an error class a later link counts as new."""


def disposition_of(entry: EntryRecorded) -> EntryDisposition:
    """Return where the entry of a record belongs."""
    if entry.state == EntryState.PENDING:
        return EntryDisposition.QUEUE
    if entry.state == EntryState.IN_PROGRESS:
        return EntryDisposition.PIPELINE
    return EntryDisposition.CLOSE_AND_FORGET if is_forgotten(entry) else EntryDisposition.CLOSE


def is_forgotten(entry: EntryRecorded) -> bool:
    """Whether a closed entry counts as never seen."""
    return entry.state == EntryState.FAILED and entry.reason in FORGOTTEN_REASONS and not entry.error_class


def open_entry(
    candidate: Candidate,
    *,
    now_ms: int,
    reason: EntryReason = EntryReason.ACCEPTED,
    after_sequence: int = 0,
) -> EntryRecorded:
    """Return a new entry. Fetches up to `after_sequence` belong to its previous life."""
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
    """Return an entry whose page was fetched. Its hashes come with the settlement."""
    is_same = outcome.outcome == FetchOutcome.NOT_MODIFIED
    return replace_fields(
        entry,
        state=EntryState.IN_PROGRESS,
        reason=EntryReason.FETCHED,
        fetch_sequence=outcome.fetch_sequence,
        updated_at_ms=now_ms,
        fetched_at_ms=now_ms,
        body_bytes=entry.body_bytes + outcome.body_bytes,
        busy_ms=entry.busy_ms + request_duration_ms(outcome),
        status=outcome.status,
        # A stored validator remains valid: a 304 need not repeat it.
        etag=outcome.etag or (entry.etag if is_same else ""),
        last_modified=outcome.last_modified or (entry.last_modified if is_same else ""),
        tries=0,
        error_count=0,
        error_class="",
    )


def request_duration_ms(event: FetchCompleted | PageSettled) -> int:
    """Return the duration of a request: at least 1, so that a record shows that its outcome was counted."""
    return max(1, -(-event.total_us // 1000))


def requeue_entry(entry: EntryRecorded, reason: str, *, due_at_ms: int, now_ms: int) -> EntryRecorded:
    """Return an entry to its queue without counting a try."""
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
