"""From what a handler wants said to messages on the bus.

Decides key, partition and headers of each event by its topic's declaration, and which producer
sends it (one for each compression). Does not decide when: the loop holds the order of words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from hashlib import blake2b
from typing import Any

from strider.contracts import EncodeError, Topic

from .effects import Say
from .errors import Unavailable
from .loop_ports import Codec
from .ports import Acknowledged, Bus, Clock, Header, Outgoing, Producer

Acknowledgement = asyncio.Future[Acknowledged]

_SPEC_VERSION: Header = ("ce_specversion", b"1.0")


class Speaker:
    """Speaks for one service; shared by its loops, so that they share its connections."""

    def __init__(self, bus: Bus, codec: Codec, *, service: str, shards: int, clock: Clock) -> None:
        self._bus = bus
        self._codec = codec
        self._source: Header = ("ce_source", f"/strider/{service}".encode())
        self._shards = shards
        self._clock = clock
        self._producers: dict[str | None, Producer] = {}
        self._opening = asyncio.Lock()

    async def send(
        self, says: Sequence[Say], *, cause: str = "", headers: tuple[Header, ...] = ()
    ) -> list[Acknowledgement]:
        """Queue events in their order; returns their acknowledgements.

        `cause` names what they follow from, and with the place in `says` becomes the event's id: so
        a repeat has the same id. Everything is encoded before anything is sent: what cannot be
        encoded has said nothing.
        """
        now = self._clock.now().isoformat().encode()
        messages = [
            self.compose(say, cause=f"{cause}:{number}" if cause else "", now=now, headers=headers)
            for number, say in enumerate(says)
        ]
        acknowledgements: list[Acknowledgement] = []
        try:
            for say, message in zip(says, messages, strict=True):
                producer = await self._producer(say.topic)
                acknowledgements.append(_as_future(await producer.send(message)))
        except BaseException:
            for acknowledgement in acknowledgements:
                acknowledgement.add_done_callback(_retrieve)
            raise
        return acknowledgements

    async def speak(self, says: Sequence[Say], *, cause: str = "", headers: tuple[Header, ...] = ()) -> None:
        """Send, and wait until every event is acknowledged."""
        acknowledgements = await self.send(says, cause=cause, headers=headers)
        if acknowledgements:
            await asyncio.wait(acknowledgements)
        check_acknowledged(acknowledgements)

    def compose(self, say: Say, *, cause: str, now: bytes, headers: tuple[Header, ...]) -> Outgoing:
        """Make the message of one event; raises EncodeError where its topic's rules do not allow it."""
        topic, event = say.topic, say.event
        value, schema_headers = (encoded := self._codec.encode(topic, event)).value, encoded.headers
        identity = cause.encode() if cause else blake2b(value or b"", digest_size=16).hexdigest().encode()
        return Outgoing(
            topic.name,
            topic.key_of(event),
            value,
            self._partition_of(say),
            (
                *schema_headers,
                ("ce_id", identity),
                self._source,
                ("ce_type", topic.schema_name.encode()),
                _SPEC_VERSION,
                ("ce_time", now),
                *headers,
                *topic.headers_of(event),
                *say.headers,
            ),
        )

    async def flush(self) -> None:
        """Wait until everything that was sent is acknowledged or has failed."""
        for producer in self._producers.values():
            await producer.flush()

    async def close(self) -> None:
        """Flush and close all producers."""
        while self._producers:
            _, producer = self._producers.popitem()
            await producer.close()

    def _partition_of(self, say: Say) -> int | None:
        topic = say.topic
        if topic.partitioner == "shard":
            if topic.shard_of is None:
                raise EncodeError(f"{topic.name} is partitioned by shard but does not say whose")
            return topic.shard_of(say.event, topic.partitions or self._shards)
        if topic.partitioner == "explicit" and say.partition is None:
            raise EncodeError(f"{topic.name} is partitioned explicitly, and no partition was named")
        return say.partition

    async def _producer(self, topic: Topic[Any]) -> Producer:
        compression = None if topic.compression == "none" else topic.compression
        found = self._producers.get(compression)
        if found is None:
            async with self._opening:
                found = self._producers.get(compression)
                if found is None:
                    found = self._producers[compression] = await self._bus.producer(compression=compression)
        return found


def check_acknowledged(acknowledgements: Sequence[Acknowledgement]) -> None:
    """Raise the first failure of acknowledgements that have all come, having looked at each."""
    failures = [failure for each in acknowledgements if (failure := _failure_of(each)) is not None]
    if failures:
        raise failures[0]


def _failure_of(acknowledgement: Acknowledgement) -> BaseException | None:
    if acknowledgement.cancelled():
        return Unavailable("kafka", "a send was cancelled before it was acknowledged")
    return acknowledgement.exception()


def _as_future(acknowledgement: Awaitable[Acknowledged]) -> Acknowledgement:
    return asyncio.ensure_future(acknowledgement)


def _retrieve(acknowledgement: Acknowledgement) -> None:
    """Look at a failure that nobody will wait for, so that it is not reported as forgotten."""
    _failure_of(acknowledgement)
