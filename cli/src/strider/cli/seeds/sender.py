"""Publish seeds in order, and report each acknowledgement.

Holds only unacknowledged seeds in memory. Does not know where lines come from.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

from strider.cli.connections import MissingTopic
from strider.contracts.generated.topics import SEEDS_OWNED, SEEDS_SUBMITTED
from strider.messaging.ports import Bus, OutgoingMessage, Producer, RecordMetadata

from .reader import BadLine, InputLine, SeedMessage, SeedReader

MAX_UNACKNOWLEDGED: Final = 2_000
"""Seeds that wait for their acknowledgement at a time."""


@dataclass(slots=True)
class SendCounters:
    """Numbers of published and refused seeds, and the partitions that have them."""

    sent: int = 0
    bad: int = 0
    partitions: set[int] = field(default_factory=set)
    runs: dict[str, SeedMessage] = field(default_factory=dict)
    """A seed of each run; empty unless the runs are to be closed."""


@dataclass(frozen=True, slots=True)
class SendListener:
    """Callbacks for what happens to each line."""

    sent: Callable[[str, RecordMetadata], None]
    bad: Callable[[BadLine], None]
    warning: Callable[[str], None]


class SeedSender:
    """Publishes the seeds of input lines."""

    def __init__(
        self, bus: Bus, reader: SeedReader, *, listener: SendListener, closes_runs: bool = False
    ) -> None:
        """`closes_runs`: close the runs of the seeds once all of these are acknowledged."""
        self._closes_runs = closes_runs
        self._bus = bus
        self._reader = reader
        self._listener = listener
        self._unacknowledged: deque[tuple[str, asyncio.Future[RecordMetadata]]] = deque()
        self._last_note = ""
        self.counters = SendCounters()

    async def send(self, lines: AsyncIterator[InputLine | BadLine]) -> None:
        """Publish all valid ones; returns when all are acknowledged. Raises Unavailable, MissingTopic."""
        topic = self._reader.topic.name
        if not await self._bus.partition_count(topic):
            raise MissingTopic(topic)
        producer = await self._bus.producer()
        try:
            async for line in lines:
                await self._send_line(producer, line)
            while self._unacknowledged:
                await self._await_first()
            for seed in self.counters.runs.values():
                closing = self._reader.closing_of(seed)
                await (await producer.send(_message_of(closing)))
        finally:
            for _, acknowledgement in self._unacknowledged:
                acknowledgement.cancel()
            await producer.close()

    async def _send_line(self, producer: Producer, line: InputLine | BadLine) -> None:
        seed = line if isinstance(line, BadLine) else self._reader.read(line)
        if isinstance(seed, BadLine):
            self.counters.bad += 1
            self._listener.bad(seed)
            return
        if seed.note and seed.note != self._last_note:
            self._last_note = seed.note
            self._listener.warning(seed.note)
        await self._send_seed(producer, seed)
        while self._unacknowledged and (
            len(self._unacknowledged) >= MAX_UNACKNOWLEDGED or self._unacknowledged[0][1].done()
        ):
            await self._await_first()

    async def _send_seed(self, producer: Producer, seed: SeedMessage) -> None:
        if self._closes_runs:
            self.counters.runs.setdefault(seed.execution_id, seed)
        message = _message_of(seed)
        self._unacknowledged.append((seed.url, asyncio.ensure_future(await producer.send(message))))

    async def _await_first(self) -> None:
        url, acknowledgement = self._unacknowledged[0]
        acknowledged = await acknowledgement
        self._unacknowledged.popleft()
        self.counters.sent += 1
        self.counters.partitions.add(acknowledged.partition)
        self._listener.sent(url, acknowledged)


def _message_of(seed: SeedMessage) -> OutgoingMessage:
    if seed.headers:  # signed by its owner
        return OutgoingMessage(SEEDS_OWNED.name, seed.key, seed.value, headers=seed.headers)
    return OutgoingMessage(SEEDS_SUBMITTED.name, seed.key, seed.value)
