"""One shard in memory: leases, from the look at the queues to the fate of their entries.

Decides the same as the scripts of Redis, in the same order; asks no clock, is told the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice

from strider.contracts.generated.events import EntryRecorded

from .memory_entries import Entries, sequenced
from .memory_groups import Groups
from .memory_parked import Parked
from .memory_parts import Course, Group, Held, Phase
from .memory_seen import SeenSets
from .ports import (
    Conclusion,
    Ending,
    Figures,
    Freed,
    Lease,
    LeaseState,
    Mark,
    Marked,
    Release,
    Room,
    Swap,
)
from .rules import (
    EXPIRED_A_CALL,
    PRIORITIES,
    ROBOTS,
    START_GRACE_MS,
    UNDECIDED_MS,
    lease_id,
    lease_numbers,
)


class Shard:
    """Leases over entries and groups."""

    def __init__(self, number: int, *, default_delay_ms: int, visited_ttl_ms: int, room: Room) -> None:
        self.number = number
        self.epoch = 0
        self.is_ready = False
        self.is_loading = False
        self.sequence = 0
        self.groups = Groups(default_delay_ms=default_delay_ms)
        self.seen = SeenSets(visited_ttl_ms)
        self.entries = Entries(self.groups, self.seen, Parked(room))
        self._leases: dict[int, Held] = {}
        self._ends: list[tuple[int, int]] = []
        """When running leases end, with their sequences; a mark moves the end and leaves a place behind."""
        self._expired: dict[int, Held] = {}

    def release(self, now_ms: int, *, limit: int, lease_ms: int) -> Release:
        """Write leases for what is due."""
        self._expire(now_ms)
        self.entries.promote(now_ms)
        leases = [held.shown() for held in self._released(now_ms, limit=limit, lease_ms=lease_ms)]
        expired = [held.shown() for held in islice(self._expired.values(), EXPIRED_A_CALL)]
        return Release(leases, expired, now_ms, self._next_ms())

    def swap(self, swap: Swap, now_ms: int, *, lease_ms: int) -> Lease | None:
        """Give a lease's place to another request."""
        held = self._find(swap.lease_id)
        if held is None or held.course is not Course.RUNNING or held.state is not LeaseState.ISSUED:
            return None
        slot = self.entries.get(held.entry_id)
        if slot is None or slot.held_by != held.sequence:
            return None
        group = self.groups.get(held.group)
        self._drop(held)
        group.in_flight -= 1
        group.unstarted -= 1
        alone = self._lease(group, "", swap.request, is_alone=True, now_ms=now_ms, lease_ms=lease_ms)
        self.entries.queue(held.entry_id, now_ms, at_head=True)
        return alone.shown()

    def free(self, freed: Freed, now_ms: int) -> Ending:
        """End a request; its entry stays taken where the outcome counts."""
        held = self._find(freed.lease_id)
        if held is None:
            group = self.groups.get(freed.group)
            self.groups.pass_time(group, began_at_ms=min(freed.started_at_ms, now_ms), now_ms=now_ms)
            return self._late(freed, now_ms)
        self.groups.end(held, began_at_ms=_began(freed, held, now_ms), now_ms=now_ms)
        held.course = Course.ENDED
        self._wait_for_decision(held, now_ms)
        self._expired.pop(held.sequence, None)
        slot = self.entries.get(held.entry_id)
        if held.is_alone:
            return Ending.CURRENT
        if slot is None or slot.held_by != held.sequence:
            self._drop(held)
            return Ending.STALE
        slot.ended = held.sequence
        return Ending.CURRENT

    def conclude(self, conclusion: Conclusion, now_ms: int) -> None:
        """End the lease that is named, and give the entry its fate."""
        held = self._find(conclusion.lease_id)
        if held is not None:
            self._end_unasked(held, now_ms)
            self._drop(held)
        if conclusion.entry.kind == ROBOTS:
            return
        named = held.sequence if held is not None else 0
        had = self._leases.get(self.entries.conclude(conclusion, now_ms, named=named))
        if had is not None and had.course is not Course.RUNNING:
            self._drop(had)

    def mark(self, name: str, now_us: int, *, nonce: str, lease_ms: int) -> Mark:
        """Start a request, if its lease still stands."""
        held = self._find(name) if self.is_ready else None
        if held is None or held.course is not Course.RUNNING:
            return Mark(Marked.GONE, now_us)
        if held.state is LeaseState.STARTED:
            is_repeat = held.nonce == nonce
            return Mark(Marked.STARTED, held.marked_at_us) if is_repeat else Mark(Marked.GONE, now_us)
        if held.expires_at_ms <= now_us // 1000:
            return Mark(Marked.GONE, now_us)
        held.state, held.nonce, held.marked_at_us = LeaseState.STARTED, nonce, now_us
        held.expires_at_ms = now_us // 1000 + lease_ms
        heappush(self._ends, (held.expires_at_ms, held.sequence))
        self.groups.start(held, now_us // 1000)
        return Mark(Marked.STARTED, now_us)

    def figures(self, now_ms: int) -> Figures:
        """Say how full the shard is."""
        phases, parked = self.entries.phases, self.entries.parked
        return Figures(
            queued=phases[Phase.QUEUED],
            leased=len(self._leases),
            in_ring=phases[Phase.RING],
            groups=len(self.groups),
            seen=self.seen.count(now_ms),
            now_ms=now_ms,
            parked=len(parked.crowded),
            asleep=len(parked.asleep),
            hungry=parked.hungry(self.groups.get),
            wake_ms=parked.wake_ms,
            due=self.groups.count_due(now_ms),
        )

    def prune(self, now_ms: int) -> list[str]:
        """Forget groups that are idle."""
        return self.groups.prune(now_ms, is_needed=self.entries.parked.of_group)

    def _released(self, now_ms: int, *, limit: int, lease_ms: int) -> Iterator[Held]:
        for priority in PRIORITIES:
            while limit > 0 and (group := self.groups.first(priority)) and group.since_ms <= now_ms:
                if popped := self.entries.pop(group, priority):
                    limit -= 1
                    name, slot = popped
                    held = self._lease(
                        group, name, slot.entry, is_alone=False, now_ms=now_ms, lease_ms=lease_ms
                    )
                    self.entries.move(slot, Phase.LEASED)
                    slot.held_by = held.sequence
                    yield held
                self.groups.refresh(group, now_ms)

    def _lease(
        self, group: Group, name: str, entry: EntryRecorded, *, is_alone: bool, now_ms: int, lease_ms: int
    ) -> Held:
        self.sequence += 1
        held = Held(
            sequence=self.sequence,
            lease_id=lease_id(self.number, self.epoch, self.sequence),
            group=group.name,
            entry_id=name,
            entry=sequenced(entry, self.sequence),
            issued_at_ms=now_ms,
            expires_at_ms=now_ms + lease_ms,
            is_alone=is_alone,
        )
        self._leases[held.sequence] = held
        heappush(self._ends, (held.expires_at_ms, held.sequence))
        self.groups.begin(group, is_alone=is_alone)
        return held

    def _late(self, freed: Freed, now_ms: int) -> Ending:
        """Take an outcome whose lease is gone: it counts where nobody else has the entry."""
        slot, sequence = self.entries.get(freed.entry_id), lease_numbers(freed.lease_id)[1]
        if slot is None or slot.phase is not Phase.QUEUED or sequence <= slot.ended:
            return Ending.STALE
        if sequence in self._leases:
            return Ending.STALE
        entry = sequenced(slot.entry, sequence)
        held = Held(
            sequence, freed.lease_id, freed.group, freed.entry_id, entry, now_ms, now_ms, course=Course.ENDED
        )
        self._leases[sequence] = held
        self._wait_for_decision(held, now_ms)
        self.entries.move(slot, Phase.LEASED)
        slot.held_by = slot.ended = sequence
        return Ending.CURRENT

    def _wait_for_decision(self, held: Held, now_ms: int) -> None:
        """Give an outcome its time: should nothing be decided about it, its entry must not stay taken."""
        held.expires_at_ms = now_ms + UNDECIDED_MS
        heappush(self._ends, (held.expires_at_ms, held.sequence))

    def _expire(self, now_ms: int) -> None:
        while (first := self._first_end()) is not None and first <= now_ms:
            _, sequence = heappop(self._ends)
            held = self._leases[sequence]
            self._end_unasked(held, now_ms)
            held.course = Course.EXPIRED
            slot = self.entries.get(held.entry_id)
            if held.is_alone or (slot is not None and slot.held_by == sequence):
                self._expired[sequence] = held
            else:
                self._drop(held)

    def _end_unasked(self, held: Held, now_ms: int) -> None:
        """End a request whose beginning nobody has told: it began as late as it may have."""
        if held.course is not Course.RUNNING:
            return
        is_started = held.state is LeaseState.STARTED
        began = held.marked_at_us // 1000 + START_GRACE_MS if is_started else 0
        self.groups.end(held, began_at_ms=began, now_ms=now_ms)
        held.course = Course.ENDED

    def _first_end(self) -> int | None:
        while self._ends:
            end, sequence = self._ends[0]
            held = self._leases.get(sequence)
            if held is not None and held.course is not Course.EXPIRED and held.expires_at_ms == end:
                return end
            heappop(self._ends)
        return None

    def _next_ms(self) -> int | None:
        times = (self.groups.next_ms(), self.entries.later_ms(), self._first_end())
        return min((time for time in times if time is not None), default=None)

    def _find(self, name: str) -> Held | None:
        held = self._leases.get(lease_numbers(name)[1])
        return held if held is not None and held.lease_id == name else None

    def _drop(self, held: Held) -> None:
        self._leases.pop(held.sequence, None)
        self._expired.pop(held.sequence, None)


def _began(freed: Freed, held: Held, now_ms: int) -> int:
    """Say when a head was written: what is told cannot lie before its mark, nor in the future."""
    earliest = max(held.marked_at_us // 1000, held.issued_at_ms)
    return min(max(freed.started_at_ms, earliest), now_ms) if freed.started_at_ms else 0
