"""What memory keeps of an entry, a lease and a group. Plain mutable parts; the rules are elsewhere."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.constants import PRIORITIES
from strider.frontier.models import Lease, LeaseState

NO_QUEUE: Final = -1
"""Rank of a group that waits for nothing but an event."""


class EntryPhase(Enum):
    """Where an open entry is."""

    QUEUED = auto()
    LEASED = auto()
    PIPELINE = auto()


class LeaseProgress(Enum):
    """How far a lease has gone, beside whether its request was started."""

    RUNNING = auto()
    """Its request may be made: it holds a place of its group."""
    EXPIRED = auto()
    """It ran out, and nobody has said yet what becomes of its entry."""
    ENDED = auto()
    """Its outcome is here, and nobody has said yet what becomes of its entry."""


@dataclass(slots=True)
class EntrySlot:
    """An open entry."""

    entry: EntryRecorded
    phase: EntryPhase
    ticket: int = 0
    """Of its place in a queue; places with other tickets are deserted."""
    held_by: int = 0
    """Sequence of the lease that has it; 0 for none."""
    last_ended: int = 0
    """Last sequence whose outcome was counted."""

    @property
    def sequence(self) -> int:
        """The latest fetch, under way or concluded."""
        return self.held_by or self.entry.fetch_sequence


@dataclass(slots=True)
class HeldLease:
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
    progress: LeaseProgress = LeaseProgress.RUNNING
    nonce: str = ""
    marked_at_us: int = 0

    def to_lease(self) -> Lease:
        """Give it as the port has it."""
        return Lease(self.lease_id, self.entry, self.issued_at_ms, self.expires_at_ms, self.state)


@dataclass(slots=True)
class HostGroup:
    """What politeness is about."""

    name: str
    delay_ms: int
    max_in_flight: int = 1
    blocked_until_ms: int = 0
    clock_ms: int = 0
    """No request before, by those that have ended."""
    provisional_next_start_ms: int = 0
    """No request before, by those that are under way and have not told when they began."""
    in_flight: int = 0
    unstarted: int = 0
    standalone_in_flight: int = 0
    """Lone requests under way: nothing else goes out meanwhile."""
    queues: tuple[deque[tuple[str, int]], ...] = field(
        default_factory=lambda: tuple(deque() for _ in PRIORITIES)
    )
    """Entry ids with their tickets, by priority."""
    due_priority: int = NO_QUEUE
    """In which of the shard's orders it waits."""
    due_since_ms: int = 0
    """From when on it may be served there."""

    @property
    def eligible_at_ms(self) -> int:
        """When the next request may go out, as far as time decides it."""
        return max(self.clock_ms, self.blocked_until_ms, self.provisional_next_start_ms)

    @property
    def best_priority(self) -> int:
        """Priority of its best entry, if one may go out as far as places decide it."""
        is_free = self.in_flight < self.max_in_flight and not self.standalone_in_flight
        if not is_free or (self.delay_ms and self.unstarted):
            return NO_QUEUE
        for priority in PRIORITIES:
            if self.queues[priority]:
                return priority
        return NO_QUEUE
