"""Reading a topic on to where it ends now, for whoever misses something that may be in it.

One rule for schemas and crawl specs: only what is not there by the end is absent. Decides who joins
which reading and where the end is; what a record means, and when silence has lasted too long, is
the caller's to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from .errors import Unavailable
from .ports import Bus, Consumer, TopicPartition

PollOnce = Callable[[Consumer], Awaitable[bool]]
"""Polls once and takes what came; says whether anything did."""

NewStallDetector = Callable[[], Callable[[bool], bool]]
"""For one reading: takes whether anything came, and says whether nothing has come for too long."""


class CatchUpReader:
    """Readings of one topic, one at a time; each goes on where the one before has ended."""

    def __init__(self, bus: Bus, topic: str, *, poll: PollOnce, patience: NewStallDetector) -> None:
        self._bus = bus
        self._topic = topic
        self._step = poll
        self._patience = patience
        self._reader: Consumer | None = None
        self._one_at_a_time = asyncio.Lock()
        self._begun = 0
        self._last_completed = 0
        """Number of the last reading that reached the end: one that failed has looked for nobody."""

    async def read_to_end(self) -> None:
        """Read on to where the topic ends now. Who came while it was read joins the next reading."""
        arrived = self._begun
        async with self._one_at_a_time:
            if self._last_completed > arrived:
                return
            self._begun += 1
            number = self._begun
            try:
                await self._read_to_end()
                self._last_completed = number
            except BaseException:
                await self.close()  # where the reader stands is not known any more
                raise

    async def close(self) -> None:
        """Stop reading; another reading begins at the beginning."""
        if self._reader is not None:
            reader, self._reader = self._reader, None
            await reader.close()

    async def _read_to_end(self) -> None:
        if self._reader is None:
            self._reader = await self._bus.reader(await self._partitions())
        reader = self._reader
        ends = await reader.end_offsets(reader.assignment())
        is_too_long = self._patience()
        while await _is_behind(reader, ends):
            if is_too_long(await self._step(reader)):
                raise Unavailable("kafka", f"{self._topic} has an end that cannot be read up to")

    async def _partitions(self) -> list[TopicPartition]:
        count = await self._bus.partition_count(self._topic)
        if not count:
            raise Unavailable("kafka", f"topic {self._topic} does not exist; run: strider topics apply")
        return [TopicPartition(self._topic, number) for number in range(count)]


async def _is_behind(reader: Consumer, ends: Mapping[TopicPartition, int]) -> bool:
    for partition, end in ends.items():
        if await reader.position(partition) < end:
            return True
    return False
