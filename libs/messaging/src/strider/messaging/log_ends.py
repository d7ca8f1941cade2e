"""End offsets of topics, for those who compare them with the commits of a group.

Keeps one reader open between calls; a failed call closes it, and the next one opens another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .errors import Unavailable
from .ports import Bus, Consumer, TopicPartition


class LogEnds:
    """Reads the end offsets of all partitions of some topics."""

    def __init__(self, bus: Bus, topics: Iterable[str], *, read_committed: bool = True) -> None:
        """`read_committed`: a log ends where a transaction is open; else behind its last record."""
        self._bus = bus
        self._read_committed = read_committed
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
            self._reader = await self._bus.reader((), read_committed=self._read_committed)
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
