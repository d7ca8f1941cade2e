"""Tally the closed entries of runs in an owned shard, from its frontier log.

One pass over the log for all runs that end at a time: an entry has one record there, so nothing has to be
counted while a page is processed, and no crash, rebuild or takeover changes the result. It is exact where the
run does not change during the pass, which the proof of its end shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from strider.contracts.generated.enums import EntryReason
from strider.scheduler.core.runs.ending_runs import RunTally
from strider.scheduler.ports import ClosedEntry, FrontierLogReader

PAGE_REASONS: Final = frozenset({EntryReason.SETTLED, EntryReason.REJECTED})
"""Close reasons of entries whose page was fetched and parsed."""


@dataclass(slots=True)
class _Tally:
    outcomes: dict[str, int] = field(default_factory=dict)
    pages: int = 0
    bytes: int = 0
    began_ms: int = 0
    jobs: set[str] = field(default_factory=set)

    def add(self, entry: ClosedEntry) -> None:
        reason = entry.template.reason
        self.outcomes[reason] = self.outcomes.get(reason, 0) + 1
        self.pages += reason in PAGE_REASONS
        self.bytes += entry.body_bytes
        self.jobs.add(entry.template.job_id)
        if (began_ms := entry.discovered_at_ms) and not 0 < self.began_ms < began_ms:
            self.began_ms = began_ms


async def tally_runs(
    log_reader: FrontierLogReader, shard: int, runs: AbstractSet[str]
) -> Mapping[str, RunTally]:
    """Return the tallies of some runs in a shard."""
    tallies = {run: _Tally() for run in runs}
    async for batch in log_reader.read_entries(shard):
        for entry in batch.closed:
            if (tally := tallies.get(entry.template.execution_id)) is not None:
                tally.add(entry)
    return {
        run: RunTally(
            tally.outcomes,
            tally.pages,
            tally.bytes,
            tally.began_ms,
            min(tally.jobs) if len(tally.jobs) == 1 else "",
        )
        for run, tally in tallies.items()
    }
