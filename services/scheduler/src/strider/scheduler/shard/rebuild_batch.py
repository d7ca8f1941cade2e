"""Batches of a rebuild: records of the log, partitioned as the working set loads them.

Open entries belong into a queue or the pipeline; of closed ones the working set needs the seen-set and, where
a seed opened them, its token. Many closed entries share a seen time, rounded to a minute. The number of
entries of a run is counted over all batches.
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
from strider.frontier.models import EntryDisposition, SeenBatch, SeenEntry
from strider.frontier.rebuild_records import RecordedEntry, RecordedRunCount
from strider.scheduler.core.budgets.ledger import BudgetKey
from strider.scheduler.core.budgets.limits import BudgetAmount, BudgetLimits
from strider.scheduler.core.budgets.usage import BudgetedFetch
from strider.scheduler.core.entries.state import disposition_of
from strider.scheduler.core.hosts.run_hosts import (
    RunHost,
    host_marker,
    marker_scope,
    number_marker,
    run_host_of,
)
from strider.scheduler.ports import ClosedEntry, LogBatch
from strider.urls import host_of

SEEN_BUCKET_MS: Final = 60_000
"""Entries closed within this time count as seen at its end."""

_REASONS_WITH_PAGE: Final = frozenset(
    {
        EntryReason.FETCHED,
        EntryReason.SETTLED,
        EntryReason.NOT_MODIFIED,
        EntryReason.REJECTED,
        EntryReason.NOT_A_FEED,
    }
)


@dataclass(slots=True)
class RebuildBatch:
    """Records loaded by one call."""

    sequence: int = 0
    """Highest fetch sequence of these entries."""
    queued: list[RecordedEntry] = field(default_factory=list)
    in_pipeline: list[RecordedEntry] = field(default_factory=list)
    closed: list[SeenEntry] = field(default_factory=list)
    seen: list[SeenBatch] = field(default_factory=list)


class RecordedHosts:
    """Hosts of each run by registrable domain, as far as their number is limited."""

    def __init__(self) -> None:
        self._met: set[int] = set()
        self._domains: defaultdict[tuple[BudgetKey, str], dict[RunHost, None]] = defaultdict(dict)

    def add(self, template: EntryRecorded, url: bytes) -> None:
        """Add the host of an entry; one that was added before costs a hash."""
        authority = url.partition(b"//")[2].partition(b"/")[0]
        name = hash((template.execution_id, template.crawl_spec_id, authority))
        if name in self._met:
            return
        self._met.add(name)
        key = BudgetKey(template.execution_id, template.crawl_spec_id)
        about = run_host_of(key, host_of(url.decode(errors="replace")))
        if about is not None:
            self._domains[key, about.domain][about] = None

    def seen_batches(self, *, now_ms: int) -> list[SeenBatch]:
        """Return the markers of all hosts."""
        return [
            SeenBatch(
                marker_scope(key.execution_id),
                now_ms,
                [
                    *map(host_marker, hosts),
                    *(number_marker(each, number) for number, each in enumerate(hosts, 1)),
                ],
            )
            for (key, _), hosts in self._domains.items()
        ]


@dataclass(slots=True)
class RebuildTotals:
    """Totals over all batches: host groups of open entries, runs of all entries."""

    groups: set[str] = field(default_factory=set)
    """Host groups with open entries."""
    spec_ids: set[str] = field(default_factory=set)
    """Crawl specs of open entries."""
    may_be_in_flight: set[str] = field(default_factory=set)
    """Host groups that may have had requests in flight when the working set was lost."""
    entries: int = 0
    """Number of entries in the log, open or not."""
    runs: dict[tuple[str, str, str], RecordedRunCount] = field(default_factory=dict)
    """Entries of each run: by job, execution and crawl spec."""
    hosts: RecordedHosts = field(default_factory=RecordedHosts)


def partition_records(batch: LogBatch, totals: RebuildTotals) -> RebuildBatch:
    """Partition a batch of the log, and add it to the totals."""
    every = (batch.open, batch.closed)
    sequence = max((each.fetch_sequence for entries in every for each in entries), default=0)
    part = RebuildBatch(sequence=sequence)
    totals.entries += len(batch.open) + len(batch.closed)
    _partition_open(batch.open, part, totals)
    _partition_closed(batch.closed, part)
    _count_runs(batch, totals)
    for closed in batch.closed:
        totals.hosts.add(closed.template, closed.url)
    for each in batch.open:
        totals.hosts.add(each.shared.sample, each.url)
    return part


def _partition_open(entries: Sequence[RecordedEntry], batch: RebuildBatch, totals: RebuildTotals) -> None:
    moulds = {each.shared for each in entries}
    queued = {mould for mould in moulds if disposition_of(mould.sample) is EntryDisposition.QUEUE}
    for each in entries:
        (batch.queued if each.shared in queued else batch.in_pipeline).append(each)
    for name, mould in {(each.group, each.shared) for each in entries}:
        group = name.decode("utf-8", "surrogatepass")
        totals.groups.add(group)
        totals.spec_ids.add(mould.sample.crawl_spec_id)
        if mould in queued:
            totals.may_be_in_flight.add(group)


def _partition_closed(entries: Sequence[ClosedEntry], batch: RebuildBatch) -> None:
    seen: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    scopes: dict[int, str] = {}
    for each in entries:
        if each.is_forgotten:
            continue
        if each.seed_token:
            batch.closed.append(_seen_entry(each))
            continue
        template = each.template
        if (scope := scopes.get(id(template))) is None:
            scope = scopes[id(template)] = seen_scope(template.job_id, template.crawl_spec_id)
        seen[scope, -(-each.updated_at_ms // SEEN_BUCKET_MS)].append(key_fingerprint(each.url_key))
    batch.seen = [
        SeenBatch(scope, at * SEEN_BUCKET_MS, fingerprints) for (scope, at), fingerprints in seen.items()
    ]


def _count_runs(batch: LogBatch, totals: RebuildTotals) -> None:
    """Count entries by their shared template, so that millions of entries need no lookup each."""
    templates = [each.template for each in batch.closed] + [each.shared.sample for each in batch.open]
    by_id = dict(zip(map(id, templates), templates, strict=True))
    for template_id, entries in Counter(map(id, templates)).items():
        template = by_id[template_id]
        run = template.job_id, template.execution_id, template.crawl_spec_id
        before = totals.runs.get(run)
        totals.runs[run] = RecordedRunCount(template, entries + (before.entries if before else 0))


def seen_scopes_of(expected: Mapping[str, int]) -> Mapping[str, int]:
    """Return the seen-sets of jobs, except for the ad-hoc job, which has many."""
    return {seen_scope(job, ""): count for job, count in expected.items() if job != ADHOC_JOB_ID}


def _seen_entry(entry: ClosedEntry) -> SeenEntry:
    template, url_key = entry.template, entry.url_key.decode()
    return SeenEntry(
        entry_id(template.job_id, url_key),
        seen_scope(template.job_id, template.crawl_spec_id),
        key_fingerprint(url_key),
        entry.updated_at_ms,
        entry.seed_token,
    )


def entry_record_of(closed: ClosedEntry) -> EntryRecorded:
    """Return the record of a closed entry."""
    return replace_fields(
        closed.template,
        url_key=closed.url_key.decode(),
        url=closed.url.decode(errors="replace"),
        fetch_sequence=closed.fetch_sequence,
        updated_at_ms=closed.updated_at_ms,
        body_bytes=closed.body_bytes,
        busy_ms=closed.busy_ms,
        seed_token=closed.seed_token,
    )


def budgeted_fetch_of(entry: EntryRecorded, limits: BudgetLimits) -> BudgetedFetch:
    """Return what was spent on an entry, by its record.

    A page settled as unreadable before its outcome was read has no cost in its record: it counts as the
    largest, until that outcome is read.
    """
    has_page = entry.reason in _REASONS_WITH_PAGE
    is_unknown = has_page and not entry.busy_ms
    return BudgetedFetch(
        BudgetKey(entry.execution_id, entry.crawl_spec_id),
        entry_id(entry.job_id, entry.url_key),
        host_of(entry.url),
        limits,
        sequence=entry.fetch_sequence,
        has_page=has_page,
        cost=limits.request if is_unknown else BudgetAmount(0, entry.body_bytes, entry.busy_ms),
        is_estimate=is_unknown,
    )
