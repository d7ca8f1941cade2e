"""How much may be released, given how far behind the services of the ring are?

Which groups count is what topics declare (`gates`): `release` holds back every shard, `shard` the one
whose partition waits. A page is on one topic at a time, so what waits on all of them together is what
the ring still has to hold; where two groups read one topic the slower one counts. Pure. Knows offsets
as numbers of messages, and no broker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from strider.contracts.generated.topics import TOPICS

GATES_ONE_SHARD: Final = "shard"


class LagGate(NamedTuple):
    """A group that reads a topic, and whom its lag holds back."""

    group: str
    topic: str
    is_per_shard: bool
    """Whether a shard is held back by its own partition alone."""


GATES: Final = tuple(
    LagGate(reader.group, topic.name, reader.gates == GATES_ONE_SHARD)
    for topic in TOPICS.values()
    for reader in topic.read_by
    if reader.gates != "none" and reader.group is not None
)
"""The closed list."""


@dataclass(frozen=True, slots=True)
class PipelineBacklog:
    """What had not been read at a moment."""

    unread: Mapping[LagGate, Sequence[int]]
    """Messages by partition."""
    counted_from: float
    """Monotonic time at which counting began: what was asked for later is not in it."""

    @property
    def of_pipeline(self) -> int:
        """Count what holds every shard back."""
        slowest: dict[str, int] = {}
        for gate, waiting in self.unread.items():
            if not gate.is_per_shard:
                slowest[gate.topic] = max(slowest.get(gate.topic, 0), sum(waiting))
        return sum(slowest.values())

    @property
    def slowest_gate(self) -> LagGate:
        """Name who holds every shard back most."""
        return max(
            (gate for gate in self.unread if not gate.is_per_shard), key=lambda gate: sum(self.unread[gate])
        )

    def of_shard(self, shard: int) -> int:
        """Count what holds one shard back."""
        own = (waiting for gate, waiting in self.unread.items() if gate.is_per_shard)
        return sum(waiting[shard] for waiting in own if shard < len(waiting))

    def release_credits(self, shard: int, *, shards: int, max_lag: int) -> int:
        """Give how many requests a shard may release before the next count.

        Rounded up, so that no share is none while there is room: all shards together may go beyond
        `most` by fewer than there are shards.
        """
        of_pipeline = -(-(max_lag - self.of_pipeline) // shards)
        of_shard = -(-max_lag // shards) - self.of_shard(shard)
        return max(0, min(of_pipeline, of_shard))


class SpentCredits:
    """The credits that a shard has used, by when its requests had been spoken."""

    def __init__(self) -> None:
        self._spent: deque[tuple[float, int]] = deque()

    def spend(self, count: int, *, now: float) -> None:
        """Note requests that are on their topic now."""
        if count:
            self._spent.append((now, count))

    def spent_since(self, moment: float) -> int:
        """Count those that a count of the backlog which began then may have missed; forget the others."""
        while self._spent and self._spent[0][0] < moment:
            self._spent.popleft()
        return sum(count for _, count in self._spent)
