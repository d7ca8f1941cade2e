"""What the services of the ring have still to read, as the broker has it. Knows nothing of pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Bus, Consumer, TopicPartition
from strider.scheduler.core.release.backpressure import GATES, LagGate

GATING_GROUPS: Final = tuple({gate.group: gate for gate in GATES})


class TopicBacklogSource:
    """Asks for the offsets of the groups that gate, and after that for the ends of what they read."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._reader: Consumer | None = None
        self._partitions: dict[str, int] = {}

    async def count_unread(self) -> Mapping[LagGate, Sequence[int]]:
        """Count messages by partition. What a group has no offset for it has never been meant to read."""
        reader = await self._opened()
        committed = {group: await self._bus.committed(group) for group in GATING_GROUPS}
        try:
            ends = await reader.end_offsets(
                [TopicPartition(name, number) for name in self._partitions for number in self._numbers(name)]
            )
        except BaseException:
            await self.close()
            raise
        return {
            gate: [
                max(0, ends[place] - committed[gate.group].get(place, ends[place]))
                for place in (TopicPartition(gate.topic, number) for number in self._numbers(gate.topic))
            ]
            for gate in GATES
        }

    async def close(self) -> None:
        """Let go of the connection."""
        if self._reader is not None:
            reader, self._reader = self._reader, None
            await reader.close()

    def _numbers(self, topic: str) -> range:
        return range(self._partitions[topic])

    async def _opened(self) -> Consumer:
        for topic in {gate.topic for gate in GATES} - self._partitions.keys():
            count = await self._bus.partition_count(topic)
            if count is None:
                raise Unavailable("kafka", f"topic {topic} does not exist")
            self._partitions[topic] = count
        if self._reader is None:
            self._reader = await self._bus.reader(())
        return self._reader
