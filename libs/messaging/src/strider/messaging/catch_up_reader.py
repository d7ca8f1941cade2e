"""Reader that catches up with the end of a topic, for what is missing and may be in it.

One rule for schemas and crawl specs: only what is not in the topic up to its end is absent. Decides which
callers share a read and where the end is; the caller decodes the records and decides when the read is
stalled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from .errors import LogTruncated, Unavailable, UnreadRange
from .ports import Bus, Consumer, TopicPartition
from .unread_ranges import skip_unread

PollOnce = Callable[[Consumer], Awaitable[bool]]
"""Polls once and handles the records; returns whether there were any."""

NewStallDetector = Callable[[], Callable[[bool], bool]]
"""Creates the stall detector of one read: takes whether a poll returned records, returns whether the read is
stalled.
"""


class CatchUpReader:
    """Reads of one topic, one at a time; each continues where the one before has ended.

    Between reads the reader is paused: a client that waits for new records answers no question about the end
    until that wait is over, half a second later.
    """

    def __init__(self, bus: Bus, topic: str, *, poll: PollOnce, new_stall_detector: NewStallDetector) -> None:
        self._bus = bus
        self._topic = topic
        self._poll = poll
        self._new_stall_detector = new_stall_detector
        self._reader: Consumer | None = None
        self._lock = asyncio.Lock()
        self._started = 0
        self._last_completed = 0
        """Number of the last read that reached the end; one that failed does not count."""

    async def read_to_end(self) -> None:
        """Read up to where the topic ends now; calls that arrive during a read share the next one."""
        arrived = self._started
        async with self._lock:
            if self._last_completed > arrived:
                return
            self._started += 1
            number = self._started
            try:
                await self._read_to_end()
                self._last_completed = number
            except BaseException:
                await self.close()  # the position of the reader is unknown now
                raise

    async def close(self) -> None:
        """Close the reader; the next read begins at the beginning."""
        if self._reader is not None:
            reader, self._reader = self._reader, None
            await reader.close()

    async def _read_to_end(self) -> None:
        reader = self._reader or await self._open()
        ends = await reader.end_offsets(reader.assignment())
        if await _is_beyond(reader, ends):
            # The log has lost its tail: what is written there since would be passed over.
            await self.close()
            reader = await self._open()
            ends = await reader.end_offsets(reader.assignment())
        if not await _is_behind(reader, ends):
            return
        reader.resume(reader.assignment())
        is_too_long = self._new_stall_detector()
        while await _is_behind(reader, ends):
            if is_too_long(await self._poll_once(reader)):
                raise Unavailable("kafka", f"{self._topic} cannot be read up to its end")
        reader.pause(reader.assignment())

    async def _open(self) -> Consumer:
        self._reader = reader = await self._bus.reader(await self._partitions())
        reader.pause(reader.assignment())
        return reader

    async def _poll_once(self, reader: Consumer) -> bool:
        try:
            return await self._poll(reader)
        except LogTruncated as truncated:
            raise Unavailable("kafka", str(truncated)) from truncated
        except UnreadRange as unread:
            skip_unread(reader, unread)
            return True

    async def _partitions(self) -> list[TopicPartition]:
        count = await self._bus.partition_count(self._topic)
        if not count:
            raise Unavailable("kafka", f"topic {self._topic} does not exist; run: strider topics apply")
        return [TopicPartition(self._topic, number) for number in range(count)]


async def _is_beyond(reader: Consumer, ends: Mapping[TopicPartition, int]) -> bool:
    for partition, end in ends.items():
        if await reader.position(partition) > end:
            return True
    return False


async def _is_behind(reader: Consumer, ends: Mapping[TopicPartition, int]) -> bool:
    for partition, end in ends.items():
        if await reader.position(partition) < end:
            return True
    return False
