"""Close the entry of a settled page, where run and fetch of both agree.

A settlement counts for the same run and the same fetch. A fetch newer than the record's is the one in
progress: its page was settled before its outcome was read. An older one is a repeat and is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import EntryReason, EntryState, SettleVerdict
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, PageSettled

from .feed_polling import NO_POLLING, FeedPolling
from .recrawl import recrawl_rule, reschedule_after_page, waits_for_recrawl
from .state import request_duration_ms

_SETTLED_STATES: Final[Mapping[str, tuple[EntryState, EntryReason]]] = {
    SettleVerdict.VALID: (EntryState.COMPLETED, EntryReason.SETTLED),
    SettleVerdict.NOT_MODIFIED: (EntryState.COMPLETED, EntryReason.NOT_MODIFIED),
    SettleVerdict.REJECTED: (EntryState.COMPLETED, EntryReason.REJECTED),
    SettleVerdict.GIVEN_UP: (EntryState.FAILED, EntryReason.HANDLER_CRASHED),
}


def apply_settlement(
    entry: EntryRecorded,
    page: PageSettled,
    *,
    now_ms: int,
    spec: CrawlSpecDeclared | None = None,
    polling: FeedPolling = NO_POLLING,
) -> EntryRecorded | None:
    """Return the entry closed, or scheduled for its recrawl; None where the settlement does not count."""
    if entry.execution_id != page.execution_id or page.fetch_sequence < entry.fetch_sequence:
        return None
    if waits_for_recrawl(entry, now_ms):
        return None
    closed = settle_entry(entry, page, now_ms=now_ms)
    if spec is None:
        return closed
    rule = recrawl_rule(entry, spec, polling)
    return reschedule_after_page(entry, closed, page, rule, now_ms=now_ms)


def settle_entry(entry: EntryRecorded, page: PageSettled, *, now_ms: int) -> EntryRecorded:
    """Close an entry whose page was processed by every service."""
    state, reason = _SETTLED_STATES.get(page.verdict, (EntryState.COMPLETED, EntryReason.SETTLED))
    return replace_fields(
        _with_fetch_fields(entry, page, now_ms=now_ms),
        state=state,
        reason=reason,
        fetch_sequence=page.fetch_sequence,
        updated_at_ms=now_ms,
        closed_at_ms=now_ms,
        losses=0,
        raw_hash=page.raw_hash or entry.raw_hash,
        text_hash=page.text_hash or entry.text_hash,
    )


def _with_fetch_fields(entry: EntryRecorded, page: PageSettled, *, now_ms: int) -> EntryRecorded:
    """Copy the fetch fields of a settlement to its entry, where the outcome was not read before it.

    Otherwise the values of an earlier try would remain, and the validators of an older page beside the
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
        busy_ms=entry.busy_ms + request_duration_ms(page),
        status=page.status,
        etag=page.etag or (entry.etag if page.not_modified else ""),
        last_modified=page.last_modified or (entry.last_modified if page.not_modified else ""),
        tries=0,
        error_count=0,
        error_class="",
    )


def has_fetch_fields(page: PageSettled) -> bool:
    """Whether a settlement carries the fields of its fetch; that of an undecodable page does not."""
    return page.total_us > 0
