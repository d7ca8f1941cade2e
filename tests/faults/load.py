"""A client that requests echoes at a steady rate, and knows what was acknowledged where."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiokafka import AIOKafkaProducer

from strider.contracts.generated.events import EchoRequested
from strider.contracts.generated.topics import ECHO_REQUESTS
from tests.processes.broker import Broker
from tests.processes.waiting import until

HOSTS = 30
TURN_SECONDS = 0.02
BLANK_EVERY = 10
"""Each so many-th request is one that is refused, so that both kinds are counted."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request stands in its log."""

    partition: int
    offset: int


class Asker:
    """Sends requests one by one; `sent` has those that the broker acknowledged."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._run = uuid.uuid4().hex[:8]
        # These hosts were never counted before, so every test has a ledger of its own.
        self.hosts = tuple(f"host-{number}-{self._run}.example" for number in range(HOSTS))
        self._number = 0
        self._waiting: set[asyncio.Task[Any]] = set()
        self._producer: AIOKafkaProducer | None = None
        self.sent: dict[str, Place] = {}

    async def __aenter__(self) -> Self:
        self._producer = AIOKafkaProducer(
            bootstrap_servers=self._broker.address,
            acks="all",
            enable_idempotence=True,
            request_timeout_ms=120_000,
        )
        await self._producer.start()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._producer is not None
        if error is None:
            await self.settle()
        for task in self._waiting:
            task.cancel()
        await self._producer.stop()

    async def ask(self, *, host: str | None = None, text: str | None = None) -> str:
        """Ask for one echo; returns its id without waiting for the acknowledgement."""
        self._number += 1
        name = f"{self._run}-{self._number}"
        if text is None:
            text = " " if self._number % BLANK_EVERY == 0 else f"text {self._number}"
        host = host or self.hosts[self._number % HOSTS]
        event = EchoRequested(name, host, text, sent_at_ms=round(time.time() * 1000))
        encoded = self._broker.codec.encode(ECHO_REQUESTS, event)
        await self._send(encoded.value, event, headers=encoded.headers, note=name)
        return name

    async def send_raw(
        self, value: bytes | None, *, host: str | None, headers: tuple[tuple[str, bytes], ...] = ()
    ) -> Place:
        """Send bytes as they are, keyed as a request about that host (None: without a key)."""
        assert self._producer is not None
        event = EchoRequested("", host or self.hosts[0], "")
        sent = await self._send(value, event, headers=headers, key=host and host.encode())
        metadata = await sent
        return Place(metadata.partition, metadata.offset)

    def shard(self, host: str) -> int:
        """Tell the partition of a host's requests."""
        assert ECHO_REQUESTS.shard_of is not None
        return ECHO_REQUESTS.shard_of(EchoRequested("", host, ""), self._broker.shards)

    async def settle(self) -> None:
        """Wait until all that was sent is acknowledged."""
        while self._waiting:
            await asyncio.gather(*self._waiting)

    async def _send(
        self,
        value: bytes | None,
        event: EchoRequested,
        *,
        headers: tuple[tuple[str, bytes], ...],
        note: str = "",
        key: bytes | None = b"",
    ) -> Any:
        assert self._producer is not None
        assert ECHO_REQUESTS.shard_of is not None
        sent = await self._producer.send(
            ECHO_REQUESTS.name,
            value,
            key=ECHO_REQUESTS.key_of(event) if key == b"" else key,
            partition=ECHO_REQUESTS.shard_of(event, self._broker.shards),
            headers=list(headers),
        )
        if note:
            task = asyncio.ensure_future(self._acknowledge(note, sent))
            self._waiting.add(task)
            task.add_done_callback(self._waiting.discard)
        return sent

    async def _acknowledge(self, name: str, sent: Any) -> None:
        metadata = await sent
        self.sent[name] = Place(metadata.partition, metadata.offset)


class Load(Asker):
    """Asks on and on, until it is left."""

    def __init__(self, broker: Broker, *, per_second: float) -> None:
        super().__init__(broker)
        self._per_turn = per_second * TURN_SECONDS
        self._pumping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._pumping = asyncio.create_task(self._pump())
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.pause()
        await super().__aexit__(kind, error, trace)

    async def pause(self) -> None:
        """Ask nothing more."""
        if self._pumping is not None:
            pumping, self._pumping = self._pumping, None
            pumping.cancel()
            await asyncio.wait({pumping})
            if not pumping.cancelled() and (failure := pumping.exception()):
                raise failure

    async def until_asked(self, more: int, *, tell: Callable[[], str] = str) -> None:
        """Wait until so many more were asked for: the moments of blows are counted in messages."""
        goal = self._number + more
        await until(lambda: self._number >= goal, what=f"{more} more requests", tell=tell)

    async def _pump(self) -> None:
        due = 0.0
        before = time.monotonic()
        while True:
            await asyncio.sleep(TURN_SECONDS)
            now = time.monotonic()
            # What a late turn missed is not made up for: a burst is another test.
            due += min((now - before) / TURN_SECONDS, 5.0) * self._per_turn
            before = now
            while due >= 1:
                due -= 1
                await self.ask()
