"""Backpressure: how many requests may be released, given the lag of the pipeline's services.

Which consumer groups count is declared with their topics (`gates`): `release` holds back every shard, `shard`
only the shard of the partition. A page is in one topic at a time, so the sum over all topics is what the
pipeline still has to process; where two groups read one topic, the slower one counts. Knows message counts,
and no broker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from strider.contracts.generated.topics import TOPICS

GATES_ALL_SHARDS: Final = "release"
GATES_ONE_SHARD: Final = "shard"
GATES_COMPLETION: Final = "completion"
"""Words of `gates`; the last one is about the end of runs, not about releases."""


class LagGate(NamedTuple):
    """A consumer group whose lag holds back releases."""

    group: str
    topic: str
    is_per_shard: bool
    """Whether a shard is held back by its own partition alone."""


GATES: Final = tuple(
    LagGate(reader.group, topic.name, reader.gates == GATES_ONE_SHARD)
    for topic in TOPICS.values()
    for reader in topic.read_by
    if reader.gates in (GATES_ALL_SHARDS, GATES_ONE_SHARD) and reader.group is not None
)
"""All gating groups."""


@dataclass(frozen=True, slots=True)
class PipelineBacklog:
    """Unread messages at one moment."""

    unread: Mapping[LagGate, Sequence[int]]
    """Unread messages by partition."""
    counted_from: float
    """Monotonic time at which counting began: what was requested later is not included."""

    @property
    def of_pipeline(self) -> int:
        """Return the messages that hold every shard back."""
        slowest: dict[str, int] = {}
        for gate, waiting in self.unread.items():
            if not gate.is_per_shard:
                slowest[gate.topic] = max(slowest.get(gate.topic, 0), sum(waiting))
        return sum(slowest.values())

    @property
    def slowest_gate(self) -> LagGate:
        """Return the group that holds every shard back most."""
        return max(
            (gate for gate in self.unread if not gate.is_per_shard), key=lambda gate: sum(self.unread[gate])
        )

    def of_shard(self, shard: int) -> int:
        """Return the messages that hold one shard back."""
        own = (waiting for gate, waiting in self.unread.items() if gate.is_per_shard)
        return sum(waiting[shard] for waiting in own if shard < len(waiting))

    def release_credits(self, shard: int, *, shards: int, max_lag: int) -> int:
        """Return how many requests a shard may release before the next count.

        Rounded up, so that no shard has zero credits while there is capacity: all shards together may exceed
        `max_lag` by less than the number of shards.
        """
        credits_by_pipeline = -(-(max_lag - self.of_pipeline) // shards)
        credits_by_shard = -(-max_lag // shards) - self.of_shard(shard)
        return max(0, min(credits_by_pipeline, credits_by_shard))


class SpentCredits:
    """Credits that a shard has used, by the time at which its requests were published."""

    def __init__(self) -> None:
        self._spent: deque[tuple[float, int]] = deque()

    def add(self, count: int, *, now: float) -> None:
        """Record requests that are in their topic now."""
        if count:
            self._spent.append((now, count))

    def spent_since(self, moment: float) -> int:
        """Return the requests that a count begun at that time may have missed, and drop the earlier ones."""
        while self._spent and self._spent[0][0] < moment:
            self._spent.popleft()
        return sum(count for _, count in self._spent)
