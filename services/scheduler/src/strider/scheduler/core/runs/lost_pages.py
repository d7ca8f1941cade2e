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
from strider.scheduler.core.entries.fetch_outcomes import EntryTransition, close_without_page
from strider.scheduler.core.entries.state import requeue_entry

MAX_LOSSES: Final = 2
"""A page that was lost so often is what loses it: nobody asks for it again."""

MARGIN_MS: Final = 5_000
"""By how much a page must be older than a passage: two owners of a shard may read its time differently."""

PartitionKey = tuple[str, int]
"""Topic and partition."""


class PipelineStage(NamedTuple):
    """One service of the ring."""

    topics: tuple[str, ...]
    group: str
    is_sharded: bool = True
    """Whether what a shard sends is in its own partition; else it may be in any."""


RING: Final = (
    PipelineStage((PAGES_FETCHED.name,), "parser", is_sharded=False),
    PipelineStage((PAGES_PARSED.name,), "validator"),
    PipelineStage((PAGES_VALIDATED.name, PAGES_REJECTED.name), "link-ingestion-pages"),
    PipelineStage((PAGES_SETTLED.name,), "scheduler"),
)


@dataclass(frozen=True, slots=True)
class PipelineOffsets:
    """How far everything is: what was committed, and after that where the logs end."""

    committed: Mapping[tuple[str, PartitionKey], int]
    """By group and place."""
    ends: Mapping[PartitionKey, int]


@dataclass(frozen=True, slots=True)
class PipelineWatermark:
    """What went onto the ring of one shard up to a moment, followed on its way round."""

    shard: int
    since_ms: int
    """Everything that was fetched before."""
    stages: tuple[PipelineStage, ...] = RING
    stage: int = 0
    end_offsets: Mapping[PartitionKey, int] | None = field(default=None)
    """Which ends that hop has to pass; None before they are known."""

    @property
    def is_over(self) -> bool:
        """Whether all of it has gone round that ever will."""
        return self.stage == len(self.stages)

    def after(self, sounding: PipelineOffsets) -> PipelineWatermark:
        """Go on as far as a sounding proves."""
        watermark = self
        while not watermark.is_over:
            hop = watermark.stages[watermark.stage]
            marks = watermark._ends(hop, sounding) if watermark.end_offsets is None else watermark.end_offsets
            if any(sounding.committed.get((hop.group, place), 0) < end for place, end in marks.items()):
                return replace(watermark, marks=marks)
            watermark = replace(watermark, hop=watermark.stage + 1, marks=None)
        return watermark

    def _ends(self, stage: PipelineStage, sounding: PipelineOffsets) -> dict[PartitionKey, int]:
        return {
            place: end
            for place, end in sounding.ends.items()
            if place[0] in stage.topics and (place[1] == self.shard or not stage.is_sharded)
        }

    def is_lost(self, entry: EntryRecorded) -> bool:
        """Say whether the page of an entry that is on the ring will not come back; only when it is over."""
        is_older = entry.fetched_at_ms + MARGIN_MS <= self.since_ms
        return self.is_over and entry.state == EntryState.IN_PROGRESS and is_older


def retry_lost_page(entry: EntryRecorded, *, now_ms: int) -> EntryTransition:
    """Ask once more for an entry whose page was lost, or close it."""
    told = replace(entry, losses=entry.losses + 1)
    if told.losses >= MAX_LOSSES:
        return close_without_page(
            told, DecisionReason.LOST_IN_RING, now_ms=now_ms, detail="its page never came back"
        )
    return EntryTransition(
        "lost_once", requeue_entry(told, EntryReason.LOST_ONCE, due_at_ms=now_ms, now_ms=now_ms)
    )


def pipeline_partitions(stages: Sequence[PipelineStage], partitions: Mapping[str, int]) -> list[PartitionKey]:
    """Name every partition of the ring's topics."""
    return [
        (topic, number)
        for hop in stages
        for topic in hop.topics
        for number in range(partitions.get(topic, 0))
    ]
