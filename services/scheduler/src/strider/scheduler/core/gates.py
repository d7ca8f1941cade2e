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

SHARD: Final = "shard"


class Gate(NamedTuple):
    """A group that reads a topic, and whom its lag holds back."""

    group: str
    topic: str
    is_own: bool
    """Whether a shard is held back by its own partition alone."""


GATES: Final = tuple(
    Gate(reader.group, topic.name, reader.gates == SHARD)
    for topic in TOPICS.values()
    for reader in topic.read_by
    if reader.gates != "none" and reader.group is not None
)
"""The closed list."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What had not been read at a moment."""

    waiting: Mapping[Gate, Sequence[int]]
    """Messages by partition."""
    since: float
    """Monotonic time at which counting began: what was asked for later is not in it."""

    @property
    def of_ring(self) -> int:
        """Count what holds every shard back."""
        slowest: dict[str, int] = {}
        for gate, waiting in self.waiting.items():
            if not gate.is_own:
                slowest[gate.topic] = max(slowest.get(gate.topic, 0), sum(waiting))
        return sum(slowest.values())

    @property
    def slowest(self) -> Gate:
        """Name who holds every shard back most."""
        return max(
            (gate for gate in self.waiting if not gate.is_own), key=lambda gate: sum(self.waiting[gate])
        )

    def of_shard(self, shard: int) -> int:
        """Count what holds one shard back."""
        own = (waiting for gate, waiting in self.waiting.items() if gate.is_own)
        return sum(waiting[shard] for waiting in own if shard < len(waiting))

    def credits(self, shard: int, *, shards: int, most: int) -> int:
        """Give how many requests a shard may release before the next count.

        Rounded up, so that no share is none while there is room: all shards together may go beyond
        `most` by fewer than there are shards.
        """
        of_ring = -(-(most - self.of_ring) // shards)
        of_shard = -(-most // shards) - self.of_shard(shard)
        return max(0, min(of_ring, of_shard))


class Spent:
    """The credits that a shard has used, by when its requests had been spoken."""

    def __init__(self) -> None:
        self._spent: deque[tuple[float, int]] = deque()

    def spend(self, count: int, *, now: float) -> None:
        """Note requests that are on their topic now."""
        if count:
            self._spent.append((now, count))

    def since(self, moment: float) -> int:
        """Count those that a count of the backlog which began then may have missed; forget the others."""
        while self._spent and self._spent[0][0] < moment:
            self._spent.popleft()
        return sum(count for _, count in self._spent)
