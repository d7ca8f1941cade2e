"""Kafka producer: idempotent, acknowledged by all replicas in sync.

Decides how records become batches and what happens after a batch was refused. Knows nothing of events,
schemas or shards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final

from aiokafka import AIOKafkaProducer

from strider.contracts import EncodeError
from strider.messaging import log_events
from strider.messaging.errors import InfrastructureError
from strider.messaging.log_events import logger
from strider.messaging.ports import OutgoingMessage, RawRecord, RecordMetadata

from .connection import KafkaConnection, check_compression
from .error_mapping import describe_error, map_error, mapped_errors
from .patches import compression as packing
from .patches import internals as insides
from .patches.batching_pace import BatchingPace, pace_sends
from .patches.fast_append import append_message, install_metadata_futures

RECORD_OVERHEAD_BYTES: Final = 96
"""Size of a record beside key and value: lengths, timestamp, and the head of its batch."""

_log = logger(__name__)

new_library_producer: Any = AIOKafkaProducer
"""The library's class, without the types that it does not have."""


class KafkaProducer:
    """A producer behind the port.

    Once the broker has refused a batch for good, the sequence numbers of its partition have a hole and the
    library would fail there for ever; then a new client takes over as soon as what the old one has in flight
    is settled, so that the order within a partition stays.
    """

    def __init__(self, connection: KafkaConnection, *, compression: str | None) -> None:
        self._connection = connection
        self._compression = check_compression(compression)
        self._client: Any = None
        self._uncompressed_topics: set[str] = set()
        """Topics whose batches are not compressed."""
        self._is_broken = False
        self._renewal_lock = asyncio.Lock()
        self._is_closed = False

    async def open(self) -> None:
        """Connect and get a producer id. Raises Unavailable where no broker responds."""
        self._client = await self._new_client()

    async def send(self, message: OutgoingMessage) -> Awaitable[RecordMetadata]:
        """Queue a message (waits only for buffer space); the returned awaitable is its acknowledgement."""
        topic, key, value = message.topic, message.key, message.value
        in_headers = sum(len(part) for part in chain.from_iterable(message.headers) if part)
        self._check_size(_size(key) + _size(value) + in_headers, topic)
        if key is None and value is None:
            raise EncodeError(f"a message for {topic} has neither key nor value")
        if not message.is_compressed:
            self._uncompressed_topics.add(topic)
        client = await self._ready_client()
        with mapped_errors():
            return await append_message(client, message)

    async def send_raw(
        self, topic: str, partition: int, records: Iterable[RawRecord]
    ) -> Sequence[Awaitable[RecordMetadata]]:
        """Queue records as raw batches, split where one batch is full; one acknowledgement a batch."""
        client = await self._ready_client()
        acknowledgements = []
        for batch in self._batches(client, topic, records):
            with mapped_errors():
                await self._check_partition(client, topic, partition)
                queued = await client.send_batch(batch, topic, partition=partition)
            acknowledgements.append(self._acknowledgement(queued))
        return acknowledgements

    def _batches(self, client: Any, topic: str, records: Iterable[RawRecord]) -> Iterable[Any]:
        batch: Any = None
        for key, value in records:
            self._check_size(_size(key) + _size(value), topic)
            if batch is not None and batch.append(timestamp=None, key=key, value=value) is None:
                yield batch
                batch = None
            if batch is None:
                batch = client.create_batch()
                batch.append(timestamp=None, key=key, value=value)
        if batch is not None:
            batch.close()
            yield batch

    async def flush(self) -> None:
        """Wait until everything that was queued is acknowledged or has failed."""
        with mapped_errors():
            await self._client.flush()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closed

    async def close(self) -> None:
        """Flush within the close timeout and close; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._client is not None:
            await insides.close_producer(self._client, within_seconds=self._connection.close_timeout_seconds)

    def _check_size(self, size: int, topic: str) -> None:
        if size + RECORD_OVERHEAD_BYTES > self._connection.message_bytes:
            raise EncodeError(
                f"{size} bytes for {topic} are over the limit of {self._connection.message_bytes}"
            )

    async def _check_partition(self, client: Any, topic: str, partition: int) -> None:
        known = await client.partitions_for(topic)
        if partition not in known:
            raise InfrastructureError(f"{topic} has {len(known)} partitions, there is no {partition}")

    def _acknowledgement(self, queued: asyncio.Future[Any]) -> asyncio.Future[RecordMetadata]:
        acknowledgement: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()
        queued.add_done_callback(partial(self._resolve, acknowledgement))
        return acknowledgement

    def _resolve(self, acknowledgement: asyncio.Future[RecordMetadata], queued: asyncio.Future[Any]) -> None:
        if queued.cancelled():
            acknowledgement.cancel()
            return
        error = queued.exception()
        if error is not None:
            self._mark_broken(error)
        if acknowledgement.done():
            return
        if error is None:
            found = queued.result()
            acknowledgement.set_result(RecordMetadata(found.topic, found.partition, found.offset))
        elif isinstance(error, Exception):
            acknowledgement.set_exception(map_error(error))
        else:
            acknowledgement.set_exception(error)

    def _mark_broken(self, error: BaseException) -> None:
        """Mark the client as broken: a batch was refused, so its partition has a hole."""
        if not self._is_closed and not self._is_broken:
            _log.emit(log_events.PRODUCER_BROKEN, reason=describe_error(error))
            self._is_broken = True

    async def _ready_client(self) -> Any:
        if self._is_closed:
            raise InfrastructureError("this producer is closed")
        if self._is_broken:
            async with self._renewal_lock:
                if self._is_broken:
                    await self._renew_client()
        return self._client

    async def _renew_client(self) -> None:
        fresh = await self._new_client()
        old, self._client = self._client, fresh
        await insides.close_producer(old, within_seconds=self._connection.request_timeout_seconds)
        self._is_broken = False

    async def _new_client(self) -> Any:
        client = new_library_producer(
            **self._connection.client_arguments(),
            enable_idempotence=True,
            acks="all",
            compression_type=self._compression,
            max_batch_size=self._connection.batch_bytes,
            max_request_size=self._connection.message_bytes,
        )
        try:
            with mapped_errors(at=self._connection.bootstrap_servers):
                async with asyncio.timeout(self._connection.request_timeout_seconds):
                    await client.start()
        except BaseException:
            await insides.close_producer(client, within_seconds=0)
            raise
        pace_sends(client, BatchingPace(self._connection.max_send_pause_seconds))
        packing.exclude_topics_from_compression(client, self._uncompressed_topics)
        install_metadata_futures(client, self._mark_broken)
        return client


def _size(part: bytes | None) -> int:
    return 0 if part is None else len(part)
