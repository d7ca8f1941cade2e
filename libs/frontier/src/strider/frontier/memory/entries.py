"""Open entries of a shard in memory, and their moves between queues, leases and pipeline.

Decides the same as the Redis functions, in the same order; has no clock, the time is an argument.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id, key_fingerprint
from strider.frontier.models import (
    AcceptedEntry,
    EntryConclusion,
    EntryDisposition,
    EntryLocation,
    EntryLookup,
    EntryLookupResult,
    HostPace,
    LookupStatus,
    RefusedFingerprint,
    RunEntryCounts,
    SeenBatch,
    SeenEntry,
)
from strider.frontier.rebuild_records import RecordedEntry
from strider.frontier.turns import flow_of_paces, queue_of

from .flow_clocks import FlowClock
from .host_groups import HostGroups
from .models import EntryPhase, EntrySlot, MemoryHostGroup
from .paces import CountedPace
from .parked import ParkedEntries
from .seen import SeenSets

_LOCATIONS: Final = {
    EntryPhase.QUEUED: EntryLocation.QUEUED,
    EntryPhase.LEASED: EntryLocation.LEASED,
    EntryPhase.PIPELINE: EntryLocation.PIPELINE,
}


class ShardEntries:
    """Open entries of a shard, where each waits, and which URLs were seen."""

    def __init__(self, groups: HostGroups, seen: SeenSets, parked: ParkedEntries) -> None:
        self.parked = parked
        self.groups = groups
        self.seen = seen
        self.phases = {EntryPhase.QUEUED: 0, EntryPhase.LEASED: 0, EntryPhase.PIPELINE: 0}
        self._slots: dict[str, EntrySlot] = {}
        self._delayed: list[tuple[int, int, str]] = []
        """Due time, ticket, entry id."""
        self._tickets = 0
        self._open: defaultdict[str, int] = defaultdict(int)
        self._accepted: defaultdict[str, int] = defaultdict(int)

    def get(self, name: str) -> EntrySlot | None:
        """Return an open entry."""
        return self._slots.get(name)

    def lookup(self, wanted: EntryLookup, now_ms: int) -> EntryLookupResult:
        """Return what is known of an entry."""
        token = self.seen.token(wanted.entry_id, now_ms)
        if slot := self._slots.get(wanted.entry_id):
            return EntryLookupResult(
                LookupStatus.OPEN, with_latest_sequence(slot), token or slot.entry.seed_token
            )
        if wanted.entry_id in self.parked:
            return EntryLookupResult(LookupStatus.OPEN, None, token)
        sets = self.seen.sets_of(wanted.seen_scope, now_ms)
        is_seen = any(wanted.fingerprint in known for known in sets)
        return EntryLookupResult(LookupStatus.SEEN if is_seen else LookupStatus.UNKNOWN, None, token)

    def accept(
        self, accepted: Iterable[AcceptedEntry], now_ms: int, *, paces: Mapping[str, HostPace]
    ) -> None:
        """Queue entries that are not open."""
        for each in accepted:
            entry = each.entry
            name = entry_id(entry.job_id, entry.url_key)
            self.seen.add(each.seen_scope, each.fingerprint, seen_at_ms=now_ms, now_ms=now_ms)
            self.seen.store_token(name, entry.seed_token, seen_at_ms=now_ms, now_ms=now_ms)
            if name in self._slots or name in self.parked:
                continue
            self._accepted[entry.execution_id] += 1
            self._open_entry(EntryPhase.QUEUED, name, entry, now_ms, pace=paces.get(entry.crawl_spec_id))

    def refill(self, entries: Iterable[EntryRecorded], now_ms: int, *, paces: Mapping[str, HostPace]) -> int:
        """Queue parked entries that have room now; return how many."""
        opened = 0
        for entry in entries:
            name = entry_id(entry.job_id, entry.url_key)
            group = self.groups.get(entry.group)
            if self.parked.unpark_if_capacity(entry, name, group, now_ms):
                pace = paces.get(entry.crawl_spec_id)
                counted = (
                    None
                    if pace is None
                    else self.groups.reopen_pace(group, pace, flow_of_paces(queue_of(entry)), now_ms)
                )
                self._add_slot(EntryPhase.QUEUED, name, entry, counted)
                self.queue(name, now_ms)
                opened += 1
        return opened

    def record_refused(self, seen: Iterable[RefusedFingerprint], now_ms: int) -> None:
        """Record URLs that were refused for good."""
        for each in seen:
            self.seen.add(each.seen_scope, each.fingerprint, seen_at_ms=now_ms, now_ms=now_ms)

    def load(
        self,
        loaded: Iterable[RecordedEntry],
        phase: EntryPhase,
        now_ms: int,
        *,
        paces: Mapping[str, HostPace],
    ) -> None:
        """Load entries that are open according to the log."""
        for each in loaded:
            entry, fingerprint = each.to_event(), key_fingerprint(each.url_key)
            name = entry_id(entry.job_id, entry.url_key)
            self.seen.add(each.shared.seen_scope, fingerprint, seen_at_ms=now_ms, now_ms=now_ms)
            self.seen.store_token(name, entry.seed_token, seen_at_ms=now_ms, now_ms=now_ms)
            if name in self._slots or name in self.parked:
                continue
            pace = paces.get(entry.crawl_spec_id)
            if pace is not None and (flow := flow_of_paces(queue_of(entry))) and pace.delay_ms is not None:
                # When the flow's last request was made is not known after a rebuild.
                clock = FlowClock(pace.delay_ms, now_ms + pace.delay_ms)
                self.groups.get(entry.group).clocks.hold(flow, clock)
            self._open_entry(phase, name, entry, now_ms, pace=pace)

    def record_seen(self, loaded: Iterable[SeenEntry], now_ms: int) -> None:
        """Load entries that are known and not open."""
        for each in loaded:
            when = each.seen_at_ms
            self.seen.add(each.seen_scope, each.fingerprint, seen_at_ms=when, now_ms=now_ms)
            self.seen.store_token(each.entry_id, each.seed_token, seen_at_ms=when, now_ms=now_ms)

    def load_seen_batches(self, loaded: Iterable[SeenBatch], now_ms: int) -> None:
        """Load URLs that were seen according to the log."""
        for scope, seen_at_ms, fingerprints in loaded:
            for fingerprint in fingerprints:
                self.seen.add(scope, fingerprint, seen_at_ms=seen_at_ms, now_ms=now_ms)

    def set_accepted_counts(self, accepted: Mapping[str, int]) -> None:
        """Load the numbers of accepted entries, by execution."""
        self._accepted.update(accepted)

    def queue(self, name: str, now_ms: int, *, at_head: bool = False) -> None:
        """Queue an entry, or delay it until it is due; its older queue item becomes stale."""
        slot = self._slots[name]
        self.move(slot, EntryPhase.QUEUED)
        slot.held_by = 0
        self._tickets += 1
        slot.ticket = self._tickets
        if slot.entry.due_at_ms > now_ms and not at_head:
            heappush(self._delayed, (slot.entry.due_at_ms, slot.ticket, name))
            return
        group = self.groups.get(slot.entry.group)
        queue = group.queues.setdefault(queue_of(slot.entry), deque())
        (queue.appendleft if at_head else queue.append)((name, slot.ticket))
        self.groups.reschedule(group, now_ms)

    def promote(self, now_ms: int) -> None:
        """Queue the delayed entries that are due."""
        while (due := self.next_due_ms()) is not None and due <= now_ms:
            _, ticket, name = heappop(self._delayed)
            entry = self._slots[name].entry
            group = self.groups.get(entry.group)
            group.queues.setdefault(queue_of(entry), deque()).append((name, ticket))
            self.groups.reschedule(group, now_ms)

    def next_due_ms(self) -> int | None:
        """Return when the first delayed entry is due."""
        while self._delayed:
            due, ticket, name = self._delayed[0]
            if self._is_queued(name, ticket):
                return due
            heappop(self._delayed)
        return None

    def pop(self, group: MemoryHostGroup, queue: int) -> tuple[str, EntrySlot] | None:
        """Remove and return the first entry of a queue of a host group."""
        waiting, found = group.queues[queue], None
        while waiting and found is None:
            name, ticket = waiting.popleft()
            if self._is_queued(name, ticket):
                found = name, self._slots[name]
        if not waiting:
            del group.queues[queue]
        return found

    def move(self, slot: EntrySlot, phase: EntryPhase) -> None:
        """Change the phase of an entry."""
        self.phases[slot.phase] -= 1
        self.phases[phase] += 1
        slot.phase = phase

    def conclude(self, conclusion: EntryConclusion, now_ms: int, *, named: int) -> int:
        """Apply a disposition, unless a later fetch has the entry; return the sequence that held it."""
        entry = conclusion.entry
        name = entry_id(entry.job_id, entry.url_key)
        slot = self._slots.get(name)
        is_closed = conclusion.disposition in (EntryDisposition.CLOSE, EntryDisposition.CLOSE_AND_FORGET)
        if slot is None:
            if is_closed and not conclusion.lease_id and self.parked.remove_closed(name):
                flow = flow_of_paces(queue_of(entry))
                self.groups.close_pace(self.groups.get(entry.group), None, flow, now_ms)
                self._record_closed(name, conclusion, now_ms)
                self._open[entry.execution_id] -= 1
            return 0
        held_by = slot.held_by
        if entry.fetch_sequence < slot.sequence and not (held_by and held_by == named):
            return 0
        if is_closed:
            self._close(name, slot, conclusion, now_ms)
        else:
            self._update_open(name, slot, conclusion, now_ms)
        return held_by

    def scan(self, place: EntryLocation | None = None) -> list[tuple[EntryRecorded, EntryLocation]]:
        """Return the open entries at one location, or all."""
        found = ((slot, _LOCATIONS[slot.phase]) for slot in self._slots.values())
        return [(with_latest_sequence(slot), where) for slot, where in found if place in {None, where}]

    def run_counts(self) -> Mapping[str, RunEntryCounts]:
        """Return the number of entries by execution."""
        return {
            execution: RunEntryCounts(self._open[execution], self._accepted[execution])
            for execution in sorted({*self._open, *self._accepted})
        }

    def forget_executions(self, executions: Iterable[str]) -> int:
        """Drop the counters of executions without open entries; return of how many."""
        known = {*self._open, *self._accepted}
        over = [run for run in executions if run in known and not self._open.get(run)]
        for run in over:
            self._open.pop(run, None)
            self._accepted.pop(run, None)
        return len(over)

    def _open_entry(
        self, phase: EntryPhase, name: str, entry: EntryRecorded, now_ms: int, *, pace: HostPace | None
    ) -> None:
        group = self.groups.get(entry.group)
        self._open[entry.execution_id] += 1
        flow = flow_of_paces(queue_of(entry))
        counted = None if pace is None else self.groups.open_pace(group, pace, flow, now_ms)
        if phase is not EntryPhase.QUEUED:
            self._add_slot(phase, name, entry, counted)
        elif not self.parked.park_if_needed(entry, name, group, now_ms):
            self._add_slot(phase, name, entry, counted)
            self.queue(name, now_ms)

    def _add_slot(
        self, phase: EntryPhase, name: str, entry: EntryRecorded, counted: CountedPace | None
    ) -> None:
        self._slots[name] = EntrySlot(entry, phase, last_ended=entry.fetch_sequence, pace=counted)
        self.phases[phase] += 1

    def _close(self, name: str, slot: EntrySlot, conclusion: EntryConclusion, now_ms: int) -> None:
        self.phases[slot.phase] -= 1
        self._open[slot.entry.execution_id] -= 1
        del self._slots[name]
        if slot.pace is not None:
            flow = flow_of_paces(queue_of(slot.entry))
            self.groups.close_pace(self.groups.get(slot.entry.group), slot.pace, flow, now_ms)
        self._record_closed(name, conclusion, now_ms)

    def _record_closed(self, name: str, conclusion: EntryConclusion, now_ms: int) -> None:
        scope, fingerprint = conclusion.seen_scope, conclusion.fingerprint
        if conclusion.disposition is EntryDisposition.CLOSE_AND_FORGET:
            self.seen.forget(scope, fingerprint, name)
        else:
            self.seen.add(scope, fingerprint, seen_at_ms=now_ms, now_ms=now_ms)

    def _update_open(self, name: str, slot: EntrySlot, conclusion: EntryConclusion, now_ms: int) -> None:
        before, entry = slot.entry, conclusion.entry
        slot.entry = entry
        self._open[before.execution_id] -= 1
        self._open[entry.execution_id] += 1
        if conclusion.disposition is EntryDisposition.PIPELINE:
            self.move(slot, EntryPhase.PIPELINE)
            slot.held_by = 0
        elif self.parked.defer_if_far(entry, name, now_ms):
            self.phases[slot.phase] -= 1
            del self._slots[name]
        elif slot.phase is not EntryPhase.QUEUED or _queue_position(before) != _queue_position(entry):
            self.queue(name, now_ms)

    def _is_queued(self, name: str, ticket: int) -> bool:
        slot = self._slots.get(name)
        return slot is not None and slot.phase is EntryPhase.QUEUED and slot.ticket == ticket


def with_latest_sequence(slot: EntrySlot) -> EntryRecorded:
    """Return an entry with the sequence of its latest fetch, in flight or concluded."""
    if slot.sequence == slot.entry.fetch_sequence:
        return slot.entry
    return with_sequence(slot.entry, slot.sequence)


def with_sequence(entry: EntryRecorded, sequence: int) -> EntryRecorded:
    """Return an entry with another fetch sequence."""
    return replace_fields(entry, fetch_sequence=sequence)


def known(entries: ShardEntries, questions: Sequence[EntryLookup], now_ms: int) -> list[EntryLookupResult]:
    """Return the results of lookups, in their order."""
    return [entries.lookup(question, now_ms) for question in questions]


def _queue_position(entry: EntryRecorded) -> tuple[int, int]:
    return queue_of(entry), entry.due_at_ms
