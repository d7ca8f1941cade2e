"""Offsets of the pipeline's consumer groups, for backpressure and lost pages.

Reads committed offsets first and log ends after that, so a backlog may be overestimated but never missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Bus, Consumer, TopicPartition
from strider.scheduler.core.release.backpressure import GATES, LagGate
from strider.scheduler.core.runs.lost_pages import PIPELINE, PipelineOffsets

GATING_GROUPS: Final = tuple({gate.group: gate for gate in GATES})

PIPELINE_TOPICS: Final = tuple(dict.fromkeys(topic for stage in PIPELINE for topic in stage.topics))


class _LogEnds:
    """Reads the end offsets of all partitions of some topics."""

    def __init__(self, bus: Bus, topics: Iterable[str]) -> None:
        self._bus = bus
        self._topics = tuple(topics)
        self._reader: Consumer | None = None
        self._partitions: dict[str, Sequence[TopicPartition]] = {}

    async def open(self) -> Consumer:
        """Look up the partitions and return an open reader; raises Unavailable."""
        for topic in self._topics:
            if topic in self._partitions:
                continue
            count = await self._bus.partition_count(topic)
            if count is None:
                raise Unavailable("kafka", f"topic {topic} does not exist")
            self._partitions[topic] = [TopicPartition(topic, number) for number in range(count)]
        if self._reader is None:
            self._reader = await self._bus.reader(())
        return self._reader

    def partitions_of(self, topic: str) -> Sequence[TopicPartition]:
        """Return the partitions of a topic, by number."""
        return self._partitions[topic]

    async def read(self, reader: Consumer) -> Mapping[TopicPartition, int]:
        """Return the end offset of every partition."""
        partitions = [each for topic in self._topics for each in self._partitions[topic]]
        try:
            return await reader.end_offsets(partitions)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connection."""
        if self._reader is not None:
            reader, self._reader = self._reader, None
            await reader.close()


class TopicBacklogSource:
    """Counts what the gating consumer groups have not read yet."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._ends = _LogEnds(bus, dict.fromkeys(gate.topic for gate in GATES))

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
        self._ends = _LogEnds(bus, PIPELINE_TOPICS)

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
