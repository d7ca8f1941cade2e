"""Offsets of consumer groups, for backpressure, lost pages and the end of runs.

Reads committed offsets first and log ends after that, so a backlog may be overestimated but never missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from strider.contracts.generated.topics import LINKS_DISCOVERED, TOPICS
from strider.messaging.log_ends import LogEnds
from strider.messaging.ports import Bus
from strider.scheduler.core.release.backpressure import GATES, GATES_COMPLETION, LagGate
from strider.scheduler.core.runs.lost_pages import PIPELINE, PipelineOffsets
from strider.scheduler.core.runs.run_proof import CompletionOffsets

GATING_GROUPS: Final = tuple({gate.group: gate for gate in GATES})

SEED_GROUPS: Final = {
    topic.name: reader.group
    for topic in TOPICS.values()
    for reader in topic.read_by
    if reader.gates == GATES_COMPLETION and reader.group
}
"""Topics of seeds and the group that reads each."""

SCHEDULER_GROUP: Final = next(
    reader.group for reader in LINKS_DISCOVERED.read_by if reader.group and not reader.planned
)
"""The group that reads links-discovered."""

PIPELINE_TOPICS: Final = tuple(dict.fromkeys(topic for stage in PIPELINE for topic in stage.topics))


class TopicBacklogSource:
    """Counts what the gating consumer groups have not read yet."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._ends = LogEnds(bus, dict.fromkeys(gate.topic for gate in GATES))

    async def count_unread(self) -> Mapping[LagGate, Sequence[int]]:
        """Return unread messages by partition; a partition without a committed offset counts as read."""
        reader = await self._ends.open()
        committed = {group: await self._bus.committed(group) for group in GATING_GROUPS}
        ends = await self._ends.read(reader)
        return {
            gate: [
                max(0, ends[partition] - committed[gate.group].get(partition, ends[partition]))
                for partition in self._ends.partitions_of(gate.topic)
            ]
            for gate in GATES
        }

    async def close(self) -> None:
        """Close the connection."""
        await self._ends.close()


class TopicPipelineOffsets:
    """Reads how far every service of the pipeline has committed, and where its topics end."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._ends = LogEnds(bus, PIPELINE_TOPICS)

    async def read_offsets(self) -> PipelineOffsets:
        """Return committed offsets, and the log ends read after them; raises Unavailable."""
        reader = await self._ends.open()
        committed = {
            (stage.group, (each.topic, each.partition)): offset
            for stage in PIPELINE
            for each, offset in (await self._bus.committed(stage.group)).items()
        }
        ends = await self._ends.read(reader)
        return PipelineOffsets(committed, {(each.topic, each.partition): end for each, end in ends.items()})

    async def close(self) -> None:
        """Close the connection."""
        await self._ends.close()


class TopicCompletionOffsets:
    """Reads how far seeds and links-discovered are read, and where they end."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        # Seeds are read uncommitted, so one behind a transaction that is left open counts as well.
        self._ends = LogEnds(bus, (*SEED_GROUPS, LINKS_DISCOVERED.name), read_committed=False)

    async def read_completion_offsets(self) -> CompletionOffsets:
        """Return committed offsets, and the log ends read after them; raises Unavailable."""
        reader = await self._ends.open()
        groups = dict.fromkeys((*SEED_GROUPS.values(), SCHEDULER_GROUP))
        committed = {group: await self._bus.committed(group) for group in groups}
        ends = await self._ends.read(reader)
        return CompletionOffsets(
            seeds_committed={
                each: offset
                for topic, group in SEED_GROUPS.items()
                for each, offset in committed[group].items()
                if each.topic == topic
            },
            seeds_end={each: end for each, end in ends.items() if each.topic in SEED_GROUPS},
            links_committed={
                each: offset
                for each, offset in committed[SCHEDULER_GROUP].items()
                if each.topic == LINKS_DISCOVERED.name
            },
            links_end={each: end for each, end in ends.items() if each.topic == LINKS_DISCOVERED.name},
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._ends.close()
