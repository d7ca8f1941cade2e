"""Prove that a run is complete, by committed offsets and without timeouts.

    WAITING   something is open, or a shard is not ready
    QUIET     every shard is ready and has nothing open; what each has accepted is kept
    SEEDED    link-ingestion has committed past all seeds, so all their links are in the log
    DRAINING  the end offsets of that log are kept
    DRAINED   the scheduler has committed past them
    COMPLETE  still nothing is open, and nothing was accepted since QUIET

Each observation advances the proof by at most one phase, and begins after the one before has ended: so the
order in which one observation gathers its facts does not matter. A shard that has accepted anything since
QUIET, has something open, or is not ready, resets the proof; so does one that was taken over or rebuilt
since, as its count starts from the log again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

Offsets = Mapping[Any, int]
"""By partition, or by topic and partition: in one proof always the same."""


class CompletionPhase(IntEnum):
    """Phase of the proof."""

    WAITING = 0
    QUIET = 1
    SEEDED = 2
    DRAINING = 3
    DRAINED = 4
    COMPLETE = 5


@dataclass(frozen=True, slots=True)
class ShardRunCount:
    """Entries of the run in one shard."""

    is_ready: bool
    open: int = 0
    accepted: int = 0
    counted_by: tuple[int, int] = (0, 0)
    """Epoch of the owner that counted, and when it rebuilt the shard."""


@dataclass(frozen=True, slots=True)
class CompletionObservation:
    """Facts gathered at one time; an offset is that of the next message to be read."""

    shards: Mapping[int, ShardRunCount]
    """By shard; a missing one is not ready."""
    seeds_committed: Offsets = field(default_factory=dict)
    """Offset committed by link-ingestion, by partition of the seeds."""
    links_end: Offsets = field(default_factory=dict)
    """End offset of links-discovered, by partition."""
    links_committed: Offsets = field(default_factory=dict)
    """Offset of links-discovered committed by the schedulers, by partition."""
    seeds_end: Offsets = field(default_factory=dict)
    """End offset of the seeds by now; empty where their log can only grow."""


@dataclass(frozen=True, slots=True)
class CompletionProof:
    """Proof of completion in progress; `after` returns the next one."""

    shards: int
    """Number of shards."""
    seeds_end: Offsets
    """Offset behind the last seed of the run, by partition."""
    phase: CompletionPhase = CompletionPhase.WAITING
    quiet_counts: Mapping[int, ShardRunCount] = field(default_factory=dict)
    links_end: Offsets = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether the run is proven complete."""
        return self.phase is CompletionPhase.COMPLETE

    def after(self, observation: CompletionObservation) -> CompletionProof:
        """Return the proof after one more observation."""
        if self.is_complete:
            return self
        if not _is_quiet(observation, self.shards):
            return replace(self, phase=CompletionPhase.WAITING, quiet_counts={}, links_end={})
        if self.phase is CompletionPhase.WAITING or observation.shards != self.quiet_counts:
            return replace(
                self, phase=CompletionPhase.QUIET, quiet_counts=dict(observation.shards), links_end={}
            )
        return self._step(observation)

    def _step(self, observation: CompletionObservation) -> CompletionProof:
        """Advance the proof by one phase, with no change since QUIET."""
        if self.phase is CompletionPhase.QUIET:
            ends = _within(self.seeds_end, observation.seeds_end)
            is_seeded = _has_committed(observation.seeds_committed, ends)
            return replace(self, phase=CompletionPhase.SEEDED) if is_seeded else self
        if self.phase is CompletionPhase.SEEDED:
            return replace(self, phase=CompletionPhase.DRAINING, links_end=dict(observation.links_end))
        if self.phase is CompletionPhase.DRAINING:
            return (
                replace(self, phase=CompletionPhase.DRAINED)
                if _has_committed(observation.links_committed, _within(self.links_end, observation.links_end))
                else self
            )
        return replace(self, phase=CompletionPhase.COMPLETE)


def _is_quiet(observation: CompletionObservation, shards: int) -> bool:
    counts = [observation.shards.get(shard) for shard in range(shards)]
    return all(count is not None and count.is_ready and count.open == 0 for count in counts)


def _within(end: Offsets, now: Offsets) -> Offsets:
    """Return end offsets that can be reached: a log that was made again has lost its former end."""
    return {partition: min(offset, now.get(partition, offset)) for partition, offset in end.items()}


def _has_committed(read: Offsets, end: Offsets) -> bool:
    return all(read.get(partition, 0) >= offset for partition, offset in end.items())
