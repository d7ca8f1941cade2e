"""What is parked in a shard: only in the log, and known to be there.

Two kinds: what waits for room in its group, and what sleeps until it is nearly due. Knows neither
queues nor executions; an entry that is parked is open all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from strider.contracts.generated.events import EntryRecorded

from .memory_parts import Group
from .ports import Room, Round
from .rules import PRIORITIES, rank

_FEW: Final = 1_000
"""Entries of a group without a limit, below which it is hungry."""


class Parked:
    """Of one shard."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.crowded: dict[str, str] = {}
        """Groups, by the ids of their entries that wait for room."""
        self.asleep: set[str] = set()
        self.wake_ms = 0
        self._next_wake_ms = 0
        self._by_group: dict[str, int] = {}

    def __contains__(self, name: object) -> bool:
        return name in self.crowded or name in self.asleep

    def takes(self, entry: EntryRecorded, name: str, group: Group, now_ms: int) -> bool:
        """Park an entry for which there is no room, or that is due too late; False where it can be queued."""
        if self.sleeps(entry, name, now_ms):
            return True
        if not self._is_crowded(entry, group):
            return False
        self.crowded[name] = group.name
        self._by_group[group.name] = self.of_group(group.name) + 1
        return True

    def sleeps(self, entry: EntryRecorded, name: str, now_ms: int) -> bool:
        """Park an entry that is due too late."""
        if not self._is_far(entry, now_ms):
            return False
        self.asleep.add(name)
        self.wake_ms = min(self.wake_ms or entry.due_at_ms, entry.due_at_ms)
        self._next_wake_ms = min(self._next_wake_ms or entry.due_at_ms, entry.due_at_ms)
        return True

    def gives(self, entry: EntryRecorded, name: str, group: Group, now_ms: int) -> bool:
        """Let go of an entry that can be queued now; False where it is not parked, or stays so."""
        if name in self.asleep:
            self.asleep.discard(name)
        elif name in self.crowded and (self._is_far(entry, now_ms) or not self._is_crowded(entry, group)):
            del self.crowded[name]
            self._leave(group.name)
        else:
            return False
        return not self.takes(entry, name, group, now_ms)

    def drops(self, name: str) -> bool:
        """Let go of an entry that waits for room, because it is closed; False where it does not wait."""
        group = self.crowded.pop(name, None)
        if group is not None:
            self._leave(group)
        return group is not None

    def walk(self, part: Round, refill: Callable[[], int]) -> int:
        """Refill as a part of a round through the log, at whose end it is known who wakes first."""
        if part in (Round.BEGIN, Round.WHOLE):
            self._next_wake_ms = 0
        opened = refill()
        if part in (Round.END, Round.WHOLE):
            self.wake_ms = self._next_wake_ms
        return opened

    def of_group(self, group: str) -> int:
        """Count the entries of a group that wait for room."""
        return self._by_group.get(group, 0)

    def hungry(self, group_of: Callable[[str], Group]) -> int:
        """Count the groups that have entries parked, and few queued."""
        few = self._room.group_entries // 4 if self._room.group_entries else _FEW
        return sum(_queued(group_of(name)) <= few for name in self._by_group)

    def _leave(self, group: str) -> None:
        self._by_group[group] -= 1
        if not self._by_group[group]:
            del self._by_group[group]

    def _is_far(self, entry: EntryRecorded, now_ms: int) -> bool:
        horizon_ms = self._room.horizon_ms
        return horizon_ms > 0 and entry.due_at_ms > now_ms + horizon_ms

    def _is_crowded(self, entry: EntryRecorded, group: Group) -> bool:
        most = self._room.group_entries
        return most > 0 and _queued(group) >= (2 if rank(entry) == PRIORITIES[0] else 1) * most


def _queued(group: Group) -> int:
    return sum(len(queue) for queue in group.queues)
