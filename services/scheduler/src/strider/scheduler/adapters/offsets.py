"""How far the services of the ring are, as the broker has it. Knows nothing of pages."""

from __future__ import annotations

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Bus, Consumer, TopicPartition
from strider.scheduler.core.runs.lost_pages import RING, PartitionKey, PipelineOffsets, pipeline_partitions


class TopicPipelineOffsets:
    """Asks for the offsets of the ring's groups, and after that for the ends of what they read."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._reader: Consumer | None = None
        self._places: list[PartitionKey] = []

    async def sound(self) -> PipelineOffsets:
        """Look once; raises Unavailable."""
        reader = await self._opened()
        committed = {
            (hop.group, (place.topic, place.partition)): offset
            for hop in RING
            for place, offset in (await self._bus.committed(hop.group)).items()
        }
        try:
            ends = await reader.end_offsets([TopicPartition(*place) for place in self._places])
        except BaseException:
            await self.close()
            raise
        return PipelineOffsets(
            committed, {(place.topic, place.partition): end for place, end in ends.items()}
        )

    async def close(self) -> None:
        """Let go of the connection."""
        if self._reader is not None:
            reader, self._reader = self._reader, None
            await reader.close()

    async def _opened(self) -> Consumer:
        if not self._places:
            self._places = pipeline_partitions(RING, await self._partitions())
        if self._reader is None:
            self._reader = await self._bus.reader(())
        return self._reader

    async def _partitions(self) -> dict[str, int]:
        counts = {}
        for topic in (topic for hop in RING for topic in hop.topics):
            count = await self._bus.partition_count(topic)
            if count is None:
                raise Unavailable("kafka", f"topic {topic} does not exist")
            counts[topic] = count
        return counts
