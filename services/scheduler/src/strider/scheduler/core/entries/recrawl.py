"""Schedule the recrawl of an entry of a continuous crawl, or the next poll of a feed.

    page, changed or new     ──▶ after the base interval
    page, or 404, unchanged  ──▶ after twice the previous interval, up to the cap
    nothing to compare       ──▶ after the same interval as before
    failed permanently       ──▶ never
    feed that is polled      ──▶ the same with an interval of its own; never after 410, or where it is no feed

A change is a change of the text, or of the bytes where the crawl spec says so. An entry that is to be
recrawled is not closed: it is pending, and keeps the fields of its last fetch. A feed has no text of its own,
so that its bytes decide. Runs by interval are not decided here: they open their start URLs by new seeds.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass, replace_fields
from strider.contracts.generated.enums import (
    ChangeBasis,
    DecisionReason,
    DocumentKind,
    EntryReason,
    EntryState,
    RejectionKind,
    RequestKind,
    SettleVerdict,
)
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, PageSettled
from strider.urls import host_of

from .feed_polling import FeedPolling

MIN_RECRAWL_SECONDS: Final = 60
"""Shortest interval, whatever a crawl spec says."""

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
"""Reasons for which an entry has no page now, but may have one later."""

_VERDICTS_WITH_CONTENT: Final = frozenset({SettleVerdict.VALID, SettleVerdict.REJECTED})


_GONE: Final = 410


@fast_dataclass(frozen=True, slots=True)
class RecrawlRule:
    """Interval at which an entry is crawled again."""

    baseline_seconds: int
    cap_seconds: int
    is_adaptive: bool
    basis: str
    is_poll: bool = False
    """Whether the entry is a feed that is polled."""


def recrawl_rule(entry: EntryRecorded, spec: CrawlSpecDeclared, polling: FeedPolling) -> RecrawlRule | None:
    """Return how often an entry is crawled again; None where it is not."""
    is_feed = entry.kind == RequestKind.FEED
    if is_feed and (seconds := polling.interval_seconds(entry.job_id, spec)):
        cap = max(spec.recrawl_cap_seconds, seconds)
        return RecrawlRule(seconds, cap, spec.adaptive, ChangeBasis.RAW, is_poll=True)
    if not spec.continuous:
        return None
    seconds = max(spec.recrawl_seconds, MIN_RECRAWL_SECONDS)
    cap = max(spec.recrawl_cap_seconds, seconds)
    return RecrawlRule(seconds, cap, spec.adaptive, spec.change_basis)


def reschedule_after_page(
    before: EntryRecorded, closed: EntryRecorded, page: PageSettled, rule: RecrawlRule | None, *, now_ms: int
) -> EntryRecorded:
    """Requeue an entry for its recrawl after a settled page; `before` is its state until then."""
    if rule is None:
        return closed
    if page.verdict == SettleVerdict.NOT_MODIFIED:
        return _reschedule_unchanged(before, closed, rule, now_ms)
    if rule.is_poll and _is_no_feed(page):
        return replace_fields(closed, reason=EntryReason.NOT_A_FEED)
    old, new = (
        (before.raw_hash, page.raw_hash)
        if rule.basis == ChangeBasis.RAW
        else (before.text_hash, page.text_hash)
    )
    if page.verdict not in _VERDICTS_WITH_CONTENT or not new:
        return _reschedule(closed, _current_interval_seconds(before, rule), now_ms)
    if new == old:
        return _reschedule_unchanged(before, closed, rule, now_ms)
    with_change = replace_fields(closed, unchanged_count=0, changed_at_ms=now_ms)
    return _reschedule(with_change, rule.baseline_seconds, now_ms)


def reschedule_without_page(
    before: EntryRecorded, closed: EntryRecorded, rule: RecrawlRule | None, *, now_ms: int
) -> EntryRecorded:
    """Requeue an entry for its recrawl after it was closed without a page, where that may change."""
    if rule is None or closed.state not in {EntryState.COMPLETED, EntryState.FAILED}:
        return closed
    if closed.reason == DecisionReason.NOT_FOUND:
        is_over = rule.is_poll and closed.status == _GONE
        return closed if is_over else _reschedule_unchanged(before, closed, rule, now_ms)
    if closed.reason in _TRANSIENT_REASONS or closed.reason == DecisionReason.REDIRECTED:
        return _reschedule(closed, _current_interval_seconds(before, rule), now_ms)
    return closed


def waits_for_recrawl(entry: EntryRecorded, now_ms: int) -> bool:
    """Whether an entry waits for its recrawl: events of its last fetch that arrive now are repeats."""
    return entry.reason == EntryReason.DUE_AGAIN and entry.due_at_ms > now_ms


def recrawl_now(
    entry: EntryRecorded, *, seed_token: str, is_fresh: bool, now_ms: int
) -> EntryRecorded | None:
    """Make an entry that waits for its recrawl due now, for a seed; None where it does not wait."""
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


def _is_no_feed(page: PageSettled) -> bool:
    """Whether a page is known to be no feed; a page that denies access says nothing about it."""
    is_known = page.verdict == SettleVerdict.VALID or (
        page.verdict == SettleVerdict.REJECTED and page.rejection_kind == RejectionKind.PLAIN
    )
    return is_known and page.document_kind != DocumentKind.FEED


def _reschedule_unchanged(
    before: EntryRecorded, closed: EntryRecorded, rule: RecrawlRule, now_ms: int
) -> EntryRecorded:
    count = min(before.unchanged_count + 1, _MAX_DOUBLINGS)
    baseline = rule.baseline_seconds
    grown = min(baseline << count, rule.cap_seconds) if rule.is_adaptive else baseline
    return _reschedule(replace_fields(closed, unchanged_count=count), grown, now_ms)


def _reschedule(closed: EntryRecorded, seconds: int, now_ms: int) -> EntryRecorded:
    """Requeue after an interval that counts from now. Redirects within the host are dropped, or each recrawl
    would add one.
    """
    due_at_ms = now_ms + seconds * 1000
    here = host_of(closed.url)
    chain = tuple(url for url in closed.redirect_chain if host_of(url) != here)
    return replace_fields(
        closed,
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


def _current_interval_seconds(before: EntryRecorded, rule: RecrawlRule) -> int:
    return before.interval_seconds or rule.baseline_seconds
