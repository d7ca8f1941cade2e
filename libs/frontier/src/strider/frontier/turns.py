"""Turns: which queue is served next, so that neither a run nor a priority starves another.

Runs are divided into flows by a hash of their ids (stochastic fair queueing): one half for runs that owners
have named, one for those of raw senders, however many these name. Each lease goes to the other half in turn
where it has something due, in that to the next flow, and in that to a priority by its weight: 8, 4, 2, 1 for
3 to 0. What is not due gives its turn to others. Within a host group flows take turns in the same way; in a
flow the best priority comes first. Pure; the Redis functions have the same in `frontier_part_turns.lua`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from zlib import crc32

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import ADHOC_JOB_ID

from .constants import PRIORITIES, queue_priority

FLOWS_PER_HALF: Final = 32

PRIORITY_TURNS: Final = (3, 2, 3, 1, 3, 2, 3, 0, 3, 2, 3, 1, 3, 2, 3)
"""Priorities in the order in which they are served: 8, 4, 2 and 1 turns of 15."""

_RAW_RUNS: Final = (f"{ADHOC_JOB_ID}-", "raw.", "raw-")
"""Beginnings of the ids of runs that senders without a key may start."""


@lru_cache(maxsize=4_096)
def flow_of(execution_id: str) -> int:
    """Return the flow of a run: below 32 for one of an owner, from there on for one of a raw sender."""
    number = crc32(execution_id.encode("utf-8", "surrogatepass")) % FLOWS_PER_HALF
    return number + FLOWS_PER_HALF if execution_id.startswith(_RAW_RUNS) else number


def is_raw_flow(flow: int) -> bool:
    """Whether a flow is of raw senders."""
    return flow >= FLOWS_PER_HALF


def queue_number(execution_id: str, priority: int) -> int:
    """Return the number of a queue: its flow and its priority."""
    return flow_of(execution_id) * len(PRIORITIES) + priority


def queue_of(entry: EntryRecorded) -> int:
    """Return the number of the queue that an entry belongs to."""
    return queue_number(entry.execution_id, queue_priority(entry))


def flow_of_queue(queue: int) -> int:
    """Return the flow of a queue."""
    return queue // len(PRIORITIES)


def is_of_owner(queue: int) -> bool:
    """Whether a queue is of runs that owners have named."""
    return not is_raw_flow(flow_of_queue(queue))


def flow_of_paces(queue: int) -> int:
    """Return what the paces of a queue's entries count under: a flow of raw senders, or 0 for all owners."""
    return 0 if is_of_owner(queue) else flow_of_queue(queue)


def priority_of_queue(queue: int) -> int:
    """Return the priority of a queue."""
    return queue % len(PRIORITIES)


@dataclass(slots=True)
class FlowTurns:
    """Flows served last."""

    half: int = 1
    """Half that was served last; at first, an owner's run comes next."""
    last: list[int] = field(default_factory=lambda: [FLOWS_PER_HALF - 1, FLOWS_PER_HALF - 1])
    """Flow that each half was served last, without its half."""

    @property
    def latest(self) -> int:
        """Flow that was served last."""
        return self.half * FLOWS_PER_HALF + self.last[self.half]

    def next_flow(self, flows: Iterable[int]) -> int:
        """Return the flow that comes next."""
        return min(flows, key=self._distance)

    def serve(self, flow: int) -> None:
        """Count a turn of a flow."""
        self.half = flow // FLOWS_PER_HALF
        self.last[self.half] = flow % FLOWS_PER_HALF

    def next_queue(self, queues: Iterable[int]) -> int:
        """Return the best queue of the flow that comes next."""
        return min(
            queues, key=lambda queue: (self._distance(flow_of_queue(queue)), -priority_of_queue(queue))
        )

    def _distance(self, flow: int) -> int:
        half, number = divmod(flow, FLOWS_PER_HALF)
        return (half == self.half) * FLOWS_PER_HALF + (number - self.last[half] - 1) % FLOWS_PER_HALF


@dataclass(slots=True)
class QueueTurns:
    """Turns of a shard: of its flows, and of the priorities in each."""

    flows: FlowTurns = field(default_factory=FlowTurns)
    positions: dict[int, int] = field(default_factory=dict)
    """Place in the order of priorities, by flow."""

    def next_queue(self, due: Collection[int]) -> int:
        """Return the queue that comes next among those with something due."""
        flow = self.flows.next_flow({flow_of_queue(queue) for queue in due})
        at = self._next_position(flow, due)
        return flow * len(PRIORITIES) + PRIORITY_TURNS[at]

    def serve(self, queue: int, due: Collection[int]) -> None:
        """Count a turn of a queue that was next among these."""
        flow = flow_of_queue(queue)
        self.positions[flow] = (self._next_position(flow, due) + 1) % len(PRIORITY_TURNS)
        self.flows.serve(flow)

    def _next_position(self, flow: int, due: Collection[int]) -> int:
        """Return the first place of a priority that is due, from the current place of the flow on."""
        at, count = self.positions.get(flow, 0), len(PRIORITY_TURNS)
        places = ((at + step) % count for step in range(count))
        return next(place for place in places if flow * len(PRIORITIES) + PRIORITY_TURNS[place] in due)
