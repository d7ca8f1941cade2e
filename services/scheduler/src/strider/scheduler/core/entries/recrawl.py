"""When does an entry of a continuous crawl come again?

    page, changed or new     ──▶ after the baseline
    page, or 404, as before  ──▶ after twice the interval, and twice again, up to the cap
    nothing to compare       ──▶ after the same interval as before: neither reward nor penalty
    failed for good          ──▶ never

Changed or not is decided by the text, or by the bytes where the crawl spec says so. An entry that comes
again is not closed: it waits, with what its last fetch has left. Decides nothing of runs by interval,
which open their start URLs by new seeds.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import (
    ChangeBasis,
    DecisionReason,
    EntryReason,
    EntryState,
    SettleVerdict,
)
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, PageSettled
from strider.urls import host_of

MIN_RECRAWL_SECONDS: Final = 60
"""No interval is shorter, whatever a crawl spec says."""

_MAX_DOUBLINGS: Final = 40

_TRANSIENT_REASONS: Final = frozenset(
    {
        DecisionReason.RETRIES_EXHAUSTED,
        DecisionReason.HOST_UNAVAILABLE,
        DecisionReason.ROBOTS_UNREACHABLE,
        DecisionReason.ROBOTS_DENIED,
        DecisionReason.HANDLER_CRASHED,
        DecisionReason.LOST_IN_RING,
    }
)
"""Why an entry may have no page today, and one tomorrow."""

_VERDICTS_WITH_CONTENT: Final = frozenset({SettleVerdict.VALID, SettleVerdict.REJECTED})


def reschedule_after_page(
    before: EntryRecorded, closed: EntryRecorded, page: PageSettled, spec: CrawlSpecDeclared, *, now_ms: int
) -> EntryRecorded:
    """Have an entry come again whose page has gone round; `before` is what it was until then."""
    if not spec.continuous:
        return closed
    if page.verdict == SettleVerdict.NOT_MODIFIED:
        return _reschedule_unchanged(before, closed, spec, now_ms)
    old, new = _hashes(before, page, spec)
    if page.verdict not in _VERDICTS_WITH_CONTENT or not new:
        return _waiting(closed, _current_interval_seconds(before, spec), now_ms)
    if new == old:
        return _reschedule_unchanged(before, closed, spec, now_ms)
    moved = replace_fields(closed, unchanged_count=0, changed_at_ms=now_ms)
    return _waiting(moved, _baseline(spec), now_ms)


def reschedule_without_page(
    before: EntryRecorded, closed: EntryRecorded, spec: CrawlSpecDeclared, *, now_ms: int
) -> EntryRecorded:
    """Have an entry come again that was closed without a page, where that may be another time."""
    if not spec.continuous or closed.state not in {EntryState.COMPLETED, EntryState.FAILED}:
        return closed
    if closed.reason == DecisionReason.NOT_FOUND:
        return _reschedule_unchanged(before, closed, spec, now_ms)
    if closed.reason in _TRANSIENT_REASONS or closed.reason == DecisionReason.REDIRECTED:
        return _waiting(closed, _current_interval_seconds(before, spec), now_ms)
    return closed


def is_over(entry: EntryRecorded, now_ms: int) -> bool:
    """Say whether an entry waits for its next round: whatever is still told of the last one comes again."""
    return entry.reason == EntryReason.DUE_AGAIN and entry.due_at_ms > now_ms


def hastened(entry: EntryRecorded, *, seed_token: str, is_fresh: bool, now_ms: int) -> EntryRecorded | None:
    """Have an entry that waits for its interval come at once, since somebody asks; None where it does not."""
    if entry.reason != EntryReason.DUE_AGAIN or entry.due_at_ms <= now_ms:
        return None
    return replace_fields(
        entry,
        reason=EntryReason.REOPENED,
        due_at_ms=now_ms,
        next_crawl_at_ms=now_ms,
        updated_at_ms=now_ms,
        seed_token=seed_token,
        etag="" if is_fresh else entry.etag,
        last_modified="" if is_fresh else entry.last_modified,
    )


def _reschedule_unchanged(
    before: EntryRecorded, ended: EntryRecorded, spec: CrawlSpecDeclared, now_ms: int
) -> EntryRecorded:
    count = min(before.unchanged_count + 1, _MAX_DOUBLINGS)
    baseline = _baseline(spec)
    grown = min(baseline << count, _cap_seconds(spec)) if spec.adaptive else baseline
    return _waiting(replace_fields(ended, unchanged_count=count), grown, now_ms)


def _waiting(ended: EntryRecorded, seconds: int, now_ms: int) -> EntryRecorded:
    """Count from the end; what led here within the same host is forgotten, so that no round adds to it."""
    due_at_ms = now_ms + seconds * 1000
    here = host_of(ended.url)
    chain = tuple(url for url in ended.redirect_chain if host_of(url) != here)
    return replace_fields(
        ended,
        state=EntryState.PENDING,
        reason=EntryReason.DUE_AGAIN,
        interval_seconds=seconds,
        next_crawl_at_ms=due_at_ms,
        due_at_ms=due_at_ms,
        tries=0,
        error_count=0,
        redirect_chain=chain,
        hop=len(chain),
    )


def _hashes(before: EntryRecorded, page: PageSettled, spec: CrawlSpecDeclared) -> tuple[str, str]:
    if spec.change_basis == ChangeBasis.RAW:
        return before.raw_hash, page.raw_hash
    return before.text_hash, page.text_hash


def _current_interval_seconds(before: EntryRecorded, spec: CrawlSpecDeclared) -> int:
    return before.interval_seconds or _baseline(spec)


def _baseline(spec: CrawlSpecDeclared) -> int:
    return max(spec.recrawl_seconds, MIN_RECRAWL_SECONDS)


def _cap_seconds(spec: CrawlSpecDeclared) -> int:
    return max(spec.recrawl_cap_seconds, _baseline(spec))
