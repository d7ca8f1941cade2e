"""Event publisher: from the requests of a handler to messages on the bus.

Decides key, partition and headers of each event by its topic's declaration, and whether it is worth
compressing; one producer sends everything. Bytes that are encoded already follow the same rules, but are
never decoded to check. Does not decide when: the pipeline holds the order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from strider.contracts import EncodeError, Topic
from strider.contracts.avro.deferred_encoding import encoded_bytes
from strider.messaging.effects import Publish, PublishRaw, PublishRequest
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Bus, Clock, Header, OutgoingMessage, Producer, RecordMetadata
from strider.runtime.consumer.ports import MessageCodec

Acknowledgement = asyncio.Future[RecordMetadata]

_SPEC_VERSION: Header = ("ce_specversion", b"1.0")


class EventPublisher:
    """Publishes for one service; shared by its loops, so that they share its connections."""

    def __init__(self, bus: Bus, codec: MessageCodec, *, service: str, shards: int, clock: Clock) -> None:
        self._bus = bus
        self._codec = codec
        self._source: Header = ("ce_source", f"/strider/{service}".encode())
        self._shards = shards
        self._clock = clock
        self._producer: Producer | None = None
        self._open_lock = asyncio.Lock()

    async def send(
        self, requests: Sequence[PublishRequest], *, cause: str = "", headers: tuple[Header, ...] = ()
    ) -> list[Acknowledgement]:
        """Queue events in their order; return their acknowledgements.

        `cause` names what they follow from, and with the position in `requests` becomes the event's id: so a
        repeat has the same id. Everything is encoded before anything is sent: an encoding error publishes
        nothing.
        """
        now = self._clock.now().isoformat().encode()
        messages = [
            self.compose(request, cause=f"{cause}:{number}" if cause else "", now=now, headers=headers)
            for number, request in enumerate(requests)
        ]
        acknowledgements: list[Acknowledgement] = []
        producer = self._producer or await self._open_producer()
        try:
            for message in messages:
                acknowledgements.append(asyncio.ensure_future(await producer.send(message)))  # noqa: PERF401  # see below
        except BaseException:  # nothing waits for what was sent before
            for acknowledgement in acknowledgements:
                acknowledgement.add_done_callback(_mark_retrieved)
            raise
        return acknowledgements

    async def publish(
        self, requests: Sequence[PublishRequest], *, cause: str = "", headers: tuple[Header, ...] = ()
    ) -> None:
        """Send, and wait until every event is acknowledged."""
        acknowledgements = await self.send(requests, cause=cause, headers=headers)
        if acknowledgements:
            await asyncio.wait(acknowledgements)
        check_acknowledged(acknowledgements)

    def compose(
        self, request: PublishRequest, *, cause: str, now: bytes, headers: tuple[Header, ...]
    ) -> OutgoingMessage:
        """Return the message of a request; raises EncodeError where its topic's rules forbid it."""
        topic = request.topic
        value, schema_headers = self._value_of(request)
        if isinstance(request, PublishRaw):
            key, partition = request.key, request.partition
            own: tuple[Header, ...] = ()
        else:
            key, partition = topic.key_of(request.event), self._partition_of(request)
            own, cause = topic.headers_of(request.event), request.cause or cause
        return OutgoingMessage(
            topic.name,
            key,
            value,
            partition,
            (
                *schema_headers,
                ("ce_id", event_id(cause, key, value)),
                self._source,
                ("ce_type", topic.schema_name.encode()),
                _SPEC_VERSION,
                ("ce_time", now),
                *headers,
                *own,
                *request.headers,
            ),
            topic.compression != "none",
        )

    async def flush(self) -> None:
        """Wait until everything that was sent is acknowledged or has failed."""
        if self._producer is not None:
            await self._producer.flush()

    async def close(self) -> None:
        """Flush and close the producer."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.close()

    def _value_of(self, request: PublishRequest) -> tuple[bytes | None, tuple[Header, ...]]:
        """Return the bytes, and the headers that a reader of them needs."""
        if isinstance(request, PublishRaw):
            check_raw(request)
            return request.value, ()
        if request.encoded is not None:
            check_event(request.topic, request.event)
            check_value(request.topic, request.encoded.value)
            return request.encoded
        written = self._codec.encode(request.topic, request.event)
        return written.value, written.headers

    def _partition_of(self, request: Publish) -> int | None:
        topic = request.topic
        if topic.partitioner == "shard":
            if topic.shard_of is None:
                raise EncodeError(
                    f"{topic.name} is partitioned by shard, but its declaration has no shard_of"
                )
            return topic.shard_of(request.event, topic.partitions or self._shards)
        if topic.partitioner == "explicit" and request.partition is None:
            raise EncodeError(f"{topic.name} is partitioned explicitly, and no partition was named")
        return request.partition

    async def _open_producer(self) -> Producer:
        async with self._open_lock:
            if self._producer is None:
                self._producer = await self._bus.producer()
            return self._producer


def check_raw(request: PublishRaw) -> None:
    """Refuse bytes, or a tombstone, that their topic does not accept."""
    topic = request.topic
    if topic.partitioner != "key" and request.partition is None:
        raise EncodeError(f"{topic.name} is partitioned by {topic.partitioner}, and no partition was named")
    if request.value is not None:
        check_value(topic, request.value)
    elif topic.cleanup != "compact":
        raise EncodeError(f"{topic.name} is not compacted, so a tombstone means nothing there")
    if request.key is None and topic.cleanup == "compact":
        raise EncodeError(f"{topic.name} is compacted, and no key was named")


def check_event(topic: Topic[Any], event: object) -> None:
    """Refuse an event of another topic: key and partition are taken from it."""
    if type(event) is not topic.value:
        raise EncodeError(f"{topic.name} carries {topic.value.__name__}, not {type(event).__name__}")


def check_value(topic: Topic[Any], value: bytes) -> None:
    """Apply the codec's size limits to bytes that were encoded elsewhere."""
    if not value:
        raise EncodeError(f"{topic.name}: no bytes")
    if len(value) > topic.max_bytes:
        raise EncodeError(f"{topic.name}: {len(value)} bytes, the limit is {topic.max_bytes}")


def event_id(cause: str, key: bytes | None, value: bytes | None) -> bytes:
    """Return the id of a message: its cause, or a hash of its content; a repeat has the same id."""
    if cause:
        return cause.encode()
    digest = blake2b(encoded_bytes(value) or b"", digest_size=16)
    if value is None:
        digest.update(key or b"")  # all tombstones would have one id
    return digest.hexdigest().encode()


def check_acknowledged(acknowledgements: Sequence[Acknowledgement]) -> None:
    """Raise the first failure of completed acknowledgements, having retrieved each."""
    failures = [failure for each in acknowledgements if (failure := _failure_of(each)) is not None]
    if failures:
        raise failures[0]


def _failure_of(acknowledgement: Acknowledgement) -> BaseException | None:
    if acknowledgement.cancelled():
        return Unavailable("kafka", "a send was cancelled before it was acknowledged")
    return acknowledgement.exception()


def _mark_retrieved(acknowledgement: Acknowledgement) -> None:
    """Retrieve a failure that nothing will wait for, so that it is not reported as lost."""
    _failure_of(acknowledgement)
