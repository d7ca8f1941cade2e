"""The scheduler's working set in Redis (or Valkey): one script call for each call of the port.

Large calls go in pieces. Decides nothing: what a call does is in the script of the same name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from strider.contracts.generated.events import EntryRecorded
from strider.runtime.clocks import SystemClock
from strider.runtime.ports import Clock
from strider.stores.redis import Redis

from . import redis_leases
from .packing import LEASED, QUEUED, RING, phase_of, shape_number, shape_of, tail_of, unpack_tail
from .ports import (
    Accepted,
    Conclusion,
    Counts,
    Ending,
    Figures,
    Freed,
    GroupState,
    Known,
    Lease,
    Place,
    Question,
    Recorded,
    Recounted,
    Release,
    Remembered,
    Room,
    Round,
    Scan,
    Seen,
    SeenThen,
    Standing,
    Swap,
    Taken,
)
from .recorded import by_run
from .redis_calls import ShardCalls
from .redis_names import NamesOfShards
from .redis_records import (
    Scopes,
    accepted_bytes,
    conclusion_bytes,
    filled,
    freed_bytes,
    group_bytes,
    question_bytes,
    recorded_bytes,
    refill_bytes,
    remembered_bytes,
    seen_bytes,
    swap_bytes,
)
from .rules import DEFAULT_DELAY_MS, EXPIRED_A_CALL, UNLIMITED, VISITED_TTL_MS, lease_id

_A_CALL: Final = 1000
"""Entries of one call: a few milliseconds in which the server does nothing else."""
_FILLED_A_CALL: Final = 4000
_DROPPED_A_CALL: Final = 2000
_PRUNED_A_CALL: Final = 100

_STANDINGS: Final = (Standing.UNKNOWN, Standing.SEEN, Standing.OPEN)
"""As `frontier_look` numbers them; what is open and has no slot is parked."""

_PLACES: Final = {QUEUED: Place.QUEUED, LEASED: Place.LEASED, RING: Place.RING}
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
        room: Room = UNLIMITED,
    ) -> None:
        self._room: list[str | bytes | int] = [
            room.group_entries,
            room.horizon_ms,
            room.full_percent,
            room.floor_entries,
        ]
        self._calls = ShardCalls(
            redis,
            clock or SystemClock(),
            default_delay_ms=default_delay_ms,
            visited_ttl_ms=visited_ttl_ms,
        )
        self._names = NamesOfShards(redis, self._calls)

    async def take(self, shard: int, epoch: int) -> Taken:
        """Become the owner."""
        now_ms, is_ready = await self._calls.run("take", shard, epoch, args=self._room)
        self._renew(shard)
        return Taken(bool(is_ready), now_ms)

    async def begin(self, shard: int, epoch: int) -> None:
        """Drop all there is, in pieces, and open the shard for `load`."""
        self._renew(shard)
        is_open = 0
        while not is_open:
            [is_open] = await self._calls.run("begin", shard, epoch, args=[*self._room, _DROPPED_A_CALL])

    async def load(
        self,
        shard: int,
        epoch: int,
        *,
        queued: Sequence[Recorded] = (),
        in_ring: Sequence[Recorded] = (),
        closed: Sequence[Remembered] = (),
        seen: Sequence[SeenThen] = (),
    ) -> None:
        """Put back what the log says."""
        for phase, loaded in ((QUEUED, queued), (RING, in_ring)):
            for part in _parts(loaded):
                await self._put_back(shard, epoch, part, phase=phase)
        await self.remember(shard, epoch, closed)
        for some in _filling(seen):
            await self._calls.run("fill", shard, epoch, args=filled(some))
        if not (queued or in_ring or closed or seen):
            await self._put_back(shard, epoch, (), phase=QUEUED)

    async def expect(self, shard: int, epoch: int, scopes: Mapping[str, int]) -> None:
        """Make room in the seen-sets of these scopes."""
        for part in _parts(list(scopes.items())):
            told = [each for scope, count in part for each in (scope, "", count)]
            await self._calls.run("fill", shard, epoch, args=told)

    async def recount(self, shard: int, epoch: int, runs: Sequence[Recounted]) -> None:
        """Put back how many entries were accepted; names what they share, by which runs are shown."""
        names = await self._names.ready_to_pack(shard, epoch, (each.like for each in runs))
        numbers = {each.like.execution_id: names.packers[shape_of(each.like)][1] for each in runs}
        totals = list(by_run(runs).items())
        for part in _parts(totals) if totals else [totals]:
            told = [each for run, entries in part for each in (numbers[run], entries)]
            await self._calls.run("recount", shard, epoch, args=told)

    async def tell(self, shard: int, epoch: int, share: float) -> None:
        """Say how far a rebuild is."""
        await self._calls.run("tell", shard, epoch, args=[round(share * 1000)])

    async def ready(self, shard: int, epoch: int, *, groups: Sequence[GroupState], sequence: int) -> None:
        """End a rebuild."""
        await self._set_groups(shard, epoch, groups, also="loading")
        await self._calls.run("ready", shard, epoch, args=[sequence])

    async def look(self, shard: int, epoch: int, questions: Sequence[Question]) -> Sequence[Known]:
        """Say what is known of entries."""
        known: list[Known] = []
        for part in _parts(questions) if questions else [questions]:
            scopes = Scopes()
            packed = question_bytes(part, scopes)
            answer = await self._calls.run("look", shard, epoch, args=[packed, *scopes.told()])
            known += await self._known(shard, answer)
        return known

    async def accept(
        self, shard: int, epoch: int, accepted: Sequence[Accepted], *, seen: Sequence[Seen] = ()
    ) -> None:
        """Queue entries that are not open; remember refusals."""
        for part in _parts(accepted) if accepted else [accepted]:
            await self._accept(shard, epoch, part, seen=seen[:_A_CALL])
            seen = seen[_A_CALL:]
        for refused in _parts(seen):
            await self._accept(shard, epoch, (), seen=refused)

    async def remember(self, shard: int, epoch: int, remembered: Sequence[Remembered]) -> None:
        """Take tokens; and what the log says is closed."""
        for part in _parts(remembered):
            scopes = Scopes()
            packed = remembered_bytes(part, scopes)
            await self._calls.run("remember", shard, epoch, args=[packed, *scopes.told()])

    async def release(self, shard: int, epoch: int, *, limit: int, lease_ms: int) -> Release:
        """Write leases for what is due; leases of an answer that was lost come first."""
        args = [limit, lease_ms, EXPIRED_A_CALL]
        answer = await self._calls.run("release", shard, epoch, args=args, same=b"any")
        now_ms, next_ms, given, expired = answer
        leases = redis_leases.given(given, epoch, now_ms=now_ms, lease_ms=lease_ms)
        over = redis_leases.expired(expired)
        shapes = await self._names.shapes(shard, {lease.shape for lease in (*leases, *over)})
        return Release(
            redis_leases.shown(leases, shard, shapes),
            redis_leases.shown(over, shard, shapes),
            now_ms,
            next_ms,
        )

    async def swap(
        self, shard: int, epoch: int, swaps: Sequence[Swap], *, lease_ms: int
    ) -> Sequence[Lease | None]:
        """Give the places of leases to other requests."""
        names = await self._names.ready_to_pack(shard, epoch, (swap.request for swap in swaps))
        args: list[bytes | int] = [swap_bytes(swaps, names), lease_ms]
        now_ms, *sequences = await self._calls.run("swap", shard, epoch, args=args)
        leases = []
        for sequence, swap in zip(sequences, swaps, strict=True):
            tail = names.pack(swap.request)
            request = unpack_tail(tail, names.shapes[shape_number(tail)], held_by=sequence)
            lease = Lease(lease_id(shard, epoch, sequence), request, now_ms, now_ms + lease_ms)
            leases.append(lease if sequence else None)
        return leases

    async def free(self, shard: int, epoch: int, freed: Sequence[Freed]) -> Sequence[Ending]:
        """End requests."""
        endings: list[Ending] = []
        for part in _parts(freed) if freed else [freed]:
            [letters] = await self._calls.run("free", shard, epoch, args=[freed_bytes(part)])
            endings += [Ending.CURRENT if letter == ord("C") else Ending.STALE for letter in letters]
        return endings

    async def conclude(self, shard: int, epoch: int, conclusions: Sequence[Conclusion]) -> None:
        """Give entries their fates."""
        for part in _parts(conclusions) if conclusions else [conclusions]:
            scopes = Scopes()
            names = await self._names.ready_to_pack(shard, epoch, (each.entry for each in part))
            packed = conclusion_bytes(part, names, scopes)
            await self._calls.run("conclude", shard, epoch, args=[packed, *scopes.told()])

    async def set_groups(self, shard: int, epoch: int, groups: Sequence[GroupState]) -> None:
        """Set delays, places and blocks."""
        await self._set_groups(shard, epoch, groups, also="")

    async def parked(self, shard: int, epoch: int, entry_ids: Sequence[str]) -> Sequence[bool]:
        """Say which entries are parked."""
        parked: list[bool] = []
        for part in _parts(entry_ids) if entry_ids else [entry_ids]:
            [letters] = await self._calls.run("parked", shard, epoch, args=[bytes.fromhex("".join(part))])
            parked += [letter == ord("1") for letter in letters]
        return parked

    async def refill(self, shard: int, epoch: int, entries: Sequence[EntryRecorded], *, part: Round) -> int:
        """Queue what is parked and has room."""
        names = await self._names.ready_to_pack(shard, epoch, entries)
        args = [part.value, refill_bytes(entries, names)]
        [opened] = await self._calls.run("refill", shard, epoch, args=args)
        return int(opened)

    async def prune(self, shard: int, epoch: int) -> Sequence[str]:
        """Forget some groups that are idle."""
        [names] = await self._calls.run("prune", shard, epoch, args=[_PRUNED_A_CALL])
        return [name.decode("utf-8", "surrogatepass") for name in names]

    async def forget(
        self, shard: int, epoch: int, executions: Sequence[str], *, scopes: Sequence[str] = ()
    ) -> int:
        """Let go of executions that are over, and what is remembered here of their numbers."""
        forgotten = 0
        for part in _parts(executions) if executions else [executions]:
            told: list[str | bytes | int] = [len(part), *map(json.dumps, part), *scopes]
            try:
                [over] = await self._calls.run("forget", shard, epoch, args=told)
            finally:
                self._names.forget(shard)
            forgotten += over
        return forgotten

    async def counts(self, shard: int, epoch: int) -> Mapping[str, Counts]:
        """Count entries by execution."""
        *_, counted = await self._calls.run("count", shard, epoch)
        found = {field.decode(): int(count) for field, count in zip(counted[::2], counted[1::2], strict=True)}
        executions = await self._names.executions(shard, {int(field[1:]) for field in found})
        named = sorted((executions[number], number) for number in {int(field[1:]) for field in found})
        return {
            execution: Counts(found.get(f"o{number}", 0), found.get(f"a{number}", 0))
            for execution, number in named
        }

    async def scan(
        self, shard: int, epoch: int, *, cursor: int, limit: int, place: Place | None = None
    ) -> Scan:
        """Show open entries."""
        phase = "" if place is None else _PHASES[place]
        now_ms, go_on, slots = await self._calls.run("scan", shard, epoch, args=[cursor, limit, phase])
        tails = [tail_of(slot) for slot in slots]
        shapes = await self._names.shapes(shard, {shape_number(tail) for tail, _ in tails})
        entries = [unpack_tail(tail, shapes[shape_number(tail)], held_by=held) for tail, held in tails]
        places = [_PLACES[phase_of(slot)] for slot in slots]
        return Scan(list(zip(entries, places, strict=True)), int(go_on), now_ms)

    async def figures(self, shard: int, epoch: int) -> Figures:
        """Say how full the shard is."""
        now_ms, *told, _ = await self._calls.run("count", shard, epoch)
        queued, leased, in_ring, groups, seen, *more = told
        return Figures(queued, leased, in_ring, groups, seen, now_ms, *more)

    async def drop(self, shard: int) -> None:
        """Let go of what is remembered of a shard."""
        self._calls.forget(shard)
        self._names.forget(shard)

    def _renew(self, shard: int) -> None:
        self._calls.renew(shard)
        self._names.forget(shard)

    async def _set_groups(self, shard: int, epoch: int, groups: Sequence[GroupState], *, also: str) -> None:
        for part in _parts(groups) if groups else [groups]:
            await self._calls.run("groups", shard, epoch, args=[group_bytes(part), also])

    async def _put_back(self, shard: int, epoch: int, recorded: Sequence[Recorded], *, phase: int) -> None:
        moulds = dict.fromkeys(each.mould for each in recorded)
        names = await self._names.ready_for(shard, epoch, (mould.shape for mould in moulds))
        scopes = Scopes()
        packed = recorded_bytes(recorded, names, scopes, phase=phase)
        await self._calls.run("accept", shard, epoch, args=["load", packed, b"", *scopes.told()])

    async def _accept(
        self, shard: int, epoch: int, accepted: Sequence[Accepted], *, seen: Sequence[Seen] = ()
    ) -> None:
        scopes = Scopes()
        names = await self._names.ready_to_pack(shard, epoch, (each.entry for each in accepted))
        packed = accepted_bytes(accepted, names, scopes)
        refused = seen_bytes(seen, scopes)
        await self._calls.run("accept", shard, epoch, args=["accept", packed, refused, *scopes.told()])

    async def _known(self, shard: int, answer: Sequence[Any]) -> list[Known]:
        triples = list(zip(answer[::3], answer[1::3], answer[2::3], strict=True))
        slots = [tail_of(slot) if slot else None for slot, _, _ in triples]
        shapes = await self._names.shapes(shard, {shape_number(slot[0]) for slot in slots if slot})
        known: list[Known] = []
        for slot, (_, is_seen, token) in zip(slots, triples, strict=True):
            told = token.decode() if token else ""
            if slot is None:
                known.append(Known(_STANDINGS[is_seen], None, told))
                continue
            tail, held_by = slot
            entry = unpack_tail(tail, shapes[shape_number(tail)], held_by=held_by)
            known.append(Known(Standing.OPEN, entry, told or entry.seed_token))
        return known


def _filling(seen: Sequence[SeenThen]) -> Iterator[list[SeenThen]]:
    """Divide what was seen into calls."""
    some: list[SeenThen] = []
    room = _FILLED_A_CALL
    for each in seen:
        for first in range(0, len(each.fingerprints), _FILLED_A_CALL):
            part = each.fingerprints[first : first + _FILLED_A_CALL]
            if len(part) > room:
                yield some
                some, room = [], _FILLED_A_CALL
            some.append(SeenThen(each.seen_scope, each.seen_at_ms, part))
            room -= len(part)
    if some:
        yield some


def _parts(whole: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(whole), _A_CALL):
        yield whole[first : first + _A_CALL]
