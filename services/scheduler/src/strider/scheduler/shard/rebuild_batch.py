"""What the log says of a shard's entries, sorted as its working set takes it back. Pure.

What is open goes to its queue or into the ring; of what is closed the working set has to know that it was
seen and, where a seed opened it, by which. Many are seen at a time, so times are told by the minute. How many
entries a run had is counted over all of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import EntryReason
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import ADHOC_JOB_ID, entry_id, key_fingerprint, seen_scope
from strider.frontier.models import SeenBatch, SeenEntry
from strider.frontier.rebuild_records import RecordedEntry, RecordedRunCount
from strider.scheduler.core import BudgetAmount, BudgetedFetch, BudgetLimits, Fate, disposition_of
from strider.scheduler.ports import ClosedEntry, Told
from strider.urls import host_of

SEEN_BUCKET_MS: Final = 60_000
"""What was closed within it counts as seen at its end."""

_REASONS_WITH_PAGE: Final = frozenset(
    {EntryReason.FETCHED, EntryReason.SETTLED, EntryReason.NOT_MODIFIED, EntryReason.REJECTED}
)


@dataclass(slots=True)
class RebuildBatch:
    """What is put back by one call."""

    sequence: int = 0
    """The highest fetch sequence of these entries."""
    queued: list[RecordedEntry] = field(default_factory=list)
    in_ring: list[RecordedEntry] = field(default_factory=list)
    closed: list[SeenEntry] = field(default_factory=list)
    seen: list[SeenBatch] = field(default_factory=list)


@dataclass(slots=True)
class RebuildTotals:
    """Whom the entries belong to: groups those that are open, runs all."""

    specs: set[tuple[str, str]] = field(default_factory=set)
    """Groups, each with a crawl spec that has entries there."""
    may_be_in_flight: set[str] = field(default_factory=set)
    """Groups that may have been asked when the working set was lost."""
    entries: int = 0
    """How many entries the log knew, open or not."""
    runs: dict[tuple[str, str, str], RecordedRunCount] = field(default_factory=dict)
    """How many of these each run has: by job, execution and crawl spec."""


def sort(batch: Told, totals: RebuildTotals) -> RebuildBatch:
    """Sort a part of the log, and note whom what is open belongs to."""
    every = (batch.open, batch.closed)
    sequence = max((each.fetch_sequence for some in every for each in some), default=0)
    part = RebuildBatch(sequence=sequence)
    totals.entries += len(batch.open) + len(batch.closed)
    _partition_open(batch.open, part, totals)
    _partition_closed(batch.closed, part)
    _count(batch, totals)
    return part


def _partition_open(entries: Sequence[RecordedEntry], part: RebuildBatch, waiting: RebuildTotals) -> None:
    moulds = {each.shared for each in entries}
    queued = {mould for mould in moulds if disposition_of(mould.sample) is Fate.QUEUE}
    for each in entries:
        (part.queued if each.shared in queued else part.in_ring).append(each)
    for name, mould in {(each.group, each.shared) for each in entries}:
        group = name.decode("utf-8", "surrogatepass")
        waiting.specs.add((group, mould.sample.crawl_spec_id))
        if mould in queued:
            waiting.may_be_in_flight.add(group)


def _partition_closed(entries: Sequence[ClosedEntry], part: RebuildBatch) -> None:
    seen: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    scopes: dict[int, str] = {}
    for each in entries:
        if each.is_forgotten:
            continue
        if each.seed_token:
            part.closed.append(_remembered_entry(each))
            continue
        like = each.template
        if (scope := scopes.get(id(like))) is None:
            scope = scopes[id(like)] = seen_scope(like.job_id, like.crawl_spec_id)
        seen[scope, -(-each.updated_at_ms // SEEN_BUCKET_MS)].append(key_fingerprint(each.url_key))
    part.seen = [SeenBatch(scope, at * SEEN_BUCKET_MS, some) for (scope, at), some in seen.items()]


def _count(told: Told, waiting: RebuildTotals) -> None:
    """Count by what entries share, which few tell apart: of millions none is looked into."""
    likes = [each.template for each in told.closed] + [each.shared.sample for each in told.open]
    alike = dict(zip(map(id, likes), likes, strict=True))
    for which, entries in Counter(map(id, likes)).items():
        like = alike[which]
        run = like.job_id, like.execution_id, like.crawl_spec_id
        before = waiting.runs.get(run)
        waiting.runs[run] = RecordedRunCount(like, entries + (before.entries if before else 0))


def seen_scopes_of(expected: Mapping[str, int]) -> Mapping[str, int]:
    """Name the seen-sets of jobs: not those of the standing one, which has many."""
    return {seen_scope(job, ""): count for job, count in expected.items() if job != ADHOC_JOB_ID}


def _remembered_entry(remnant: ClosedEntry) -> SeenEntry:
    like, url_key = remnant.template, remnant.url_key.decode()
    return SeenEntry(
        entry_id(like.job_id, url_key),
        seen_scope(like.job_id, like.crawl_spec_id),
        key_fingerprint(url_key),
        remnant.updated_at_ms,
        remnant.seed_token,
    )


def entry_of(remnant: ClosedEntry) -> EntryRecorded:
    """Give what a remnant says of its entry."""
    return replace_fields(
        remnant.template,
        url_key=remnant.url_key.decode(),
        url=remnant.url.decode(errors="replace"),
        fetch_sequence=remnant.fetch_sequence,
        updated_at_ms=remnant.updated_at_ms,
        body_bytes=remnant.body_bytes,
        busy_ms=remnant.busy_ms,
        seed_token=remnant.seed_token,
    )


def budgeted_fetch_of(entry: EntryRecorded, limits: BudgetLimits) -> BudgetedFetch:
    """Read from a record what was spent on its entry.

    A page that was given up unread before its outcome was read has no cost in its record: it counts as the
    largest, until that outcome is read.
    """
    has_page = entry.reason in _REASONS_WITH_PAGE
    is_unknown = has_page and not entry.busy_ms
    return BudgetedFetch(
        entry.execution_id,
        entry_id(entry.job_id, entry.url_key),
        host_of(entry.url),
        limits,
        sequence=entry.fetch_sequence,
        has_page=has_page,
        cost=limits.request if is_unknown else BudgetAmount(0, entry.body_bytes, entry.busy_ms),
        is_guess=is_unknown,
    )
