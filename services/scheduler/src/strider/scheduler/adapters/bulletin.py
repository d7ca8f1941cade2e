"""Wishes about runs and hosts, as `job-events` has them. Knows nothing of what they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from strider.contracts import DecodeError
from strider.contracts.codec import Codec
from strider.contracts.generated.events import JobEvent
from strider.contracts.generated.topics import JOB_EVENTS
from strider.runtime.errors import OffsetLost
from strider.runtime.logs import logger
from strider.runtime.ports import Bus, Consumer, TopicPartition

NEWS_SECONDS: Final = 0.5
"""How long one look for wishes waits; what comes meanwhile ends it at once."""

_BULLETIN: Final = TopicPartition(JOB_EVENTS.name, 0)

_log = logger("scheduler")


class TopicBulletin:
    """Reads `job-events` from their beginning to now, and on; after an outage where it stopped."""

    def __init__(self, bus: Bus, codec: Codec) -> None:
        self._bus = bus
        self._codec = codec
        self._reader: Consumer | None = None
        self._next = 0

    async def news(self) -> Sequence[JobEvent]:
        """Wait a little for what comes next."""
        return await self._poll(await self._opened())

    async def until_now(self) -> Sequence[JobEvent]:
        """Give all that had been said by now."""
        reader = await self._opened()
        end = (await reader.end_offsets([_BULLETIN]))[_BULLETIN]
        found: list[JobEvent] = []
        while await reader.position(_BULLETIN) < end:
            found += await self._poll(reader)
        return found

    async def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            reader, self._reader = self._reader, None
            await reader.close()

    async def _opened(self) -> Consumer:
        if self._reader is None:
            reader = await self._bus.reader([_BULLETIN])
            if self._next:
                reader.seek(_BULLETIN, self._next)
            self._reader = reader
        return self._reader

    async def _poll(self, reader: Consumer) -> list[JobEvent]:
        try:
            found = await reader.poll(max_records=1_000, timeout_seconds=NEWS_SECONDS)
        except OffsetLost as lost:  # wishes age; what they came to is in the truth topics
            reader.seek(_BULLETIN, lost.available)
            return []
        except BaseException:
            await self.close()  # where it stands is not known any more
            raise
        events = []
        for record in found.get(_BULLETIN, ()):
            self._next = record.offset + 1
            try:
                events.append(self._codec.decode(JOB_EVENTS, record.value or b"", record.headers))
            except DecodeError as failure:
                _log.error("Wish Unreadable", topic=record.topic, offset=record.offset, why=str(failure))
        return events
