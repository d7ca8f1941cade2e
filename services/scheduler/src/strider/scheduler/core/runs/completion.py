"""Is an execution complete? Proven, not timed.

    WAITING   something is open, or a shard cannot say
    QUIET     every shard is ready and has nothing open; what each has accepted is noted
    SEEDED    link-ingestion has committed past all seeds, so what they lead to is in the log
    DRAINING  the ends of that log are noted
    DRAINED   the scheduler has committed past them
    COMPLETE  still nothing is open, and nothing was accepted since QUIET

Each look takes at most one step, and a look begins after the one before has ended: so it does not
matter in which order one look gathers its facts. A shard that has accepted anything since QUIET, or
has something open, or is not ready, sends the proof back to its beginning; so does one that was taken
or rebuilt since, which counts what its log has: less, where entries came again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum


class CompletionPhase(IntEnum):
    """How far the proof is."""

    WAITING = 0
    QUIET = 1
    SEEDED = 2
    DRAINING = 3
    DRAINED = 4
    COMPLETE = 5


@dataclass(frozen=True, slots=True)
class ShardRunCount:
    """What one shard says of the execution."""

    is_ready: bool
    open: int = 0
    accepted: int = 0
    counted_by: tuple[int, int] = (0, 0)
    """Whose count it is: the owner's epoch, and when it rebuilt the shard."""


@dataclass(frozen=True, slots=True)
class CompletionObservation:
    """What was found at one time; offsets are those of the next message to be read."""

    shards: Mapping[int, ShardRunCount]
    """Of every shard: one that is missing is not ready."""
    seeds_read: Mapping[int, int] = field(default_factory=dict)
    """Offset to which link-ingestion has committed, by partition of the seeds."""
    links_end: Mapping[int, int] = field(default_factory=dict)
    """Where the log of discovered links ends, by partition."""
    links_committed: Mapping[int, int] = field(default_factory=dict)
    """Offset to which the schedulers have committed it."""


@dataclass(frozen=True, slots=True)
class CompletionProof:
    """A proof in progress; `after` gives the next one."""

    shards: int
    """How many there are."""
    seeds_end: Mapping[int, int]
    """Behind the last seed of the execution, by partition."""
    proof: CompletionPhase = CompletionPhase.WAITING
    quiet_counts: Mapping[int, ShardRunCount] = field(default_factory=dict)
    links_end: Mapping[int, int] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether it is proven."""
        return self.proof is CompletionPhase.COMPLETE

    def after(self, observation: CompletionObservation) -> CompletionProof:
        """Take one look into account."""
        if self.is_complete:
            return self
        if not _is_quiet(observation, self.shards):
            return replace(self, proof=CompletionPhase.WAITING, noted={}, links_end={})
        if self.proof is CompletionPhase.WAITING or observation.shards != self.quiet_counts:
            return replace(self, proof=CompletionPhase.QUIET, noted=dict(observation.shards), links_end={})
        return self._step(observation)

    def _step(self, observation: CompletionObservation) -> CompletionProof:
        """Go on, all being quiet since QUIET."""
        if self.proof is CompletionPhase.QUIET:
            is_seeded = _is_past(observation.seeds_read, self.seeds_end)
            return replace(self, proof=CompletionPhase.SEEDED) if is_seeded else self
        if self.proof is CompletionPhase.SEEDED:
            return replace(self, proof=CompletionPhase.DRAINING, links_end=dict(observation.links_end))
        if self.proof is CompletionPhase.DRAINING:
            return (
                replace(self, proof=CompletionPhase.DRAINED)
                if _is_past(observation.links_committed, self.links_end)
                else self
            )
        return replace(self, proof=CompletionPhase.COMPLETE)


def _is_quiet(look: CompletionObservation, shards: int) -> bool:
    counts = [look.shards.get(shard) for shard in range(shards)]
    return all(count is not None and count.is_ready and count.open == 0 for count in counts)


def _is_past(read: Mapping[int, int], end: Mapping[int, int]) -> bool:
    return all(read.get(partition, 0) >= offset for partition, offset in end.items())
