"""Mutable records of entries, leases and host groups in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.models import HostGroupState, Lease, LeaseState
from strider.frontier.time_debts import NEVER, TURN_MS, TimeDebts
from strider.frontier.turns import FlowTurns, flow_of_paces, flow_of_queue, is_of_owner

from .flow_clocks import FlowClock, FlowClocks
from .paces import CountedPace, OpenPaces

NO_QUEUE: Final = -1
"""Due queue of a group that waits for an event, not for time."""


class EntryPhase(Enum):
    """Phase of an open entry."""

    QUEUED = auto()
    LEASED = auto()
    PIPELINE = auto()


class LeaseProgress(Enum):
    """Progress of a lease, apart from whether its request was started."""

    RUNNING = auto()
    """Its request may be made: it occupies a request slot of its group."""
    EXPIRED = auto()
    """It expired and is not concluded."""
    ENDED = auto()
    """Its outcome arrived and is not concluded."""


@dataclass(slots=True)
class EntrySlot:
    """An open entry."""

    entry: EntryRecorded
    phase: EntryPhase
    ticket: int = 0
    """Ticket of its queue item; items with other tickets are stale."""
    held_by: int = 0
    """Sequence of the lease that holds it; 0 for none."""
    last_ended: int = 0
    """Last sequence whose outcome was counted."""
    pace: CountedPace | None = None
    """Pace under which it counts in its group."""

    @property
    def sequence(self) -> int:
        """Sequence of the latest fetch, in flight or concluded."""
        return self.held_by or self.entry.fetch_sequence


@dataclass(slots=True)
class HeldLease:
    """A lease and the state that the port does not show."""

    sequence: int
    lease_id: str
    group: str
    entry_id: str
    entry: EntryRecorded
    issued_at_ms: int
    expires_at_ms: int
    is_standalone: bool = False
    state: LeaseState = LeaseState.ISSUED
    progress: LeaseProgress = LeaseProgress.RUNNING
    nonce: str = ""
    marked_at_us: int = 0

    def to_lease(self) -> Lease:
        """Return it as a model of the port."""
        return Lease(self.lease_id, self.entry, self.issued_at_ms, self.expires_at_ms, self.state)


@dataclass(slots=True)
class MemoryHostGroup:
    """A host group: the unit of politeness."""

    name: str
    default_delay_ms: int
    state: HostGroupState | None = None
    """As the scheduler has set it, with overrides of an operator or a source."""
    paces: OpenPaces = field(init=False)
    clocks: FlowClocks = field(default_factory=FlowClocks)
    debts: TimeDebts = field(default_factory=TimeDebts)
    delay_ms: int = 0
    max_in_flight: int = 1
    blocked_until_ms: int = 0
    """These three follow from state and paces (`apply_paces`)."""
    next_start_ms: int = 0
    """Earliest next request, by the requests that have ended."""
    provisional_next_start_ms: int = 0
    """Earliest next request, by the requests in flight whose start is not reported yet."""
    in_flight: int = 0
    unstarted: int = 0
    standalone_in_flight: int = 0
    """Standalone requests in flight: nothing else is released meanwhile."""
    queues: dict[int, deque[tuple[str, int]]] = field(default_factory=dict)
    """Entry ids with their tickets, by the number of their queue."""
    turns: FlowTurns = field(default_factory=FlowTurns)
    due_queue: int = NO_QUEUE
    """Queue of the next entry: the due order of the shard that the group is in."""
    due_since_ms: int = 0
    """Time since which it may be served there."""

    def __post_init__(self) -> None:
        self.paces = OpenPaces(self.default_delay_ms)
        self.apply_paces()

    def apply_paces(self) -> None:
        """Set delay, request limit and block: the strictest of the paces, unless they are overridden."""
        state = self.state or HostGroupState(self.name, None, None)
        delay_ms, before_ms = state.delay_ms, self.delay_ms
        delay_ms = self.paces.delay_ms if delay_ms is None else delay_ms
        self.delay_ms = max(delay_ms, state.least_delay_ms or 0)
        places = state.max_in_flight
        self.max_in_flight = self.paces.max_in_flight if places is None else places
        self.blocked_until_ms = state.blocked_until_ms
        if state.blocked_since_ms and (patience_ms := self.paces.patience_ms) is not None:
            self.blocked_until_ms = min(self.blocked_until_ms, state.blocked_since_ms + patience_ms)
        if self.delay_ms < before_ms:
            # A delay of a request in flight is never shortened: it counts from its latest possible start.
            self.next_start_ms = max(self.next_start_ms, self.provisional_next_start_ms)

    def hold_flow(self, queue: int, sequence: int) -> None:
        """Hold back the flow of a new lease of a queue, if it asks for more than the delay of the group."""
        is_delay_overridden = self.state is not None and self.state.delay_ms is not None
        delay_ms = 0 if is_delay_overridden else self.paces.flow_delay_ms(flow_of_paces(queue))
        if not is_of_owner(queue) and delay_ms > self.delay_ms:
            self.clocks.hold(flow_of_queue(queue), FlowClock(delay_ms, NEVER, sequence))

    def charge_time(self, queue: int, took_ms: int, now_ms: int) -> None:
        """Charge the flow of a queue for a request that held the group for longer than a turn."""
        turn_ms = max(TURN_MS, self.delay_ms)
        if took_ms > turn_ms:
            waiting = {flow_of_queue(each) for each, entries in self.queues.items() if entries}
            self.debts.charge(flow_of_queue(queue), took_ms, waiting, turn_ms=turn_ms, now_ms=now_ms)

    @property
    def eligible_at_ms(self) -> int:
        """Earliest next request, as far as time decides."""
        return max(self.next_start_ms, self.blocked_until_ms, self.provisional_next_start_ms)

    def queued(self, flow: int | None = None) -> int:
        """Return how many entries are queued; in one flow, if one is given."""
        return sum(len(each) for queue, each in self.queues.items() if flow in {None, flow_of_queue(queue)})

    def next_turn(self, now_ms: int) -> tuple[int, int]:
        """Return the queue of its next entry, if a request may start as far as limits decide, and when.

        A flow that is held back, or owes time, gives its turn to others.
        """
        eligible = self.eligible_at_ms
        is_free = self.in_flight < self.max_in_flight and not self.standalone_in_flight
        if not is_free or (self.delay_ms and self.unstarted):
            return NO_QUEUE, eligible
        starts = {
            queue: self.clocks.next_start_ms(flow_of_queue(queue))
            for queue, entries in self.queues.items()
            if entries
        }
        at_ms = first_ms = max(eligible, now_ms)
        while True:
            chosen, resume_ms = self._select(starts, at_ms)
            if chosen:
                return self.turns.next_queue(chosen), eligible if at_ms == first_ms else at_ms
            if resume_ms == NEVER:
                return NO_QUEUE, eligible
            at_ms = resume_ms

    def _select(self, starts: Mapping[int, int], at_ms: int) -> tuple[Sequence[int], int]:
        """Return the queues that may be served at a time, or none and when to select again."""
        ready = [queue for queue, start in starts.items() if start <= at_ms]
        chosen, again_ms = self.debts.select(
            ready, at_ms, last_flow=self.turns.latest, last_turn_ms=self.next_start_ms
        )
        return chosen, min((again_ms, *(start for start in starts.values() if start > at_ms)))
