"""One shard in memory: leases, from release to the disposition of their entries.

Decides the same as the Redis functions, in the same order; has no clock, the time is an argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.constants import (
    MAX_EXPIRED_PER_CALL,
    OUTCOME_DECISION_MS,
    ROBOTS_KIND,
    START_TOLERANCE_MS,
    lease_id,
    parse_lease_id,
)
from strider.frontier.models import (
    EndedRequest,
    EntryConclusion,
    Lease,
    LeaseState,
    LeaseSwap,
    OutcomeStatus,
    QueueLimits,
    ReleaseResult,
    ShardStats,
    StartMark,
    StartResult,
)
from strider.frontier.turns import QueueTurns, flow_of_queue, queue_of

from .entries import ShardEntries, with_sequence
from .host_groups import HostGroups
from .models import EntryPhase, HeldLease, LeaseProgress, MemoryHostGroup
from .parked import ParkedEntries
from .seen import SeenSets


class MemoryShard:
    """Leases over the entries and host groups of a shard."""

    def __init__(
        self, number: int, *, default_delay_ms: int, visited_ttl_ms: int, limits: QueueLimits
    ) -> None:
        self.number = number
        self.epoch = 0
        self.cluster = ""
        """Kafka cluster that the epoch is of."""
        self.is_ready = False
        self.is_loading = False
        self.sequence = 0
        self.groups = HostGroups(default_delay_ms=default_delay_ms)
        self.seen = SeenSets(visited_ttl_ms)
        self.entries = ShardEntries(self.groups, self.seen, ParkedEntries(limits))
        self._turns = QueueTurns()
        self._leases: dict[int, HeldLease] = {}
        self._ends: list[tuple[int, int]] = []
        """Ends of running leases with their sequences; a start mark moves the end and leaves a stale item."""
        self._expired: dict[int, HeldLease] = {}

    def release(self, now_ms: int, *, limit: int, lease_ms: int, reserved: int) -> ReleaseResult:
        """Issue leases for due entries."""
        self._expire(now_ms)
        self.entries.promote(now_ms)
        due = self._release_due(now_ms, limit=limit, lease_ms=lease_ms, reserved=reserved)
        leases = [held.to_lease() for held in due]
        expired = [held.to_lease() for held in islice(self._expired.values(), MAX_EXPIRED_PER_CALL)]
        return ReleaseResult(leases, expired, now_ms, self._next_due_ms(owners_only=limit <= 0))

    def swap(self, swap: LeaseSwap, now_ms: int, *, lease_ms: int) -> Lease | None:
        """Replace a lease by one for another request."""
        held = self._find_lease(swap.lease_id)
        if held is None or held.progress is not LeaseProgress.RUNNING or held.state is not LeaseState.ISSUED:
            return None
        slot = self.entries.get(held.entry_id)
        if slot is None or slot.held_by != held.sequence:
            return None
        group = self.groups.get(held.group)
        self._drop_lease(held)
        group.in_flight -= 1
        group.unstarted -= 1
        group.clocks.end(held.sequence, 0)
        alone = self._lease(group, "", swap.request, is_alone=True, now_ms=now_ms, lease_ms=lease_ms)
        self.entries.queue(held.entry_id, now_ms, at_head=True)
        return alone.to_lease()

    def end_request(self, ended: EndedRequest, now_ms: int) -> OutcomeStatus:
        """End a request; its entry stays held where the outcome counts."""
        held = self._find_lease(ended.lease_id)
        if held is None:
            group = self.groups.get(ended.group)
            self.groups.apply_delay(group, began_at_ms=min(ended.started_at_ms, now_ms), now_ms=now_ms)
            return self._accept_late_outcome(ended, now_ms)
        self._charge_time(held, now_ms)
        self.groups.end_lease(held, began_at_ms=_clamp_start(ended, held, now_ms), now_ms=now_ms)
        held.progress = LeaseProgress.ENDED
        self._await_decision(held, now_ms)
        self._expired.pop(held.sequence, None)
        slot = self.entries.get(held.entry_id)
        if held.is_standalone:
            return OutcomeStatus.CURRENT
        if slot is None or slot.held_by != held.sequence:
            self._drop_lease(held)
            return OutcomeStatus.STALE
        slot.last_ended = held.sequence
        return OutcomeStatus.CURRENT

    def conclude(self, conclusion: EntryConclusion, now_ms: int) -> None:
        """End the named lease and apply the disposition to its entry."""
        held = self._find_lease(conclusion.lease_id)
        if held is not None:
            self._end_unreported(held, now_ms)
            self._drop_lease(held)
        if conclusion.entry.kind == ROBOTS_KIND:
            return
        named = held.sequence if held is not None else 0
        had = self._leases.get(self.entries.conclude(conclusion, now_ms, named=named))
        if had is not None and had.progress is not LeaseProgress.RUNNING:
            self._drop_lease(had)

    def mark_started(self, name: str, now_us: int, *, nonce: str, lease_ms: int) -> StartMark:
        """Mark a request as started, if its lease still stands."""
        held = self._find_lease(name) if self.is_ready else None
        if held is None or held.progress is not LeaseProgress.RUNNING:
            return StartMark(StartResult.GONE, now_us)
        if held.state is LeaseState.STARTED:
            is_repeat = held.nonce == nonce
            return (
                StartMark(StartResult.STARTED, held.marked_at_us)
                if is_repeat
                else StartMark(StartResult.GONE, now_us)
            )
        if held.expires_at_ms <= now_us // 1000:
            return StartMark(StartResult.GONE, now_us)
        held.state, held.nonce, held.marked_at_us = LeaseState.STARTED, nonce, now_us
        held.expires_at_ms = now_us // 1000 + lease_ms
        heappush(self._ends, (held.expires_at_ms, held.sequence))
        self.groups.mark_started(held, now_us // 1000)
        return StartMark(StartResult.STARTED, now_us)

    def stats(self, now_ms: int) -> ShardStats:
        """Return the counters of the shard."""
        phases, parked = self.entries.phases, self.entries.parked
        return ShardStats(
            queued=phases[EntryPhase.QUEUED],
            leased=len(self._leases),
            in_pipeline=phases[EntryPhase.PIPELINE],
            host_groups=len(self.groups),
            seen=self.seen.count(now_ms),
            now_ms=now_ms,
            overflow=len(parked.overflow),
            deferred=len(parked.deferred),
            refillable_groups=parked.count_refillable_groups(self.groups.get),
            next_deferred_due_ms=parked.next_deferred_due_ms,
            due_groups=self.groups.count_due(now_ms),
        )

    def prune_host_groups(self, now_ms: int) -> list[str]:
        """Drop idle host groups."""
        return self.groups.prune(now_ms, is_needed=self.entries.parked.overflow_of_group)

    def _release_due(self, now_ms: int, *, limit: int, lease_ms: int, reserved: int) -> Iterator[HeldLease]:
        left = limit + reserved
        while left > 0 and (due := self.groups.due_queues(now_ms, owners_only=left <= reserved)):
            queue = self._turns.next_queue(due)
            group = due[queue]
            if popped := self.entries.pop(group, queue):
                left -= 1
                name, slot = popped
                held = self._lease(group, name, slot.entry, is_alone=False, now_ms=now_ms, lease_ms=lease_ms)
                self.entries.move(slot, EntryPhase.LEASED)
                slot.held_by = held.sequence
                group.hold_flow(queue, held.sequence)
                self._turns.serve(queue, due)
                group.turns.serve(flow_of_queue(queue))
                yield held
            self.groups.reschedule(group, now_ms)

    def _lease(
        self,
        group: MemoryHostGroup,
        name: str,
        entry: EntryRecorded,
        *,
        is_alone: bool,
        now_ms: int,
        lease_ms: int,
    ) -> HeldLease:
        self.sequence += 1
        held = HeldLease(
            sequence=self.sequence,
            lease_id=lease_id(self.number, self.epoch, self.sequence),
            group=group.name,
            entry_id=name,
            entry=with_sequence(entry, self.sequence),
            issued_at_ms=now_ms,
            expires_at_ms=now_ms + lease_ms,
            is_standalone=is_alone,
        )
        self._leases[held.sequence] = held
        heappush(self._ends, (held.expires_at_ms, held.sequence))
        self.groups.add_lease(group, is_alone=is_alone)
        return held

    def _charge_time(self, held: HeldLease, now_ms: int) -> None:
        """Charge the flow of a request that has ended for the time that it held its group."""
        is_running = held.progress is LeaseProgress.RUNNING and held.state is LeaseState.STARTED
        slot = self.entries.get(held.entry_id)
        entry = held.entry if held.is_standalone or slot is None else slot.entry
        if is_running and (held.is_standalone or slot is not None):
            took_ms = now_ms - held.marked_at_us // 1000
            self.groups.get(held.group).charge_time(queue_of(entry), took_ms, now_ms)

    def _accept_late_outcome(self, ended: EndedRequest, now_ms: int) -> OutcomeStatus:
        """Accept an outcome whose lease is gone: it counts where no other lease holds the entry."""
        slot, sequence = self.entries.get(ended.entry_id), parse_lease_id(ended.lease_id)[1]
        if slot is None or slot.phase is not EntryPhase.QUEUED or sequence <= slot.last_ended:
            return OutcomeStatus.STALE
        if sequence in self._leases:
            return OutcomeStatus.STALE
        entry = with_sequence(slot.entry, sequence)
        held = HeldLease(
            sequence,
            ended.lease_id,
            ended.group,
            ended.entry_id,
            entry,
            now_ms,
            now_ms,
            progress=LeaseProgress.ENDED,
        )
        self._leases[sequence] = held
        self._await_decision(held, now_ms)
        self.entries.move(slot, EntryPhase.LEASED)
        slot.held_by = slot.last_ended = sequence
        return OutcomeStatus.CURRENT

    def _await_decision(self, held: HeldLease, now_ms: int) -> None:
        """Limit the time for a conclusion: without one the entry must not stay held."""
        held.expires_at_ms = now_ms + OUTCOME_DECISION_MS
        heappush(self._ends, (held.expires_at_ms, held.sequence))

    def _expire(self, now_ms: int) -> None:
        while (first := self._first_end()) is not None and first <= now_ms:
            _, sequence = heappop(self._ends)
            held = self._leases[sequence]
            self._end_unreported(held, now_ms)
            held.progress = LeaseProgress.EXPIRED
            slot = self.entries.get(held.entry_id)
            if held.is_standalone or (slot is not None and slot.held_by == sequence):
                self._expired[sequence] = held
            else:
                self._drop_lease(held)

    def _end_unreported(self, held: HeldLease, now_ms: int) -> None:
        """End a request whose start was not reported: it started as late as it may have."""
        if held.progress is not LeaseProgress.RUNNING:
            return
        is_started = held.state is LeaseState.STARTED
        began = held.marked_at_us // 1000 + START_TOLERANCE_MS if is_started else 0
        self.groups.end_lease(held, began_at_ms=began, now_ms=now_ms)
        held.progress = LeaseProgress.ENDED

    def _first_end(self) -> int | None:
        while self._ends:
            end, sequence = self._ends[0]
            held = self._leases.get(sequence)
            if held is not None and held.progress is not LeaseProgress.EXPIRED and held.expires_at_ms == end:
                return end
            heappop(self._ends)
        return None

    def _next_due_ms(self, *, owners_only: bool) -> int | None:
        times = (
            self.groups.next_due_ms(owners_only=owners_only),
            self.entries.next_due_ms(),
            self._first_end(),
        )
        return min((time for time in times if time is not None), default=None)

    def _find_lease(self, name: str) -> HeldLease | None:
        held = self._leases.get(parse_lease_id(name)[1])
        return held if held is not None and held.lease_id == name else None

    def _drop_lease(self, held: HeldLease) -> None:
        self._leases.pop(held.sequence, None)
        self._expired.pop(held.sequence, None)


def _clamp_start(ended: EndedRequest, held: HeldLease, now_ms: int) -> int:
    """Return when a head was written: a reported time is neither before the mark nor in the future."""
    earliest = max(held.marked_at_us // 1000, held.issued_at_ms)
    return min(max(ended.started_at_ms, earliest), now_ms) if ended.started_at_ms else 0
