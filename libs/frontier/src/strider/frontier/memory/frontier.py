"""The whole frontier of one process in memory: all ports in one object.

Gives the guarantees of Redis, fencing included, so that what runs on it runs on Redis. Time is the clock's
monotonic time, counted from the wall time at the start: a step of the wall clock changes nothing. No lock is
needed: no method awaits anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.constants import (
    DEFAULT_DELAY_MS,
    MARK_MARGIN_MS,
    NO_PACES,
    NO_QUEUE_LIMITS,
    VISITED_TTL_MS,
    first_sequence,
)
from strider.frontier.models import (
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
    QueueLimits,
    RefusedFingerprint,
    ReleaseResult,
    RunEntryCounts,
    SeenBatch,
    SeenEntry,
    ShardStats,
    StartMark,
    StartResult,
    TakeoverResult,
)
from strider.frontier.ports import ShardNotReady
from strider.frontier.rebuild_records import RecordedEntry, RecordedRunCount, sum_by_run
from strider.messaging.errors import ShardFenced
from strider.messaging.ports import Clock

from .entries import known
from .models import EntryPhase
from .shard import MemoryShard

_EMPTY_SETS: Final = (frozenset[int](),)


class MemoryFrontier:
    """Working set, seen lookup and lease marks."""

    def __init__(
        self,
        clock: Clock,
        *,
        default_delay_ms: int = DEFAULT_DELAY_MS,
        mark_margin_ms: int = MARK_MARGIN_MS,
        visited_ttl_ms: int = VISITED_TTL_MS,
        limits: QueueLimits = NO_QUEUE_LIMITS,
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._began_us = int(clock.now().timestamp() * 1_000_000)
        self._began_monotonic = clock.monotonic()
        self._default_delay_ms = default_delay_ms
        self._mark_margin_ms = mark_margin_ms
        self._visited_ttl_ms = visited_ttl_ms
        self._shards: dict[int, MemoryShard] = {}
        self._clusters: Mapping[int, str] = {}

    async def take_over(self, shard: int, epoch: int, *, cluster: str | None = None) -> TakeoverResult:
        """Become the owner of a shard, or confirm that."""
        if cluster is not None:
            self._clusters = {**self._clusters, shard: cluster}
        kept = self._shards.get(shard) or self._new_shard(shard)
        other = ""
        if cluster is not None and kept.cluster != cluster:
            other, kept = kept.cluster, self._new_shard(shard, epoch=epoch)
        if self._is_fenced(kept, epoch):
            raise ShardFenced(shard)
        if epoch > kept.epoch:
            kept.epoch, kept.is_loading = epoch, False
        return TakeoverResult(kept.is_ready, self._now_ms(), other)

    async def begin_rebuild(self, shard: int, epoch: int) -> None:
        """Drop the content of a shard and open it for `load`."""
        if (kept := self._shards.get(shard)) and self._is_fenced(kept, epoch):
            raise ShardFenced(shard)
        self._new_shard(shard, epoch=epoch).is_loading = True

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
        """Load what the log says."""
        entries, now_ms = self._loading(shard, epoch).entries, self._now_ms()
        entries.load(queued, EntryPhase.QUEUED, now_ms, paces=paces)
        entries.load(in_pipeline, EntryPhase.PIPELINE, now_ms, paces=paces)
        entries.record_seen(seen_entries, now_ms)
        entries.load_seen_batches(seen_batches, now_ms)

    async def reserve_seen(self, shard: int, epoch: int, expected: Mapping[str, int]) -> None:  # noqa: ARG002  # grows by itself
        """Check that the rebuild belongs to this owner."""
        self._loading(shard, epoch)

    async def set_accepted_counts(self, shard: int, epoch: int, runs: Sequence[RecordedRunCount]) -> None:
        """Set the numbers of entries that the log has of runs."""
        self._loading(shard, epoch).entries.set_accepted_counts(sum_by_run(runs))

    async def report_progress(self, shard: int, epoch: int, share: float) -> None:  # noqa: ARG002  # no other process watches
        """Check that the rebuild belongs to this owner."""
        self._loading(shard, epoch)

    async def finish_rebuild(
        self, shard: int, epoch: int, *, groups: Sequence[HostGroupState], sequence: int
    ) -> None:
        """Finish a rebuild."""
        kept, now_ms = self._owned(shard, epoch), self._now_ms()
        if not (kept.is_loading or kept.is_ready):
            raise ShardNotReady(shard, "no rebuild has begun")
        for group in groups:
            kept.groups.set(group, now_ms)
        if kept.is_loading:
            kept.sequence = first_sequence(sequence, now_ms)
        kept.is_loading, kept.is_ready = False, True

    async def lookup(
        self, shard: int, epoch: int, lookups: Sequence[EntryLookup]
    ) -> Sequence[EntryLookupResult]:
        """Return what is known of entries."""
        return known(self._ready(shard, epoch).entries, lookups, self._now_ms())

    async def accept(
        self,
        shard: int,
        epoch: int,
        accepted: Sequence[AcceptedEntry],
        *,
        refused: Sequence[RefusedFingerprint] = (),
        paces: Mapping[str, HostPace] = NO_PACES,
    ) -> None:
        """Queue entries that are not open; record refused URLs as seen."""
        entries, now_ms = self._ready(shard, epoch).entries, self._now_ms()
        entries.promote(now_ms)
        entries.accept(accepted, now_ms, paces=paces)
        entries.record_refused(refused, now_ms)

    async def record_seen(self, shard: int, epoch: int, entries: Sequence[SeenEntry]) -> None:
        """Record entries as seen, with their seeds' tokens."""
        self._ready(shard, epoch).entries.record_seen(entries, self._now_ms())

    async def release(
        self, shard: int, epoch: int, *, limit: int, lease_ms: int, reserved: int = 0
    ) -> ReleaseResult:
        """Issue leases for due entries."""
        ready = self._ready(shard, epoch)
        return ready.release(self._now_ms(), limit=limit, lease_ms=lease_ms, reserved=reserved)

    async def swap(
        self, shard: int, epoch: int, swaps: Sequence[LeaseSwap], *, lease_ms: int
    ) -> Sequence[Lease | None]:
        """Replace leases by leases for other requests."""
        kept, now_ms = self._ready(shard, epoch), self._now_ms()
        return [kept.swap(swap, now_ms, lease_ms=lease_ms) for swap in swaps]

    async def end_requests(
        self, shard: int, epoch: int, ended: Sequence[EndedRequest]
    ) -> Sequence[OutcomeStatus]:
        """End requests."""
        kept, now_ms = self._ready(shard, epoch), self._now_ms()
        return [kept.end_request(each, now_ms) for each in ended]

    async def conclude(self, shard: int, epoch: int, conclusions: Sequence[EntryConclusion]) -> None:
        """Apply dispositions to entries."""
        kept, now_ms = self._ready(shard, epoch), self._now_ms()
        kept.entries.promote(now_ms)
        for conclusion in conclusions:
            kept.conclude(conclusion, now_ms)

    async def set_host_groups(self, shard: int, epoch: int, groups: Sequence[HostGroupState]) -> None:
        """Set delays, request limits and blocks."""
        kept, now_ms = self._ready(shard, epoch), self._now_ms()
        for group in groups:
            kept.groups.set(group, now_ms)

    async def find_parked(self, shard: int, epoch: int, entry_ids: Sequence[str]) -> Sequence[bool]:
        """Return which entries are parked."""
        parked = self._ready(shard, epoch).entries.parked
        return [name in parked for name in entry_ids]

    async def refill(
        self,
        shard: int,
        epoch: int,
        entries: Sequence[EntryRecorded],
        *,
        part: LogPassPart,
        paces: Mapping[str, HostPace] = NO_PACES,
    ) -> int:
        """Queue parked entries that have room."""
        kept, now_ms = self._ready(shard, epoch).entries, self._now_ms()
        kept.promote(now_ms)
        return kept.parked.refill_in_pass(part, lambda: kept.refill(entries, now_ms, paces=paces))

    async def prune_host_groups(self, shard: int, epoch: int) -> Sequence[str]:
        """Drop idle host groups."""
        return self._ready(shard, epoch).prune_host_groups(self._now_ms())

    async def forget_executions(
        self, shard: int, epoch: int, executions: Sequence[str], *, scopes: Sequence[str] = ()
    ) -> int:
        """Drop finished executions, and what was seen in scopes."""
        kept = self._ready(shard, epoch)
        for scope in scopes:
            kept.seen.drop_scope(scope)
        return kept.entries.forget_executions(executions)

    async def run_counts(self, shard: int, epoch: int) -> Mapping[str, RunEntryCounts]:
        """Return the number of entries by execution."""
        return self._ready(shard, epoch).entries.run_counts()

    async def scan(
        self, shard: int, epoch: int, *, cursor: int, limit: int, location: EntryLocation | None = None
    ) -> EntryScan:
        """Return all matching open entries at once: they are in memory."""
        del cursor, limit
        return EntryScan(self._ready(shard, epoch).entries.scan(location), 0, self._now_ms())

    async def stats(self, shard: int, epoch: int) -> ShardStats:
        """Return the counters of a shard."""
        return self._ready(shard, epoch).stats(self._now_ms())

    def stats_if_ready(self, shard: int) -> ShardStats | None:
        """Return the counters of a shard without owning it; None where it is not ready."""
        held = self._shards.get(shard)
        return held.stats(self._now_ms()) if held is not None and held.is_ready else None

    async def discard_cache(self, shard: int) -> None:
        """Keep the set: this process is the store."""

    async def find_seen(
        self, lookups: Mapping[tuple[int, str], Sequence[int]]
    ) -> Mapping[tuple[int, str], Sequence[bool]]:
        """Return which fingerprints were seen."""
        now_ms = self._now_ms()
        answers: dict[tuple[int, str], list[bool]] = {}
        for (shard, scope), fingerprints in lookups.items():
            kept = self._shards.get(shard)
            sets = kept.seen.sets_of(scope, now_ms) if kept is not None and kept.is_ready else []
            found = [map(each.__contains__, fingerprints) for each in sets or _EMPTY_SETS]
            answers[shard, scope] = [*map(any, zip(*found, strict=True))] if len(found) > 1 else [*found[0]]
        return answers

    async def mark_started(
        self, leases: Sequence[tuple[int, str]], *, nonce: str, deadline_ms: int
    ) -> Sequence[StartMark]:
        """Mark leases as started."""
        now_us, lease_ms = self._now_us(), deadline_ms + self._mark_margin_ms
        shards = self._shards
        return [
            shards[shard].mark_started(name, now_us, nonce=nonce, lease_ms=lease_ms)
            if shard in shards
            else StartMark(StartResult.GONE, now_us)
            for shard, name in leases
        ]

    def _now_us(self) -> int:
        return self._began_us + round((self._clock.monotonic() - self._began_monotonic) * 1_000_000)

    def _now_ms(self) -> int:
        return self._now_us() // 1000

    def _new_shard(self, shard: int, *, epoch: int = 0) -> MemoryShard:
        made = MemoryShard(
            shard,
            default_delay_ms=self._default_delay_ms,
            visited_ttl_ms=self._visited_ttl_ms,
            limits=self._limits,
        )
        made.epoch, made.cluster = epoch, self._clusters.get(shard, "")
        self._shards[shard] = made
        return made

    def _is_fenced(self, kept: MemoryShard, epoch: int) -> bool:
        return epoch < kept.epoch or kept.cluster != self._clusters.get(kept.number, "")

    def _owned(self, shard: int, epoch: int) -> MemoryShard:
        kept = self._shards.get(shard)
        if kept is None:
            raise ShardNotReady(shard, "it is absent")
        if self._is_fenced(kept, epoch):
            raise ShardFenced(shard)
        if epoch > kept.epoch:
            raise ShardNotReady(shard, "it was not taken over with this epoch")
        return kept

    def _loading(self, shard: int, epoch: int) -> MemoryShard:
        kept = self._owned(shard, epoch)
        if not kept.is_loading:
            raise ShardNotReady(shard, "no rebuild has begun")
        return kept

    def _ready(self, shard: int, epoch: int) -> MemoryShard:
        kept = self._owned(shard, epoch)
        if not kept.is_ready:
            raise ShardNotReady(shard, "it is being rebuilt" if kept.is_loading else "it is empty")
        return kept
