"""Ports of a shard's working set for scheduler, link-ingestion and fetcher.

One shard has one writer, which took it over with an epoch; every call carries shard and epoch, is refused for
an older owner (Fenced), and may be repeated: a repeat changes nothing and returns the same. Two
implementations stand behind these ports: Redis (Lua, one function call per shard) and memory;
`tests/contract/working_set` runs one suite against both. Decides nothing about what a URL deserves: the
scheduler decides which entry is accepted, retried or closed, and commits that to the log before it calls. All
times are milliseconds of the one clock: Redis TIME, or the clock of the memory frontier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from strider.contracts.generated.events import EntryRecorded
from strider.messaging.errors import InfrastructureError

from .constants import NO_PACES
from .models import (
    AcceptedEntry,
    EndedRequest,
    EntryConclusion,
    EntryLocation,
    EntryLookup,
    EntryLookupResult,
    EntryScan,
    HostGroupState,
    HostPace,
    Lease,
    LeaseSwap,
    LogPassPart,
    OutcomeStatus,
    RefusedFingerprint,
    ReleaseResult,
    RunEntryCounts,
    SeenBatch,
    SeenEntry,
    ShardStats,
    StartMark,
    TakeoverResult,
)
from .rebuild_records import RecordedEntry, RecordedRunCount


class ShardNotReady(InfrastructureError):
    """The working set of a shard is absent, was replaced, or is being rebuilt."""

    def __init__(self, shard: int, reason: str) -> None:
        super().__init__(f"the working set of shard {shard} is not ready: {reason}")
        self.shard = shard
        self.reason = reason


class WorkingSet(Protocol):
    """The scheduler's port. Raises Unavailable where the store is out of reach, Fenced for an old epoch.

    Every method but `take_over` and `begin_rebuild` raises ShardNotReady where the shard's set is not (or no
    longer) ready.
    """

    async def take_over(self, shard: int, epoch: int, *, cluster: str | None = None) -> TakeoverResult:
        """Become the owner; accepts only a higher epoch than the stored one (or the same again).

        `cluster` is the identity of the Kafka cluster that the epoch is of. What another cluster's owner has
        left is not ready, whatever its epoch, and that owner is fenced. None confirms an earlier takeover of
        this object, whose cluster every further call carries.
        """

    async def begin_rebuild(self, shard: int, epoch: int) -> None:
        """Drop the content of a shard and open it for `load`."""

    async def load(
        self,
        shard: int,
        epoch: int,
        *,
        queued: Sequence[RecordedEntry] = (),
        in_pipeline: Sequence[RecordedEntry] = (),
        seen_entries: Sequence[SeenEntry] = (),
        seen_batches: Sequence[SeenBatch] = (),
        paces: Mapping[str, HostPace] = NO_PACES,
    ) -> None:
        """Load what the log says, with the paces of crawl specs; only before `finish_rebuild`.

        Closed entries with a seed's token come as `seen_entries`, those without as `seen_batches`. Several
        calls may be in flight.
        """

    async def reserve_seen(self, shard: int, epoch: int, expected: Mapping[str, int]) -> None:
        """Presize the seen sets of scopes for about so many URLs, before the first; only for speed."""

    async def set_accepted_counts(self, shard: int, epoch: int, runs: Sequence[RecordedRunCount]) -> None:
        """Set how many entries of runs the log has, open or closed; only during a rebuild.

        `load` counts only open entries. Several counts of a run in one call are added up; another call
        replaces them.
        """

    async def report_progress(self, shard: int, epoch: int, share: float) -> None:
        """Store how far a rebuild is (0 to 1), for display; only during a rebuild."""

    async def finish_rebuild(
        self, shard: int, epoch: int, *, groups: Sequence[HostGroupState], sequence: int
    ) -> None:
        """Finish a rebuild: host groups are set, fetch sequences continue above `sequence`."""

    async def lookup(
        self, shard: int, epoch: int, lookups: Sequence[EntryLookup]
    ) -> Sequence[EntryLookupResult]:
        """Return what is known of entries."""

    async def accept(
        self,
        shard: int,
        epoch: int,
        accepted: Sequence[AcceptedEntry],
        *,
        refused: Sequence[RefusedFingerprint] = (),
        paces: Mapping[str, HostPace] = NO_PACES,
    ) -> None:
        """Queue entries that are not open, record them as seen, count them; record refused URLs as seen.

        Each counts under the pace of its crawl spec in its host group until it is closed.
        """

    async def record_seen(self, shard: int, epoch: int, entries: Sequence[SeenEntry]) -> None:
        """Store the tokens of seeds that join an open entry; opens nothing."""

    async def release(
        self, shard: int, epoch: int, *, limit: int, lease_ms: int, reserved: int = 0
    ) -> ReleaseResult:
        """Issue leases for due entries, as a group's clock, block and limit allow; queues take turns.

        Beyond the limit, `reserved` further leases may be of owners' runs.
        """

    async def swap(
        self, shard: int, epoch: int, swaps: Sequence[LeaseSwap], *, lease_ms: int
    ) -> Sequence[Lease | None]:
        """Issue leases for other requests in place of these; None where the lease was gone.

        The entries return to the heads of their queues, and their groups release nothing else until the new
        lease has ended.
        """

    async def end_requests(
        self, shard: int, epoch: int, ended: Sequence[EndedRequest]
    ) -> Sequence[OutcomeStatus]:
        """End requests: clocks move to start + delay, request slots are free; entries stay held until
        concluded.
        """

    async def conclude(self, shard: int, epoch: int, conclusions: Sequence[EntryConclusion]) -> None:
        """Apply dispositions; an entry that a later fetch sequence concluded stays as it is."""

    async def set_host_groups(self, shard: int, epoch: int, groups: Sequence[HostGroupState]) -> None:
        """Set delays, request limits and blocks of host groups."""

    async def find_parked(self, shard: int, epoch: int, entry_ids: Sequence[str]) -> Sequence[bool]:
        """Return which entries are parked."""

    async def refill(
        self,
        shard: int,
        epoch: int,
        entries: Sequence[EntryRecorded],
        *,
        part: LogPassPart,
        paces: Mapping[str, HostPace] = NO_PACES,
    ) -> int:
        """Queue the parked entries among these that have room now; return how many. Others stay parked.

        Where entries were accepted with paces, all of these need one as well.
        """

    async def prune_host_groups(self, shard: int, epoch: int) -> Sequence[str]:
        """Drop some idle host groups whose clocks have passed; return their names.

        Each has the default delay and one request slot until it is set again.
        """

    async def forget_executions(
        self, shard: int, epoch: int, executions: Sequence[str], *, scopes: Sequence[str] = ()
    ) -> int:
        """Drop the counters and ids of executions without open entries; return of how many. They may
        reappear.

        URLs seen in `scopes` count as new.
        """

    async def run_counts(self, shard: int, epoch: int) -> Mapping[str, RunEntryCounts]:
        """Return the number of entries by execution."""

    async def scan(
        self, shard: int, epoch: int, *, cursor: int, limit: int, location: EntryLocation | None = None
    ) -> EntryScan:
        """Return about so many open entries from a cursor (0 at first), at one location or all.

        Entries that come or go meanwhile may be missed.
        """

    async def stats(self, shard: int, epoch: int) -> ShardStats:
        """Return the counters of a shard."""

    async def discard_cache(self, shard: int) -> None:
        """Drop what this process caches of a shard; the set itself stays."""


class SeenLookup(Protocol):
    """Link-ingestion's port: a check for seen URLs without ownership, which saves messages. Never writes."""

    async def find_seen(
        self, lookups: Mapping[tuple[int, str], Sequence[int]]
    ) -> Mapping[tuple[int, str], Sequence[bool]]:
        """Return for each (shard, seen scope) which URLs are known; none where the shard is not ready."""


class LeaseMarks(Protocol):
    """The fetcher's port: one compare-and-set for each lease, by its id alone."""

    async def mark_started(
        self, leases: Sequence[tuple[int, str]], *, nonce: str, deadline_ms: int
    ) -> Sequence[StartMark]:
        """Mark (shard, lease id) pairs as started; they now end at mark + deadline + margin.

        The same nonce may be repeated after a lost reply and gets the same result. Raises Unavailable.
        """
