"""Seeds on their way to the broker: sent in order, acknowledged, told.

Holds as many as are on their way and no more. Knows nothing of where lines come from.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

from strider.contracts.generated.topics import SEEDS_SUBMITTED
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Bus, OutgoingMessage, Producer, RecordMetadata

from .seeds_lines import Bad, Line, Ready, SeedReader

ON_THEIR_WAY: Final = 2_000
"""Seeds that wait for their acknowledgement."""


@dataclass(slots=True)
class Account:
    """What was done, for the last line."""

    sent: int = 0
    bad: int = 0
    partitions: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Teller:
    """Who is told what happens."""

    sent: Callable[[str, RecordMetadata], None]
    bad: Callable[[Bad], None]
    note: Callable[[str], None]


class SeedSender:
    """Sends the seeds that lines hold."""

    def __init__(self, bus: Bus, reader: SeedReader, *, teller: Teller) -> None:
        self._bus = bus
        self._reader = reader
        self._teller = teller
        self._waiting: deque[tuple[str, asyncio.Future[RecordMetadata]]] = deque()
        self.account = Account()

    async def send(self, lines: AsyncIterator[Line | Bad]) -> None:
        """Send all that are good; done when the broker has them. Raises Unavailable where it has not."""
        if not await self._bus.partition_count(SEEDS_SUBMITTED.name):
            raise Unavailable(
                "kafka", f"topic {SEEDS_SUBMITTED.name} does not exist; run: strider topics apply"
            )
        producer = await self._bus.producer()
        try:
            async for line in lines:
                await self._send_line(producer, line)
            while self._waiting:
                await self._settle()
        finally:
            for _, acknowledgement in self._waiting:
                acknowledgement.cancel()
            await producer.close()

    async def _send_line(self, producer: Producer, line: Line | Bad) -> None:
        seed = line if isinstance(line, Bad) else self._reader.read(line)
        if isinstance(seed, Bad):
            self.account.bad += 1
            self._teller.bad(seed)
            return
        if seed.note:
            self._teller.note(seed.note)
        await self._send_seed(producer, seed)
        while self._waiting and (len(self._waiting) >= ON_THEIR_WAY or self._waiting[0][1].done()):
            await self._settle()

    async def _send_seed(self, producer: Producer, seed: Ready) -> None:
        message = OutgoingMessage(SEEDS_SUBMITTED.name, seed.key, seed.value)
        self._waiting.append((seed.url, asyncio.ensure_future(await producer.send(message))))

    async def _settle(self) -> None:
        url, acknowledgement = self._waiting[0]
        acknowledged = await acknowledgement
        self._waiting.popleft()
        self.account.sent += 1
        self.account.partitions.add(acknowledged.partition)
        self._teller.sent(url, acknowledged)
