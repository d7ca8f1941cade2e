"""Which pages cannot come back any more? Proven by what the services of the ring have committed.

    fetcher ─▶ pages-fetched ─▶ parser ─▶ pages-parsed ─▶ validator ─▶ pages-validated, -rejected
                                                    ─▶ link-ingestion ─▶ pages-settled ─▶ scheduler

A service commits a message after what follows from it is in the log. So once all four have passed the
end that their topics had when the one before had passed its own, whatever was on its way at the
beginning has come out, or never will. Time proves nothing here: a service may stand for a day.
Pure. Knows offsets by topic and partition, and no broker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from strider.contracts.generated.enums import DecisionReason, EntryReason, EntryState
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import (
    PAGES_FETCHED,
    PAGES_PARSED,
    PAGES_REJECTED,
    PAGES_SETTLED,
    PAGES_VALIDATED,
)

from .entries import waiting
from .outcomes import Ended, close

MOST_LOSSES: Final = 2
"""A page that was lost so often is what loses it: nobody asks for it again."""

MARGIN_MS: Final = 5_000
"""By how much a page must be older than a passage: two owners of a shard may read its time differently."""

Place = tuple[str, int]
"""Topic and partition."""


class Hop(NamedTuple):
    """One service of the ring."""

    topics: tuple[str, ...]
    group: str
    is_sharded: bool = True
    """Whether what a shard sends is in its own partition; else it may be in any."""


RING: Final = (
    Hop((PAGES_FETCHED.name,), "parser", is_sharded=False),
    Hop((PAGES_PARSED.name,), "validator"),
    Hop((PAGES_VALIDATED.name, PAGES_REJECTED.name), "link-ingestion-pages"),
    Hop((PAGES_SETTLED.name,), "scheduler"),
)


@dataclass(frozen=True, slots=True)
class Sounding:
    """How far everything is: what was committed, and after that where the logs end."""

    committed: Mapping[tuple[str, Place], int]
    """By group and place."""
    ends: Mapping[Place, int]


@dataclass(frozen=True, slots=True)
class Passage:
    """What went onto the ring of one shard up to a moment, followed on its way round."""

    shard: int
    since_ms: int
    """Everything that was fetched before."""
    ring: tuple[Hop, ...] = RING
    hop: int = 0
    marks: Mapping[Place, int] | None = field(default=None)
    """Which ends that hop has to pass; None before they are known."""

    @property
    def is_over(self) -> bool:
        """Whether all of it has gone round that ever will."""
        return self.hop == len(self.ring)

    def after(self, sounding: Sounding) -> Passage:
        """Go on as far as a sounding proves."""
        passage = self
        while not passage.is_over:
            hop = passage.ring[passage.hop]
            marks = passage._ends(hop, sounding) if passage.marks is None else passage.marks
            if any(sounding.committed.get((hop.group, place), 0) < end for place, end in marks.items()):
                return replace(passage, marks=marks)
            passage = replace(passage, hop=passage.hop + 1, marks=None)
        return passage

    def _ends(self, hop: Hop, sounding: Sounding) -> dict[Place, int]:
        return {
            place: end
            for place, end in sounding.ends.items()
            if place[0] in hop.topics and (place[1] == self.shard or not hop.is_sharded)
        }

    def is_lost(self, entry: EntryRecorded) -> bool:
        """Say whether the page of an entry that is on the ring will not come back; only when it is over."""
        is_older = entry.fetched_at_ms + MARGIN_MS <= self.since_ms
        return self.is_over and entry.state == EntryState.IN_PROGRESS and is_older


def lost(entry: EntryRecorded, *, now_ms: int) -> Ended:
    """Ask once more for an entry whose page was lost, or close it."""
    told = replace(entry, losses=entry.losses + 1)
    if told.losses >= MOST_LOSSES:
        return close(told, DecisionReason.LOST_IN_RING, now_ms=now_ms, detail="its page never came back")
    return Ended("lost_once", waiting(told, EntryReason.LOST_ONCE, due_at_ms=now_ms, now_ms=now_ms))


def places(ring: Sequence[Hop], partitions: Mapping[str, int]) -> list[Place]:
    """Name every partition of the ring's topics."""
    return [
        (topic, number) for hop in ring for topic in hop.topics for number in range(partitions.get(topic, 0))
    ]
