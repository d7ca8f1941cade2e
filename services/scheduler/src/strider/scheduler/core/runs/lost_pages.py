"""Prove that a page is lost, by what the services of the pipeline have committed.

    fetcher ─▶ pages-fetched ─▶ parser ─▶ pages-parsed ─▶ validator ─▶ pages-validated, -rejected
                                                    ─▶ link-ingestion ─▶ pages-settled ─▶ scheduler

A service commits a message after its results are in the log. Once each of the four has passed the end that
its topics had when the one before had passed its own, whatever was in the pipeline at the beginning has left
it, or never will. Time proves nothing here: a service may be down for a day. Knows offsets by topic and
partition, and no broker.
"""

from __future__ import annotations

from collections.abc import Mapping
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
"""Losses after which an entry is closed: its page is the likely cause."""

MARGIN_MS: Final = 5_000
"""How much older than a watermark a page must be: two owners of a shard may read the time differently."""

PartitionKey = tuple[str, int]
"""Topic and partition."""


class PipelineStage(NamedTuple):
    """One service of the pipeline."""

    topics: tuple[str, ...]
    group: str
    is_sharded: bool = True
    """Whether a shard's pages are in its own partition; else they may be in any."""


PIPELINE: Final = (
    PipelineStage((PAGES_FETCHED.name,), "parser", is_sharded=False),
    PipelineStage((PAGES_PARSED.name,), "validator"),
    PipelineStage((PAGES_VALIDATED.name, PAGES_REJECTED.name), "link-ingestion-pages"),
    PipelineStage((PAGES_SETTLED.name,), "scheduler"),
)


@dataclass(frozen=True, slots=True)
class PipelineOffsets:
    """Committed offsets, and the log ends read after them."""

    committed: Mapping[tuple[str, PartitionKey], int]
    """By group and partition."""
    ends: Mapping[PartitionKey, int]


@dataclass(frozen=True, slots=True)
class PipelineWatermark:
    """Pages of one shard fetched up to a time, followed through the pipeline."""

    shard: int
    since_ms: int
    """Pages fetched before this time are followed."""
    stages: tuple[PipelineStage, ...] = PIPELINE
    stage: int = 0
    end_offsets: Mapping[PartitionKey, int] | None = field(default=None)
    """End offsets that the current stage has to commit; None before they are known."""

    @property
    def has_passed(self) -> bool:
        """Whether all of these pages have left the pipeline that ever will."""
        return self.stage == len(self.stages)

    def after(self, offsets: PipelineOffsets) -> PipelineWatermark:
        """Advance as far as the offsets prove."""
        watermark = self
        while not watermark.has_passed:
            stage = watermark.stages[watermark.stage]
            ends = watermark._end_offsets_of(stage, offsets)
            if watermark.end_offsets is not None:
                # A log that has lost its tail, or was made again, does not reach its former end by itself.
                ends = {each: min(end, ends.get(each, 0)) for each, end in watermark.end_offsets.items()}
            if any(
                offsets.committed.get((stage.group, partition), 0) < end for partition, end in ends.items()
            ):
                return replace(watermark, end_offsets=ends)
            watermark = replace(watermark, stage=watermark.stage + 1, end_offsets=None)
        return watermark

    def _end_offsets_of(self, stage: PipelineStage, offsets: PipelineOffsets) -> dict[PartitionKey, int]:
        return {
            partition: end
            for partition, end in offsets.ends.items()
            if partition[0] in stage.topics and (partition[1] == self.shard or not stage.is_sharded)
        }

    def is_lost(self, entry: EntryRecorded) -> bool:
        """Whether the page of an entry in progress is lost; only once the watermark has passed."""
        is_older = entry.fetched_at_ms + MARGIN_MS <= self.since_ms
        return self.has_passed and entry.state == EntryState.IN_PROGRESS and is_older


def retry_lost_page(entry: EntryRecorded, *, now_ms: int) -> EntryTransition:
    """Requeue an entry whose page was lost, or close it after too many losses."""
    counted = replace(entry, losses=entry.losses + 1)
    if counted.losses >= MAX_LOSSES:
        return close_without_page(
            counted, DecisionReason.LOST_IN_RING, now_ms=now_ms, detail="page lost in the pipeline"
        )
    return EntryTransition(
        "lost_once", requeue_entry(counted, EntryReason.LOST_ONCE, due_at_ms=now_ms, now_ms=now_ms)
    )
