"""What a frontier shard's working set can be asked and told, and in which values.

One shard has one writer, which took it with an epoch; every call carries shard and epoch, takes
nothing from an older owner (Fenced), and may be repeated: a repeat changes nothing and answers the
same. Two families stand behind these ports: Redis (Lua, one script call per shard) and memory;
`tests/contract` runs one suite against both. Decides nothing about what a URL deserves: which
entry is accepted, tried again or closed is the scheduler's to say, and is in the log before it is
told here. All times are milliseconds of the one clock: Redis TIME, or the clock given to memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from strider.contracts.generated.events import EntryRecorded
from strider.runtime.errors import RuntimeFailure

from .models import (
    AcceptedEntry,
    EndedRequest,
    EntryConclusion,
    EntryDisposition,
    EntryLocation,
    EntryLookup,
    EntryLookupResult,
    EntryScan,
    HostGroupState,
    Lease,
    LeaseState,
    LeaseSwap,
    LogPassPart,
    LookupStatus,
    OutcomeStatus,
    QueueLimits,
    RefusedUrl,
    ReleaseResult,
    RunEntryCounts,
    SeenBatch,
    SeenEntry,
    ShardStats,
    StartMark,
    StartResult,
    TakeoverResult,
)
from .rebuild_records import RecordedEntry, RecordedRunCount

__all__ = [
    "Accepted",
    "Conclusion",
    "EntryDisposition",
    "EntryLocation",
    "EntryLookupResult",
    "Figures",
    "Freed",
    "GroupState",
    "Lease",
    "LeaseState",
    "LookupStatus",
    "Mark",
    "Marked",
    "Marks",
    "OutcomeStatus",
    "Question",
    "RecordedEntry",
    "Recounted",
    "RefusedUrl",
    "ReleaseResult",
    "Remembered",
    "Room",
    "Round",
    "RunEntryCounts",
    "Scan",
    "SeenQuestion",
    "SeenThen",
    "ShardNotReady",
    "Swap",
    "TakeoverResult",
    "WorkingSet",
]


class ShardNotReady(RuntimeFailure):
    """The working set of a shard is absent, was replaced, or is being rebuilt."""

    def __init__(self, shard: int, reason: str) -> None:
        super().__init__(f"the working set of shard {shard} is not ready: {reason}")
        self.shard = shard
        self.reason = reason


class WorkingSet(Protocol):
    """The scheduler's side. Raises Unavailable where the store is out of reach, Fenced for an old epoch.

    Every method but `take` and `begin` raises NotReady where the shard's set is not (or no longer) ready.
    """

    async def take_over(self, shard: int, epoch: int) -> TakeoverResult:
        """Become the owner; takes only a higher epoch than the header's (or the same again)."""

    async def begin_rebuild(self, shard: int, epoch: int) -> None:
        """Drop all there is of a shard and open it for `load`."""

    async def load(
        self,
        shard: int,
        epoch: int,
        *,
        queued: Sequence[RecordedEntry] = (),
        in_pipeline: Sequence[RecordedEntry] = (),
        seen_entries: Sequence[SeenEntry] = (),
        seen_batches: Sequence[SeenBatch] = (),
    ) -> None:
        """Put back what the log says; only between `begin` and `ready`.

        What is closed and has a seed's token comes with it; of what has none it is enough that it was seen.
        Several calls may be under way.
        """

    async def reserve_seen(self, shard: int, epoch: int, expected: Mapping[str, int]) -> None:
        """Say about how many URLs of these scopes are to come, before the first; only for speed."""

    async def set_accepted_counts(self, shard: int, epoch: int, runs: Sequence[RecordedRunCount]) -> None:
        """Say how many entries of runs the log knows, open or closed; only between `begin` and `ready`.

        `load` counts only what is open. Of a run that is named several times it is the sum; another call
        replaces what was said of it.
        """

    async def report_progress(self, shard: int, epoch: int, share: float) -> None:
        """Say how far a rebuild is (0 to 1), for whoever watches; only between `begin` and `ready`."""

    async def finish_rebuild(
        self, shard: int, epoch: int, *, groups: Sequence[HostGroupState], sequence: int
    ) -> None:
        """End a rebuild: the groups' clocks stand, fetch sequences go on above `sequence`."""

    async def lookup(
        self, shard: int, epoch: int, lookups: Sequence[EntryLookup]
    ) -> Sequence[EntryLookupResult]:
        """Say what is known of entries."""

    async def accept(
        self, shard: int, epoch: int, accepted: Sequence[AcceptedEntry], *, refused: Sequence[RefusedUrl] = ()
    ) -> None:
        """Queue entries that are not open, remember them as seen, count them; remember refusals."""

    async def record_seen(self, shard: int, epoch: int, entries: Sequence[SeenEntry]) -> None:
        """Take the tokens of seeds that join what is open; nothing is opened."""

    async def release(self, shard: int, epoch: int, *, limit: int, lease_ms: int) -> ReleaseResult:
        """Write leases for what is due (a group's clock, block and places allowing), best entries first."""

    async def swap(
        self, shard: int, epoch: int, swaps: Sequence[LeaseSwap], *, lease_ms: int
    ) -> Sequence[Lease | None]:
        """Issue leases for other requests in place of these; the entries go back to the head of their
        queues, and their groups release nothing else until the new lease has ended. None: the lease was gone.
        """

    async def end_requests(
        self, shard: int, epoch: int, ended: Sequence[EndedRequest]
    ) -> Sequence[OutcomeStatus]:
        """End requests: clocks move to start + delay, places are free; entries stay taken until concluded."""

    async def conclude(self, shard: int, epoch: int, conclusions: Sequence[EntryConclusion]) -> None:
        """Give entries their fates; an entry that was concluded by a later fetch sequence stays as it is."""

    async def set_host_groups(self, shard: int, epoch: int, groups: Sequence[HostGroupState]) -> None:
        """Set delays, places and blocks."""

    async def find_parked(self, shard: int, epoch: int, entry_ids: Sequence[str]) -> Sequence[bool]:
        """Say which entries are parked."""

    async def refill(
        self, shard: int, epoch: int, entries: Sequence[EntryRecorded], *, part: LogPassPart
    ) -> int:
        """Queue those of these that are parked and have room now; give how many. Others stay."""

    async def prune_host_groups(self, shard: int, epoch: int) -> Sequence[str]:
        """Forget some groups of which nothing is here and whose clocks have passed; give their names.

        Each has the default delay and one place until it is set again.
        """

    async def forget_executions(
        self, shard: int, epoch: int, executions: Sequence[str], *, scopes: Sequence[str] = ()
    ) -> int:
        """Let go of what is kept of executions that have nothing open; give how many. They may come again.

        Of scopes, what was seen there counts as new.
        """

    async def run_counts(self, shard: int, epoch: int) -> Mapping[str, RunEntryCounts]:
        """Count entries by execution."""

    async def scan(
        self, shard: int, epoch: int, *, cursor: int, limit: int, location: EntryLocation | None = None
    ) -> EntryScan:
        """Look at about so many open entries, from 0 on, and show those in one place, or all.

        Entries that come or go meanwhile may be missed.
        """

    async def stats(self, shard: int, epoch: int) -> ShardStats:
        """Say how full the shard is."""

    async def discard_cache(self, shard: int) -> None:
        """Let go of what this process keeps of a shard (connections, caches); the set itself stays."""


class SeenLookup(Protocol):
    """What anyone may ask: link-ingestion, to spare the bus. Never writes."""

    async def find_seen(
        self, lookups: Mapping[tuple[int, str], Sequence[int]]
    ) -> Mapping[tuple[int, str], Sequence[bool]]:
        """Say for each (shard, seen scope) what is known; a shard that is not ready knows nothing."""


class LeaseMarks(Protocol):
    """The fetcher's side: one compare-and-set for each lease, by its id alone."""

    async def mark_started(
        self, leases: Sequence[tuple[int, str]], *, nonce: str, deadline_ms: int
    ) -> Sequence[StartMark]:
        """Mark (shard, lease id) pairs as started; they now end at mark + deadline + margin.

        The same nonce may ask again after a lost answer and gets the same one. Raises Unavailable.
        """
