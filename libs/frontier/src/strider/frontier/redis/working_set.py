"""The scheduler's working set in Redis or Valkey: one function call for each port call.

Large calls are split. A call does what the Lua function of the same name does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.constants import (
    DEFAULT_DELAY_MS,
    MAX_EXPIRED_PER_CALL,
    NO_PACES,
    NO_QUEUE_LIMITS,
    VISITED_TTL_MS,
    lease_id,
)
from strider.frontier.entry_encoding import (
    IN_PIPELINE,
    LOCATION_OF_PHASE,
    PHASE_OF_LOCATION,
    QUEUED,
    shape_number,
    shape_of,
    slot_phase,
    split_slot,
    unpack_tail,
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
    LookupStatus,
    OutcomeStatus,
    QueueLimits,
    RefusedFingerprint,
    ReleaseResult,
    RunEntryCounts,
    SeenBatch,
    SeenEntry,
    ShardStats,
    TakeoverResult,
)
from strider.frontier.rebuild_records import RecordedEntry, RecordedRunCount, sum_by_run
from strider.messaging.ports import Clock
from strider.runtime.clocks import SystemClock
from strider.storage.redis import Redis

from .call_encoding import (
    PaceNumbers,
    ScopeNumbers,
    decode_expired_leases,
    decode_new_leases,
    encode_accepted,
    encode_conclusions,
    encode_ended,
    encode_host_groups,
    encode_lookups,
    encode_recorded,
    encode_refill,
    encode_refused,
    encode_seen_batches,
    encode_seen_entries,
    encode_swaps,
    unpack_leases,
)
from .calls import DROPPED_PER_CALL, ENTRIES_PER_CALL, PRUNED_PER_CALL, ShardCalls, split_calls
from .id_interning import ShardIdInterning

_STATUS_BY_NUMBER: Final = (LookupStatus.UNKNOWN, LookupStatus.SEEN, LookupStatus.OPEN)


class RedisWorkingSet:
    """One object for all shards of a process; shards are independent."""

    def __init__(
        self,
        redis: Redis,
        *,
        clock: Clock | None = None,
        default_delay_ms: int = DEFAULT_DELAY_MS,
        visited_ttl_ms: int = VISITED_TTL_MS,
        limits: QueueLimits = NO_QUEUE_LIMITS,
    ) -> None:
        self._limits: list[str | bytes | int] = [
            limits.entries_per_group,
            limits.horizon_ms,
            limits.memory_percent,
            limits.minimum_entries,
        ]
        self._calls = ShardCalls(
            redis,
            clock or SystemClock(),
            default_delay_ms=default_delay_ms,
            visited_ttl_ms=visited_ttl_ms,
        )
        self._interning = ShardIdInterning(redis, self._calls)

    async def take_over(self, shard: int, epoch: int, *, cluster: str | None = None) -> TakeoverResult:
        """Become the owner of a shard, or confirm that."""
        if cluster is not None:
            self._calls.set_cluster(shard, cluster)
        args = [*self._limits, int(cluster is not None)]
        now_ms, is_ready, other = await self._calls.run("take_over", shard, epoch, args=args)
        self._reset(shard)
        return TakeoverResult(bool(is_ready), now_ms, other.decode(errors="replace"))

    async def begin_rebuild(self, shard: int, epoch: int) -> None:
        """Drop the content of a shard, in pieces, and open it for `load`."""
        self._reset(shard)
        is_open = 0
        while not is_open:
            [is_open] = await self._calls.run(
                "begin_rebuild", shard, epoch, args=[*self._limits, DROPPED_PER_CALL]
            )

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
        for phase, loaded in ((QUEUED, queued), (IN_PIPELINE, in_pipeline)):
            for part in split_calls(loaded):
                await self._load_entries(shard, epoch, part, paces, phase=phase)
        await self.record_seen(shard, epoch, seen_entries)
        for args in encode_seen_batches(seen_batches):
            await self._calls.run("load_seen", shard, epoch, args=args)
        if not (queued or in_pipeline or seen_entries or seen_batches):
            await self._load_entries(shard, epoch, (), paces, phase=QUEUED)

    async def reserve_seen(self, shard: int, epoch: int, expected: Mapping[str, int]) -> None:
        """Presize the seen sets of these scopes."""
        for part in split_calls(list(expected.items())):
            args = [each for scope, count in part for each in (scope, "", count)]
            await self._calls.run("load_seen", shard, epoch, args=args)

    async def set_accepted_counts(self, shard: int, epoch: int, runs: Sequence[RecordedRunCount]) -> None:
        """Set the numbers of accepted entries; interns the shared values by which runs are shown."""
        names = await self._interning.intern_entries(shard, epoch, (each.sample for each in runs))
        numbers = {each.sample.execution_id: names.packing_numbers[shape_of(each.sample)][1] for each in runs}
        totals = list(sum_by_run(runs).items())
        for part in split_calls(totals) if totals else [totals]:
            args = [each for run, entries in part for each in (numbers[run], entries)]
            await self._calls.run("set_accepted_counts", shard, epoch, args=args)

    async def report_progress(self, shard: int, epoch: int, share: float) -> None:
        """Store the progress of a rebuild."""
        await self._calls.run("report_progress", shard, epoch, args=[round(share * 1000)])

    async def finish_rebuild(
        self, shard: int, epoch: int, *, groups: Sequence[HostGroupState], sequence: int
    ) -> None:
        """Finish a rebuild."""
        await self._set_groups(shard, epoch, groups, also="loading")
        await self._calls.run("finish_rebuild", shard, epoch, args=[sequence])

    async def lookup(
        self, shard: int, epoch: int, lookups: Sequence[EntryLookup]
    ) -> Sequence[EntryLookupResult]:
        """Return what is known of entries."""
        known: list[EntryLookupResult] = []
        for part in split_calls(lookups) if lookups else [lookups]:
            scopes = ScopeNumbers()
            packed = encode_lookups(part, scopes)
            answer = await self._calls.run("lookup", shard, epoch, args=[packed, *scopes.names()])
            known += await self._lookup_results(shard, answer)
        return known

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
        for part in split_calls(accepted) if accepted else [accepted]:
            await self._accept(shard, epoch, part, paces, refused=refused[:ENTRIES_PER_CALL])
            refused = refused[ENTRIES_PER_CALL:]
        for rest in split_calls(refused):
            await self._accept(shard, epoch, (), paces, refused=rest)

    async def record_seen(self, shard: int, epoch: int, entries: Sequence[SeenEntry]) -> None:
        """Record entries as seen: tokens of seeds, and closed entries of the log."""
        for part in split_calls(entries):
            scopes = ScopeNumbers()
            packed = encode_seen_entries(part, scopes)
            await self._calls.run("record_seen", shard, epoch, args=[packed, *scopes.names()])

    async def release(
        self, shard: int, epoch: int, *, limit: int, lease_ms: int, reserved: int = 0
    ) -> ReleaseResult:
        """Issue leases for due entries; leases of a lost reply come first."""
        args = [limit, lease_ms, MAX_EXPIRED_PER_CALL, reserved]
        answer = await self._calls.run("release", shard, epoch, args=args, identity=b"any")
        now_ms, next_ms, given, expired = answer
        leases = decode_new_leases(given, epoch, now_ms=now_ms, lease_ms=lease_ms)
        over = decode_expired_leases(expired)
        shapes = await self._interning.shapes(shard, {lease.shape for lease in (*leases, *over)})
        return ReleaseResult(
            unpack_leases(leases, shard, shapes),
            unpack_leases(over, shard, shapes),
            now_ms,
            next_ms,
        )

    async def swap(
        self, shard: int, epoch: int, swaps: Sequence[LeaseSwap], *, lease_ms: int
    ) -> Sequence[Lease | None]:
        """Replace leases by leases for other requests."""
        names = await self._interning.intern_entries(shard, epoch, (swap.request for swap in swaps))
        args: list[bytes | int] = [encode_swaps(swaps, names), lease_ms]
        now_ms, *sequences = await self._calls.run("swap", shard, epoch, args=args)
        leases = []
        for sequence, swap in zip(sequences, swaps, strict=True):
            tail = names.pack(swap.request)
            request = unpack_tail(tail, names.shapes[shape_number(tail)], held_by=sequence)
            lease = Lease(lease_id(shard, epoch, sequence), request, now_ms, now_ms + lease_ms)
            leases.append(lease if sequence else None)
        return leases

    async def end_requests(
        self, shard: int, epoch: int, ended: Sequence[EndedRequest]
    ) -> Sequence[OutcomeStatus]:
        """End requests."""
        endings: list[OutcomeStatus] = []
        for part in split_calls(ended) if ended else [ended]:
            [letters] = await self._calls.run("end_requests", shard, epoch, args=[encode_ended(part)])
            endings += [
                OutcomeStatus.CURRENT if letter == ord("C") else OutcomeStatus.STALE for letter in letters
            ]
        return endings

    async def conclude(self, shard: int, epoch: int, conclusions: Sequence[EntryConclusion]) -> None:
        """Apply dispositions to entries."""
        for part in split_calls(conclusions) if conclusions else [conclusions]:
            scopes = ScopeNumbers()
            names = await self._interning.intern_entries(shard, epoch, (each.entry for each in part))
            packed = encode_conclusions(part, names, scopes)
            await self._calls.run("conclude", shard, epoch, args=[packed, *scopes.names()])

    async def set_host_groups(self, shard: int, epoch: int, groups: Sequence[HostGroupState]) -> None:
        """Set delays, request limits and blocks."""
        await self._set_groups(shard, epoch, groups, also="")

    async def find_parked(self, shard: int, epoch: int, entry_ids: Sequence[str]) -> Sequence[bool]:
        """Return which entries are parked."""
        parked: list[bool] = []
        for part in split_calls(entry_ids) if entry_ids else [entry_ids]:
            [letters] = await self._calls.run(
                "find_parked", shard, epoch, args=[bytes.fromhex("".join(part))]
            )
            parked += [letter == ord("1") for letter in letters]
        return parked

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
        names = await self._interning.intern_entries(shard, epoch, entries)
        numbers = PaceNumbers(paces)
        args = [part.value, encode_refill(entries, names, numbers), numbers.packed]
        [opened] = await self._calls.run("refill", shard, epoch, args=args)
        return int(opened)

    async def prune_host_groups(self, shard: int, epoch: int) -> Sequence[str]:
        """Drop some idle host groups."""
        [names] = await self._calls.run("prune_host_groups", shard, epoch, args=[PRUNED_PER_CALL])
        return [name.decode("utf-8", "surrogatepass") for name in names]

    async def forget_executions(
        self, shard: int, epoch: int, executions: Sequence[str], *, scopes: Sequence[str] = ()
    ) -> int:
        """Drop finished executions and their cached numbers."""
        forgotten = 0
        for part in split_calls(executions) if executions else [executions]:
            args: list[str | bytes | int] = [len(part), *map(json.dumps, part), *scopes]
            try:
                [over] = await self._calls.run("forget_executions", shard, epoch, args=args)
            finally:
                self._interning.discard(shard)
            forgotten += over
        return forgotten

    async def run_counts(self, shard: int, epoch: int) -> Mapping[str, RunEntryCounts]:
        """Return the number of entries by execution."""
        *_, counted = await self._calls.run("stats", shard, epoch)
        found = {field.decode(): int(count) for field, count in zip(counted[::2], counted[1::2], strict=True)}
        numbers = {int(field[1:]) for field in found}
        names = await self._interning.executions(shard, numbers)
        return {
            names[number]: RunEntryCounts(found.get(f"o{number}", 0), found.get(f"a{number}", 0))
            for number in sorted(numbers, key=names.__getitem__)
        }

    async def scan(
        self, shard: int, epoch: int, *, cursor: int, limit: int, location: EntryLocation | None = None
    ) -> EntryScan:
        """Return a part of the open entries."""
        phase = "" if location is None else PHASE_OF_LOCATION[location]
        now_ms, go_on, slots = await self._calls.run("scan", shard, epoch, args=[cursor, limit, phase])
        tails = [split_slot(slot) for slot in slots]
        shapes = await self._interning.shapes(shard, {shape_number(tail) for tail, _ in tails})
        entries = [unpack_tail(tail, shapes[shape_number(tail)], held_by=held) for tail, held in tails]
        places = [LOCATION_OF_PHASE[slot_phase(slot)] for slot in slots]
        return EntryScan(list(zip(entries, places, strict=True)), int(go_on), now_ms)

    async def stats(self, shard: int, epoch: int) -> ShardStats:
        """Return the counters of a shard."""
        now_ms, *counters, _ = await self._calls.run("stats", shard, epoch)
        queued, leased, in_pipeline, groups, seen, *more = counters
        return ShardStats(queued, leased, in_pipeline, groups, seen, now_ms, *more)

    async def discard_cache(self, shard: int) -> None:
        """Drop what is cached of a shard."""
        self._calls.discard(shard)
        self._interning.discard(shard)

    def _reset(self, shard: int) -> None:
        self._calls.reset(shard)
        self._interning.discard(shard)

    async def _set_groups(self, shard: int, epoch: int, groups: Sequence[HostGroupState], also: str) -> None:
        for part in split_calls(groups) if groups else [groups]:
            await self._calls.run("set_host_groups", shard, epoch, args=[encode_host_groups(part), also])

    async def _load_entries(
        self,
        shard: int,
        epoch: int,
        recorded: Sequence[RecordedEntry],
        paces: Mapping[str, HostPace],
        *,
        phase: int,
    ) -> None:
        shared_fields = dict.fromkeys(each.shared for each in recorded)
        names = await self._interning.intern_shapes(shard, epoch, (shared.shape for shared in shared_fields))
        scopes, numbers = ScopeNumbers(), PaceNumbers(paces)
        packed = encode_recorded(recorded, names, scopes, numbers, phase=phase)
        args: list[str | bytes | int] = ["load", packed, b"", numbers.packed, *scopes.names()]
        await self._calls.run("accept", shard, epoch, args=args)

    async def _accept(
        self,
        shard: int,
        epoch: int,
        accepted: Sequence[AcceptedEntry],
        paces: Mapping[str, HostPace],
        *,
        refused: Sequence[RefusedFingerprint] = (),
    ) -> None:
        scopes, numbers = ScopeNumbers(), PaceNumbers(paces)
        names = await self._interning.intern_entries(shard, epoch, (each.entry for each in accepted))
        packed = encode_accepted(accepted, names, scopes, numbers)
        packed_refused = encode_refused(refused, scopes)
        await self._calls.run(
            "accept", shard, epoch, args=["accept", packed, packed_refused, numbers.packed, *scopes.names()]
        )

    async def _lookup_results(self, shard: int, answer: Sequence[Any]) -> list[EntryLookupResult]:
        triples = list(zip(answer[::3], answer[1::3], answer[2::3], strict=True))
        known: list[EntryLookupResult] = []
        slots = [split_slot(slot) if slot else None for slot, _, _ in triples]
        shapes = await self._interning.shapes(shard, {shape_number(slot[0]) for slot in slots if slot})
        for slot, (_, is_seen, token) in zip(slots, triples, strict=True):
            seed_token = token.decode() if token else ""
            if slot is None:  # an open entry without a slot is parked
                known.append(EntryLookupResult(_STATUS_BY_NUMBER[is_seen], None, seed_token))
                continue
            tail, held_by = slot
            entry = unpack_tail(tail, shapes[shape_number(tail)], held_by=held_by)
            known.append(EntryLookupResult(LookupStatus.OPEN, entry, seed_token or entry.seed_token))
        return known
