"""Host groups in memory: delay clocks, request limits, and the order of due groups.

Heaps with stale items that are skipped when they reach the top, so that no call reads all groups.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from strider.contracts.fast_dataclass import replace_fields
from strider.frontier.constants import START_TOLERANCE_MS
from strider.frontier.models import HostGroupState, HostPace, LeaseState
from strider.frontier.turns import is_of_owner

from .models import NO_QUEUE, HeldLease, LeaseProgress, MemoryHostGroup
from .paces import CountedPace

_SPARE_HEAP_ITEMS = 64


class HostGroups:
    """All host groups of a shard."""

    def __init__(self, *, default_delay_ms: int) -> None:
        self._default_delay_ms = default_delay_ms
        self._groups: dict[str, MemoryHostGroup] = {}
        self._due: dict[int, list[tuple[int, str]]] = {}
        """Due orders, by the number of the queue of their groups' next entries."""

    def __len__(self) -> int:
        return len(self._groups)

    def get(self, name: str) -> MemoryHostGroup:
        """Return a group; a new one where it is unknown."""
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = MemoryHostGroup(name, self._default_delay_ms)
        return group

    def set(self, state: HostGroupState, now_ms: int) -> None:
        """Apply the state that the scheduler sets, with its overrides."""
        group = self.get(state.group)
        if state.least_delay_ms is None:
            before = group.state
            state = replace_fields(state, least_delay_ms=before.least_delay_ms if before else 0)
        group.state = state
        group.apply_paces()
        group.next_start_ms = max(group.next_start_ms, state.not_before_ms)
        self.apply_delay(group, began_at_ms=state.started_at_ms, now_ms=now_ms)

    def open_pace(self, group: MemoryHostGroup, pace: HostPace, flow: int, now_ms: int) -> CountedPace:
        """Count an open entry of a group under its pace."""
        counted = group.paces.open(pace, flow)
        group.apply_paces()
        self.reschedule(group, now_ms)
        return counted

    def reopen_pace(self, group: MemoryHostGroup, pace: HostPace, flow: int, now_ms: int) -> CountedPace:
        """Return the pace of an entry that was counted before it was parked."""
        counted = group.paces.reopen(pace, flow)
        group.apply_paces()
        self.reschedule(group, now_ms)
        return counted

    def close_pace(self, group: MemoryHostGroup, counted: CountedPace | None, flow: int, now_ms: int) -> None:
        """End the count of an entry that is closed."""
        group.paces.close(counted, flow)
        group.apply_paces()
        self.reschedule(group, now_ms)

    def reschedule(self, group: MemoryHostGroup, now_ms: int) -> None:
        """Put a group into the due order of its next entry; first come, first served."""
        best, eligible = group.next_turn(now_ms)
        is_waiting = group.due_queue != NO_QUEUE and group.due_since_ms <= now_ms and eligible <= now_ms
        since = group.due_since_ms if is_waiting else max(eligible, now_ms)
        if best == NO_QUEUE or (best, since) == (group.due_queue, group.due_since_ms):
            group.due_queue = best
            return
        group.due_queue, group.due_since_ms = best, since
        due = self._due.setdefault(best, [])
        heappush(due, (since, group.name))
        if len(due) > 2 * len(self._groups) + _SPARE_HEAP_ITEMS:
            due[:] = {place for place in due if self._is_current(best, place)}
            heapify(due)

    def first(self, queue: int) -> MemoryHostGroup | None:
        """Return the group that is, or will be, served first of those whose next entry is in a queue."""
        due = self._due.get(queue, [])
        while due:
            if self._is_current(queue, due[0]):
                return self._groups[due[0][1]]
            heappop(due)
        self._due.pop(queue, None)
        return None

    def due_queues(self, now_ms: int, *, owners_only: bool) -> dict[int, MemoryHostGroup]:
        """Return the first group of each queue of which one is due."""
        firsts = {queue: self.first(queue) for queue in self._queues(owners_only=owners_only)}
        return {queue: group for queue, group in firsts.items() if group and group.due_since_ms <= now_ms}

    def add_lease(self, group: MemoryHostGroup, *, is_alone: bool) -> None:
        """Count a new lease."""
        group.in_flight += 1
        group.unstarted += 1
        group.standalone_in_flight += is_alone

    def mark_started(self, lease: HeldLease, now_ms: int) -> None:
        """Count a started request, which may use its whole start tolerance."""
        group = self.get(lease.group)
        group.unstarted -= 1
        if group.delay_ms:  # without a delay nothing depends on when it begins
            group.provisional_next_start_ms = max(
                group.provisional_next_start_ms, now_ms + START_TOLERANCE_MS + group.delay_ms
            )
        self.reschedule(group, now_ms)

    def end_lease(self, lease: HeldLease, *, began_at_ms: int, now_ms: int) -> None:
        """Free the lease's slot, if it still has one, and move the clock where a head was written."""
        group = self.get(lease.group)
        if lease.progress is LeaseProgress.RUNNING:
            group.in_flight -= 1
            group.unstarted -= lease.state is LeaseState.ISSUED
            group.standalone_in_flight -= lease.is_standalone
            group.clocks.end(lease.sequence, began_at_ms)
            if not group.in_flight:
                group.provisional_next_start_ms = 0
        self.apply_delay(group, began_at_ms=began_at_ms, now_ms=now_ms)

    def apply_delay(self, group: MemoryHostGroup, *, began_at_ms: int, now_ms: int) -> None:
        """Move the earliest next request to start + delay; a start of 0 moves nothing."""
        if began_at_ms:
            group.next_start_ms = max(group.next_start_ms, began_at_ms + group.delay_ms)
        self.reschedule(group, now_ms)

    def next_due_ms(self, *, owners_only: bool) -> int | None:
        """Return when the first group is due."""
        queues = self._queues(owners_only=owners_only)
        firsts = [group.due_since_ms for queue in queues if (group := self.first(queue))]
        return min(firsts, default=None)

    def count_due(self, now_ms: int) -> int:
        """Return the number of groups of which a request could start now."""
        return sum(
            group.due_queue != NO_QUEUE and group.due_since_ms <= now_ms for group in self._groups.values()
        )

    def prune(self, now_ms: int, *, is_needed: Callable[[str], int]) -> list[str]:
        """Drop groups without open entries, requests or a running delay; return their names."""
        idle = [
            name
            for name, group in self._groups.items()
            if group.eligible_at_ms <= now_ms
            and not (group.in_flight or group.standalone_in_flight or group.queued())
            and not (group.paces or is_needed(name))
            and group.clocks.is_over(now_ms)
            and group.debts.is_over(now_ms)
        ]
        for name in idle:
            del self._groups[name]
        return idle

    def _queues(self, *, owners_only: bool) -> list[int]:
        return [queue for queue in self._due if not owners_only or is_of_owner(queue)]

    def _is_current(self, queue: int, place: tuple[int, str]) -> bool:
        group = self._groups.get(place[1])
        return group is not None and (group.due_queue, group.due_since_ms) == (queue, place[0])
