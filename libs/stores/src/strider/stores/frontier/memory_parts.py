"""What memory keeps of an entry, a lease and a group. Plain mutable parts; the rules are elsewhere."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from strider.contracts.generated.events import EntryRecorded

from .ports import Lease, LeaseState
from .rules import PRIORITIES

NOWHERE: Final = -1
"""Rank of a group that waits for nothing but an event."""


class Phase(Enum):
    """Where an open entry is."""

    QUEUED = auto()
    LEASED = auto()
    RING = auto()


class Course(Enum):
    """How far a lease has gone, beside whether its request was started."""

    RUNNING = auto()
    """Its request may be made: it holds a place of its group."""
    EXPIRED = auto()
    """It ran out, and nobody has said yet what becomes of its entry."""
    ENDED = auto()
    """Its outcome is here, and nobody has said yet what becomes of its entry."""


@dataclass(slots=True)
class Slot:
    """An open entry."""

    entry: EntryRecorded
    phase: Phase
    ticket: int = 0
    """Of its place in a queue; places with other tickets are deserted."""
    held_by: int = 0
    """Sequence of the lease that has it; 0 for none."""
    ended: int = 0
    """Last sequence whose outcome was counted."""

    @property
    def sequence(self) -> int:
        """The latest fetch, under way or concluded."""
        return self.held_by or self.entry.fetch_sequence


@dataclass(slots=True)
class Held:
    """A lease."""

    sequence: int
    lease_id: str
    group: str
    entry_id: str
    entry: EntryRecorded
    issued_at_ms: int
    expires_at_ms: int
    is_alone: bool = False
    state: LeaseState = LeaseState.ISSUED
    course: Course = Course.RUNNING
    nonce: str = ""
    marked_at_us: int = 0

    def shown(self) -> Lease:
        """Give it as the port has it."""
        return Lease(self.lease_id, self.entry, self.issued_at_ms, self.expires_at_ms, self.state)


@dataclass(slots=True)
class Group:
    """What politeness is about."""

    name: str
    delay_ms: int
    places: int = 1
    blocked_until_ms: int = 0
    clock_ms: int = 0
    """No request before, by those that have ended."""
    provisional_ms: int = 0
    """No request before, by those that are under way and have not told when they began."""
    in_flight: int = 0
    unstarted: int = 0
    holds: int = 0
    """Lone requests under way: nothing else goes out meanwhile."""
    queues: tuple[deque[tuple[str, int]], ...] = field(
        default_factory=lambda: tuple(deque() for _ in PRIORITIES)
    )
    """Entry ids with their tickets, by priority."""
    rank: int = NOWHERE
    """In which of the shard's orders it waits."""
    since_ms: int = 0
    """From when on it may be served there."""

    @property
    def eligible_at_ms(self) -> int:
        """When the next request may go out, as far as time decides it."""
        return max(self.clock_ms, self.blocked_until_ms, self.provisional_ms)

    @property
    def best(self) -> int:
        """Priority of its best entry, if one may go out as far as places decide it."""
        is_free = self.in_flight < self.places and not self.holds
        if not is_free or (self.delay_ms and self.unstarted):
            return NOWHERE
        for priority in PRIORITIES:
            if self.queues[priority]:
                return priority
        return NOWHERE
