"""Count the entries of runs in an owned shard: open, accepted, and closed by reason.

Open and accepted entries are counters of the working set. Closed ones are tallied from the frontier log, in
one pass for all runs that end at a time: an entry has one record there, so nothing has to be counted while a
page is processed, and no crash, rebuild or takeover changes the result. It is exact where the run does not
change during the pass, which the proof of its end shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from strider.contracts.generated.enums import EntryReason, RequestKind
from strider.frontier.models import RunEntryCounts
from strider.frontier.ports import ShardNotReady
from strider.messaging.errors import ShardFenced, Unavailable
from strider.scheduler.core.entries.state import FORGOTTEN_REASONS
from strider.scheduler.core.runs.completion import ShardRunCount
from strider.scheduler.core.runs.ending_runs import RunTally, only_job
from strider.scheduler.core.runs.start_pages import StartPage, StartPageTally
from strider.scheduler.ports import ClosedEntry, FrontierLogReader

from .shard import OwnedShard

PAGE_REASONS: Final = frozenset({EntryReason.SETTLED, EntryReason.REJECTED, EntryReason.NOT_A_FEED})
"""Close reasons of entries whose page was fetched and parsed."""

SETTLED_REASONS: Final = PAGE_REASONS | {EntryReason.NOT_MODIFIED}
"""Close reasons of entries whose content is known."""


async def read_run_counts(shard: OwnedShard) -> Mapping[str, RunEntryCounts] | None:
    """Return the entries of every run in a shard; None where it is not ready, or has another owner."""
    if not shard.is_ready:
        return None
    try:
        with shard.require_ready():
            return await shard.working_set.run_counts(shard.number, shard.epoch)
    except (
        Unavailable,
        ShardNotReady,
        ShardFenced,
    ):  # a shard that another process owns by now is counted there
        return None


async def count_run(shard: OwnedShard, execution_id: str) -> ShardRunCount:
    """Return the entries of one run in a shard."""
    counts = await count_runs(shard, [execution_id])
    return counts[execution_id]


async def count_runs(shard: OwnedShard, execution_ids: Iterable[str]) -> Mapping[str, ShardRunCount]:
    """Return the entries of some runs in a shard, with one request."""
    counted_by = _count_version(shard)
    counts = await read_run_counts(shard)
    if counts is None or counted_by != _count_version(shard):  # it is unknown which owner or rebuild counted
        return dict.fromkeys(execution_ids, ShardRunCount(is_ready=False))
    return {
        run: ShardRunCount(
            is_ready=True,
            open=counts[run].open if run in counts else 0,
            accepted=counts[run].accepted if run in counts else 0,
            counted_by=counted_by,
        )
        for run in execution_ids
    }


def _count_version(shard: OwnedShard) -> tuple[int, int]:
    return shard.epoch, shard.rebuilt_at_ms


@dataclass(slots=True)
class _Tally:
    outcomes: dict[str, int] = field(default_factory=dict)
    pages: int = 0
    bytes: int = 0
    began_ms: int = 0
    jobs: set[str] = field(default_factory=set)
    start_pages: StartPageTally = field(default_factory=StartPageTally)

    def add(self, entry: ClosedEntry) -> None:
        reason = entry.template.reason
        self.outcomes[reason] = self.outcomes.get(reason, 0) + 1
        self.pages += _has_page(entry)
        self.bytes += entry.body_bytes
        self.jobs.add(entry.template.job_id)
        if (began_ms := entry.discovered_at_ms) and not 0 < self.began_ms < began_ms:
            self.began_ms = began_ms
        is_start_page = entry.seed_token and entry.template.kind == RequestKind.PAGE
        if is_start_page and reason in SETTLED_REASONS and (entry.raw_hash or entry.text_hash):
            self.start_pages.add(StartPage(entry.url_key.decode(), entry.raw_hash, entry.text_hash))

    def total(self) -> RunTally:
        return RunTally(
            self.outcomes,
            self.pages,
            self.bytes,
            self.began_ms,
            only_job(self.jobs),
            self.start_pages.total(),
        )


def _has_page(entry: ClosedEntry) -> bool:
    """Whether a page of an entry was fetched in its run.

    An entry that waited for its recrawl and was dropped has the hashes of its last page: those of an earlier
    run are gone from it.
    """
    reason = entry.template.reason
    return reason in PAGE_REASONS or (reason in FORGOTTEN_REASONS and bool(entry.raw_hash or entry.text_hash))


async def tally_runs(
    log_reader: FrontierLogReader, shard: int, runs: AbstractSet[str]
) -> Mapping[str, RunTally]:
    """Return the tallies of some runs in a shard."""
    tallies = {run: _Tally() for run in runs}
    async for batch in log_reader.read_entries(shard):
        for entry in batch.closed:
            if (tally := tallies.get(entry.template.execution_id)) is not None:
                tally.add(entry)
    return {run: tally.total() for run, tally in tallies.items()}
