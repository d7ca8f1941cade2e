"""Which group is served next: clocks, places, and four orders of those that are due.

Heaps with deserted places that are skipped when they come up, so that no call looks at all groups.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from .memory_parts import NOWHERE, Course, Group, Held
from .ports import GroupState, LeaseState
from .rules import PRIORITIES, START_GRACE_MS

_SPARE_PLACES = 64


class Groups:
    """All groups of a shard."""

    def __init__(self, *, default_delay_ms: int) -> None:
        self._default_delay_ms = default_delay_ms
        self._groups: dict[str, Group] = {}
        self._due: tuple[list[tuple[int, str]], ...] = tuple([] for _ in PRIORITIES)

    def __len__(self) -> int:
        return len(self._groups)

    def get(self, name: str) -> Group:
        """Give a group, new where it is not known."""
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = Group(name, self._default_delay_ms)
        return group

    def set(self, state: GroupState, now_ms: int) -> None:
        """Set what holds for a group."""
        group = self.get(state.group)
        group.delay_ms = state.delay_ms
        group.places = state.max_in_flight
        group.blocked_until_ms = state.blocked_until_ms
        group.clock_ms = max(group.clock_ms, state.not_before_ms)
        self.refresh(group, now_ms)

    def refresh(self, group: Group, now_ms: int) -> None:
        """Put a group into the order where it belongs now; first come, first served."""
        best, eligible = group.best, group.eligible_at_ms
        is_waiting = group.rank != NOWHERE and group.since_ms <= now_ms and eligible <= now_ms
        since = group.since_ms if is_waiting else max(eligible, now_ms)
        if best == NOWHERE or (best, since) == (group.rank, group.since_ms):
            group.rank = best
            return
        group.rank, group.since_ms = best, since
        due = self._due[best]
        heappush(due, (since, group.name))
        if len(due) > 2 * len(self._groups) + _SPARE_PLACES:
            due[:] = {place for place in due if self._is_held(best, place)}
            heapify(due)

    def first(self, priority: int) -> Group | None:
        """Give the group that is, or will be, served first at a priority."""
        due = self._due[priority]
        while due:
            if self._is_held(priority, due[0]):
                return self._groups[due[0][1]]
            heappop(due)
        return None

    def begin(self, group: Group, *, is_alone: bool) -> None:
        """Note a new lease."""
        group.in_flight += 1
        group.unstarted += 1
        group.holds += is_alone

    def start(self, lease: Held, now_ms: int) -> None:
        """Note that a request is started; its head may yet take its grace."""
        group = self.get(lease.group)
        group.unstarted -= 1
        if group.delay_ms:  # without a delay nothing depends on when it begins
            group.provisional_ms = max(group.provisional_ms, now_ms + START_GRACE_MS + group.delay_ms)
        self.refresh(group, now_ms)

    def end(self, lease: Held, *, began_at_ms: int, now_ms: int) -> None:
        """Give the lease's place free, if it still has it, and move the clock where a head was written."""
        group = self.get(lease.group)
        if lease.course is Course.RUNNING:
            group.in_flight -= 1
            group.unstarted -= lease.state is LeaseState.ISSUED
            group.holds -= lease.is_alone
            if not group.in_flight:
                group.provisional_ms = 0
        self.pass_time(group, began_at_ms=began_at_ms, now_ms=now_ms)

    def pass_time(self, group: Group, *, began_at_ms: int, now_ms: int) -> None:
        """Let a request's beginning push the next one by the delay; 0 for none."""
        if began_at_ms:
            group.clock_ms = max(group.clock_ms, began_at_ms + group.delay_ms)
        self.refresh(group, now_ms)

    def next_ms(self) -> int | None:
        """Say when the first group is due."""
        firsts = [group.since_ms for priority in PRIORITIES if (group := self.first(priority))]
        return min(firsts, default=None)

    def count_due(self, now_ms: int) -> int:
        """Count groups of which a request could begin now."""
        return sum(group.rank != NOWHERE and group.since_ms <= now_ms for group in self._groups.values())

    def prune(self, now_ms: int, *, is_needed: Callable[[str], int]) -> list[str]:
        """Forget groups that have nothing queued or under way, and whose clocks have passed; name them."""
        idle = [
            name
            for name, group in self._groups.items()
            if group.eligible_at_ms <= now_ms
            and not (group.in_flight or group.holds or any(group.queues) or is_needed(name))
        ]
        for name in idle:
            del self._groups[name]
        return idle

    def _is_held(self, priority: int, place: tuple[int, str]) -> bool:
        group = self._groups.get(place[1])
        return group is not None and (group.rank, group.since_ms) == (priority, place[0])
