"""The scheduler's working set in Redis (or Valkey): one script call for each call of the port.

Large calls go in pieces. Decides nothing: what a call does is in the script of the same name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.constants import (
    DEFAULT_DELAY_MS,
    MAX_EXPIRED_PER_CALL,
    NO_QUEUE_LIMITS,
    VISITED_TTL_MS,
    lease_id,
)
from strider.frontier.entry_encoding import (
    IN_PIPELINE,
    LEASED,
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
    Lease,
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
    TakeoverResult,
)
from strider.frontier.rebuild_records import RecordedEntry, RecordedRunCount, sum_by_run
from strider.runtime.clocks import SystemClock
from strider.runtime.ports import Clock
from strider.storage.redis import Redis

from . import lease_decoding as redis_leases
from .argument_encoding import (
    ScopeNumbers,
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
)
from .calls import ShardCalls
from .id_interning import ShardIdInterning

_ENTRIES_PER_CALL: Final = 1000
"""Entries of one call: a few milliseconds in which the server does nothing else."""
_SEEN_PER_CALL: Final = 4000
_DROPPED_PER_CALL: Final = 2000
_PRUNED_PER_CALL: Final = 100

_STANDINGS: Final = (LookupStatus.UNKNOWN, LookupStatus.SEEN, LookupStatus.OPEN)
"""As `frontier_look` numbers them; what is open and has no slot is parked."""

_PLACES: Final = {
    QUEUED: EntryLocation.QUEUED,
    LEASED: EntryLocation.LEASED,
    IN_PIPELINE: EntryLocation.PIPELINE,
}
_PHASES: Final = {place: phase for phase, place in _PLACES.items()}

T = TypeVar("T")


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
        self._room: list[str | bytes | int] = [
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
        self._names = ShardIdInterning(redis, self._calls)

    async def take_over(self, shard: int, epoch: int) -> TakeoverResult:
        """Become the owner."""
        now_ms, is_ready = await self._calls.run("take", shard, epoch, args=self._room)
        self._renew(shard)
        return TakeoverResult(bool(is_ready), now_ms)

    async def begin_rebuild(self, shard: int, epoch: int) -> None:
        """Drop all there is, in pieces, and open the shard for `load`."""
        self._renew(shard)
        is_open = 0
        while not is_open:
            [is_open] = await self._calls.run("begin", shard, epoch, args=[*self._room, _DROPPED_PER_CALL])

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
        """Put back what the log says."""
        for phase, loaded in ((QUEUED, queued), (IN_PIPELINE, in_pipeline)):
            for part in _parts(loaded):
                await self._put_back(shard, epoch, part, phase=phase)
        await self.record_seen(shard, epoch, seen_entries)
        for some in _seen_batches_by_call(seen_batches):
            await self._calls.run("fill", shard, epoch, args=encode_seen_batches(some))
        if not (queued or in_pipeline or seen_entries or seen_batches):
            await self._put_back(shard, epoch, (), phase=QUEUED)

    async def reserve_seen(self, shard: int, epoch: int, expected: Mapping[str, int]) -> None:
        """Make room in the seen-sets of these scopes."""
        for part in _parts(list(expected.items())):
            told = [each for scope, count in part for each in (scope, "", count)]
            await self._calls.run("fill", shard, epoch, args=told)

    async def set_accepted_counts(self, shard: int, epoch: int, runs: Sequence[RecordedRunCount]) -> None:
        """Put back how many entries were accepted; names what they share, by which runs are shown."""
        names = await self._names.intern_entries(shard, epoch, (each.sample for each in runs))
        numbers = {each.sample.execution_id: names.packing_numbers[shape_of(each.sample)][1] for each in runs}
        totals = list(sum_by_run(runs).items())
        for part in _parts(totals) if totals else [totals]:
            told = [each for run, entries in part for each in (numbers[run], entries)]
            await self._calls.run("recount", shard, epoch, args=told)

    async def report_progress(self, shard: int, epoch: int, share: float) -> None:
        """Say how far a rebuild is."""
        await self._calls.run("tell", shard, epoch, args=[round(share * 1000)])

    async def finish_rebuild(
        self, shard: int, epoch: int, *, groups: Sequence[HostGroupState], sequence: int
    ) -> None:
        """End a rebuild."""
        await self._set_groups(shard, epoch, groups, also="loading")
        await self._calls.run("ready", shard, epoch, args=[sequence])

    async def lookup(
        self, shard: int, epoch: int, lookups: Sequence[EntryLookup]
    ) -> Sequence[EntryLookupResult]:
        """Say what is known of entries."""
        known: list[EntryLookupResult] = []
        for part in _parts(lookups) if lookups else [lookups]:
            scopes = ScopeNumbers()
            packed = encode_lookups(part, scopes)
            answer = await self._calls.run("look", shard, epoch, args=[packed, *scopes.names()])
            known += await self._known(shard, answer)
        return known

    async def accept(
        self, shard: int, epoch: int, accepted: Sequence[AcceptedEntry], *, refused: Sequence[RefusedUrl] = ()
    ) -> None:
        """Queue entries that are not open; remember refusals."""
        for part in _parts(accepted) if accepted else [accepted]:
            await self._accept(shard, epoch, part, seen=refused[:_ENTRIES_PER_CALL])
            refused = refused[_ENTRIES_PER_CALL:]
        for refused in _parts(refused):
            await self._accept(shard, epoch, (), seen=refused)

    async def record_seen(self, shard: int, epoch: int, entries: Sequence[SeenEntry]) -> None:
        """Take tokens; and what the log says is closed."""
        for part in _parts(entries):
            scopes = ScopeNumbers()
            packed = encode_seen_entries(part, scopes)
            await self._calls.run("remember", shard, epoch, args=[packed, *scopes.names()])

    async def release(self, shard: int, epoch: int, *, limit: int, lease_ms: int) -> ReleaseResult:
        """Write leases for what is due; leases of an answer that was lost come first."""
        args = [limit, lease_ms, MAX_EXPIRED_PER_CALL]
        answer = await self._calls.run("release", shard, epoch, args=args, identity=b"any")
        now_ms, next_ms, given, expired = answer
        leases = redis_leases.decode_new_leases(given, epoch, now_ms=now_ms, lease_ms=lease_ms)
        over = redis_leases.decode_expired_leases(expired)
        shapes = await self._names.shapes(shard, {lease.shape for lease in (*leases, *over)})
        return ReleaseResult(
            redis_leases.unpack_leases(leases, shard, shapes),
            redis_leases.unpack_leases(over, shard, shapes),
            now_ms,
            next_ms,
        )

    async def swap(
        self, shard: int, epoch: int, swaps: Sequence[LeaseSwap], *, lease_ms: int
    ) -> Sequence[Lease | None]:
        """Give the places of leases to other requests."""
        names = await self._names.intern_entries(shard, epoch, (swap.request for swap in swaps))
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
        for part in _parts(ended) if ended else [ended]:
            [letters] = await self._calls.run("free", shard, epoch, args=[encode_ended(part)])
            endings += [
                OutcomeStatus.CURRENT if letter == ord("C") else OutcomeStatus.STALE for letter in letters
            ]
        return endings

    async def conclude(self, shard: int, epoch: int, conclusions: Sequence[EntryConclusion]) -> None:
        """Give entries their fates."""
        for part in _parts(conclusions) if conclusions else [conclusions]:
            scopes = ScopeNumbers()
            names = await self._names.intern_entries(shard, epoch, (each.entry for each in part))
            packed = encode_conclusions(part, names, scopes)
            await self._calls.run("conclude", shard, epoch, args=[packed, *scopes.names()])

    async def set_host_groups(self, shard: int, epoch: int, groups: Sequence[HostGroupState]) -> None:
        """Set delays, places and blocks."""
        await self._set_groups(shard, epoch, groups, also="")

    async def find_parked(self, shard: int, epoch: int, entry_ids: Sequence[str]) -> Sequence[bool]:
        """Say which entries are parked."""
        parked: list[bool] = []
        for part in _parts(entry_ids) if entry_ids else [entry_ids]:
            [letters] = await self._calls.run("parked", shard, epoch, args=[bytes.fromhex("".join(part))])
            parked += [letter == ord("1") for letter in letters]
        return parked

    async def refill(
        self, shard: int, epoch: int, entries: Sequence[EntryRecorded], *, part: LogPassPart
    ) -> int:
        """Queue what is parked and has room."""
        names = await self._names.intern_entries(shard, epoch, entries)
        args = [part.value, encode_refill(entries, names)]
        [opened] = await self._calls.run("refill", shard, epoch, args=args)
        return int(opened)

    async def prune_host_groups(self, shard: int, epoch: int) -> Sequence[str]:
        """Forget some groups that are idle."""
        [names] = await self._calls.run("prune", shard, epoch, args=[_PRUNED_PER_CALL])
        return [name.decode("utf-8", "surrogatepass") for name in names]

    async def forget_executions(
        self, shard: int, epoch: int, executions: Sequence[str], *, scopes: Sequence[str] = ()
    ) -> int:
        """Let go of executions that are over, and what is remembered here of their numbers."""
        forgotten = 0
        for part in _parts(executions) if executions else [executions]:
            told: list[str | bytes | int] = [len(part), *map(json.dumps, part), *scopes]
            try:
                [over] = await self._calls.run("forget", shard, epoch, args=told)
            finally:
                self._names.discard(shard)
            forgotten += over
        return forgotten

    async def run_counts(self, shard: int, epoch: int) -> Mapping[str, RunEntryCounts]:
        """Count entries by execution."""
        *_, counted = await self._calls.run("count", shard, epoch)
        found = {field.decode(): int(count) for field, count in zip(counted[::2], counted[1::2], strict=True)}
        executions = await self._names.executions(shard, {int(field[1:]) for field in found})
        named = sorted((executions[number], number) for number in {int(field[1:]) for field in found})
        return {
            execution: RunEntryCounts(found.get(f"o{number}", 0), found.get(f"a{number}", 0))
            for execution, number in named
        }

    async def scan(
        self, shard: int, epoch: int, *, cursor: int, limit: int, location: EntryLocation | None = None
    ) -> EntryScan:
        """Show open entries."""
        phase = "" if location is None else _PHASES[location]
        now_ms, go_on, slots = await self._calls.run("scan", shard, epoch, args=[cursor, limit, phase])
        tails = [split_slot(slot) for slot in slots]
        shapes = await self._names.shapes(shard, {shape_number(tail) for tail, _ in tails})
        entries = [unpack_tail(tail, shapes[shape_number(tail)], held_by=held) for tail, held in tails]
        places = [_PLACES[slot_phase(slot)] for slot in slots]
        return EntryScan(list(zip(entries, places, strict=True)), int(go_on), now_ms)

    async def stats(self, shard: int, epoch: int) -> ShardStats:
        """Say how full the shard is."""
        now_ms, *told, _ = await self._calls.run("count", shard, epoch)
        queued, leased, in_ring, groups, seen, *more = told
        return ShardStats(queued, leased, in_ring, groups, seen, now_ms, *more)

    async def discard_cache(self, shard: int) -> None:
        """Let go of what is remembered of a shard."""
        self._calls.discard(shard)
        self._names.discard(shard)

    def _renew(self, shard: int) -> None:
        self._calls.reset(shard)
        self._names.discard(shard)

    async def _set_groups(
        self, shard: int, epoch: int, groups: Sequence[HostGroupState], *, also: str
    ) -> None:
        for part in _parts(groups) if groups else [groups]:
            await self._calls.run("groups", shard, epoch, args=[encode_host_groups(part), also])

    async def _put_back(
        self, shard: int, epoch: int, recorded: Sequence[RecordedEntry], *, phase: int
    ) -> None:
        moulds = dict.fromkeys(each.shared for each in recorded)
        names = await self._names.intern_shapes(shard, epoch, (mould.shape for mould in moulds))
        scopes = ScopeNumbers()
        packed = encode_recorded(recorded, names, scopes, phase=phase)
        await self._calls.run("accept", shard, epoch, args=["load", packed, b"", *scopes.names()])

    async def _accept(
        self, shard: int, epoch: int, accepted: Sequence[AcceptedEntry], *, seen: Sequence[RefusedUrl] = ()
    ) -> None:
        scopes = ScopeNumbers()
        names = await self._names.intern_entries(shard, epoch, (each.entry for each in accepted))
        packed = encode_accepted(accepted, names, scopes)
        refused = encode_refused(seen, scopes)
        await self._calls.run("accept", shard, epoch, args=["accept", packed, refused, *scopes.names()])

    async def _known(self, shard: int, answer: Sequence[Any]) -> list[EntryLookupResult]:
        triples = list(zip(answer[::3], answer[1::3], answer[2::3], strict=True))
        slots = [split_slot(slot) if slot else None for slot, _, _ in triples]
        shapes = await self._names.shapes(shard, {shape_number(slot[0]) for slot in slots if slot})
        known: list[EntryLookupResult] = []
        for slot, (_, is_seen, token) in zip(slots, triples, strict=True):
            told = token.decode() if token else ""
            if slot is None:
                known.append(EntryLookupResult(_STANDINGS[is_seen], None, told))
                continue
            tail, held_by = slot
            entry = unpack_tail(tail, shapes[shape_number(tail)], held_by=held_by)
            known.append(EntryLookupResult(LookupStatus.OPEN, entry, told or entry.seed_token))
        return known


def _seen_batches_by_call(seen: Sequence[SeenBatch]) -> Iterator[list[SeenBatch]]:
    """Divide what was seen into calls."""
    some: list[SeenBatch] = []
    room = _SEEN_PER_CALL
    for each in seen:
        for first in range(0, len(each.fingerprints), _SEEN_PER_CALL):
            part = each.fingerprints[first : first + _SEEN_PER_CALL]
            if len(part) > room:
                yield some
                some, room = [], _SEEN_PER_CALL
            some.append(SeenBatch(each.seen_scope, each.seen_at_ms, part))
            room -= len(part)
    if some:
        yield some


def _parts(whole: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(whole), _ENTRIES_PER_CALL):
        yield whole[first : first + _ENTRIES_PER_CALL]
