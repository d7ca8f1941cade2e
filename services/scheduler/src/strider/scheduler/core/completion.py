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


class Proof(IntEnum):
    """How far the proof is."""

    WAITING = 0
    QUIET = 1
    SEEDED = 2
    DRAINING = 3
    DRAINED = 4
    COMPLETE = 5


@dataclass(frozen=True, slots=True)
class ShardCount:
    """What one shard says of the execution."""

    is_ready: bool
    open: int = 0
    accepted: int = 0
    counted_by: tuple[int, int] = (0, 0)
    """Whose count it is: the owner's epoch, and when it rebuilt the shard."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found at one time; offsets are those of the next message to be read."""

    shards: Mapping[int, ShardCount]
    """Of every shard: one that is missing is not ready."""
    seeds_read: Mapping[int, int] = field(default_factory=dict)
    """Offset to which link-ingestion has committed, by partition of the seeds."""
    links_end: Mapping[int, int] = field(default_factory=dict)
    """Where the log of discovered links ends, by partition."""
    links_read: Mapping[int, int] = field(default_factory=dict)
    """Offset to which the schedulers have committed it."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A proof in progress; `after` gives the next one."""

    shards: int
    """How many there are."""
    seeds_end: Mapping[int, int]
    """Behind the last seed of the execution, by partition."""
    proof: Proof = Proof.WAITING
    noted: Mapping[int, ShardCount] = field(default_factory=dict)
    links_end: Mapping[int, int] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether it is proven."""
        return self.proof is Proof.COMPLETE

    def after(self, look: Look) -> Completion:
        """Take one look into account."""
        if self.is_complete:
            return self
        if not _is_quiet(look, self.shards):
            return replace(self, proof=Proof.WAITING, noted={}, links_end={})
        if self.proof is Proof.WAITING or look.shards != self.noted:
            return replace(self, proof=Proof.QUIET, noted=dict(look.shards), links_end={})
        return self._step(look)

    def _step(self, look: Look) -> Completion:
        """Go on, all being quiet since QUIET."""
        if self.proof is Proof.QUIET:
            is_seeded = _is_past(look.seeds_read, self.seeds_end)
            return replace(self, proof=Proof.SEEDED) if is_seeded else self
        if self.proof is Proof.SEEDED:
            return replace(self, proof=Proof.DRAINING, links_end=dict(look.links_end))
        if self.proof is Proof.DRAINING:
            return replace(self, proof=Proof.DRAINED) if _is_past(look.links_read, self.links_end) else self
        return replace(self, proof=Proof.COMPLETE)


def _is_quiet(look: Look, shards: int) -> bool:
    counts = [look.shards.get(shard) for shard in range(shards)]
    return all(count is not None and count.is_ready and count.open == 0 for count in counts)


def _is_past(read: Mapping[int, int], end: Mapping[int, int]) -> bool:
    return all(read.get(partition, 0) >= offset for partition, offset in end.items())
