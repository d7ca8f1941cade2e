"""Parked entries of a shard: only in the log, and known to be there.

Two kinds: overflow waits for room in its host group, deferred waits until it is nearly due. Knows neither
queues nor executions; a parked entry is open all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.constants import PRIORITIES
from strider.frontier.models import LogPassPart, QueueLimits
from strider.frontier.turns import flow_of_queue, priority_of_queue, queue_of

from .models import MemoryHostGroup

_REFILL_THRESHOLD: Final = 1_000
"""Queued entries of a group without a limit, below which it is refillable."""


class ParkedEntries:
    """Parked entries of one shard."""

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self.overflow: dict[str, str] = {}
        """Host groups by the ids of their overflow entries."""
        self.deferred: set[str] = set()
        self.next_deferred_due_ms = 0
        self._pass_deferred_due_ms = 0
        self._overflow_by_group: dict[str, int] = {}

    def __contains__(self, name: object) -> bool:
        return name in self.overflow or name in self.deferred

    def park_if_needed(self, entry: EntryRecorded, name: str, group: MemoryHostGroup, now_ms: int) -> bool:
        """Park an entry without room, or that is due too late; False where it can be queued."""
        if self.defer_if_far(entry, name, now_ms):
            return True
        if not self._is_crowded(entry, group):
            return False
        self.overflow[name] = group.name
        self._overflow_by_group[group.name] = self.overflow_of_group(group.name) + 1
        return True

    def defer_if_far(self, entry: EntryRecorded, name: str, now_ms: int) -> bool:
        """Park an entry that is due too late."""
        if not self._is_far(entry, now_ms):
            return False
        self.deferred.add(name)
        self.next_deferred_due_ms = min(self.next_deferred_due_ms or entry.due_at_ms, entry.due_at_ms)
        self._pass_deferred_due_ms = min(self._pass_deferred_due_ms or entry.due_at_ms, entry.due_at_ms)
        return True

    def unpark_if_capacity(
        self, entry: EntryRecorded, name: str, group: MemoryHostGroup, now_ms: int
    ) -> bool:
        """Unpark an entry that can be queued now; False where it is not parked, or stays so."""
        if name in self.deferred:
            self.deferred.discard(name)
        elif name in self.overflow and (self._is_far(entry, now_ms) or not self._is_crowded(entry, group)):
            del self.overflow[name]
            self._decrement_group(group.name)
        else:
            return False
        return not self.park_if_needed(entry, name, group, now_ms)

    def remove_closed(self, name: str) -> bool:
        """Drop an overflow entry because it is closed; False where there is none."""
        group = self.overflow.pop(name, None)
        if group is not None:
            self._decrement_group(group)
        return group is not None

    def refill_in_pass(self, part: LogPassPart, refill: Callable[[], int]) -> int:
        """Refill as a part of a pass through the log, at whose end the next deferred due time is known."""
        if part in (LogPassPart.BEGIN, LogPassPart.WHOLE):
            self._pass_deferred_due_ms = 0
        opened = refill()
        if part in (LogPassPart.END, LogPassPart.WHOLE):
            self.next_deferred_due_ms = self._pass_deferred_due_ms
        return opened

    def overflow_of_group(self, group: str) -> int:
        """Return the number of overflow entries of a group."""
        return self._overflow_by_group.get(group, 0)

    def count_refillable_groups(self, group_of: Callable[[str], MemoryHostGroup]) -> int:
        """Return the number of groups with overflow and few queued entries."""
        few = self._limits.entries_per_group // 4 if self._limits.entries_per_group else _REFILL_THRESHOLD
        return sum(group_of(name).queued() <= few for name in self._overflow_by_group)

    def _decrement_group(self, group: str) -> None:
        self._overflow_by_group[group] -= 1
        if not self._overflow_by_group[group]:
            del self._overflow_by_group[group]

    def _is_far(self, entry: EntryRecorded, now_ms: int) -> bool:
        horizon_ms = self._limits.horizon_ms
        return horizon_ms > 0 and entry.due_at_ms > now_ms + horizon_ms

    def _is_crowded(self, entry: EntryRecorded, group: MemoryHostGroup) -> bool:
        most = self._limits.entries_per_group
        queue = queue_of(entry)
        room = (2 if priority_of_queue(queue) == PRIORITIES[0] else 1) * most
        return most > 0 and group.queued(flow_of_queue(queue)) >= room
