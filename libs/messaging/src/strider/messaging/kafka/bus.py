"""The port's broker, made of aiokafka's clients.

Decides nothing but which client serves which wish; what they have in common (address, credentials,
patience) is the connection's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.metadata import MetadataRequest

from strider.messaging.errors import InfrastructureError
from strider.messaging.ports import GroupSpec, RebalanceListener, TopicPartition

from .connection import KafkaConnection
from .consumer import KafkaConsumer
from .error_mapping import mapped_errors, raise_for_code
from .group_offsets import GroupOffsetReader
from .membership import join_group, open_reader
from .patches import closed_connections as links
from .patches import compression as packing
from .patches import internals as insides
from .producer import KafkaProducer
from .shard_writer import KafkaShardWriter, open_shard_writer

P = TypeVar("P", KafkaProducer, KafkaConsumer, KafkaShardWriter)

_NO_SUCH_TOPIC: Final = frozenset({3, 17})
"""UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION."""

_new_client: Any = AIOKafkaClient
"""The library's class, without the types that it does not have."""


class KafkaBus:
    """A real broker behind the port. Connects when it is first asked for something."""

    def __init__(self, connection: KafkaConnection) -> None:
        links.install_closed_transport_handling()
        packing.install_light_compression()
        self._settings = connection
        self._client: Any = None
        self._asking = asyncio.Lock()
        self._group_offsets = GroupOffsetReader(connection)
        self._parts: list[KafkaProducer | KafkaConsumer | KafkaShardWriter] = []
        self._closed = False

    async def producer(self, *, compression: str | None = "zstd") -> KafkaProducer:
        """Open a producer that writes with this codec."""
        self._check_open()
        producer = KafkaProducer(self._settings, compression=compression)
        await producer.open()
        return self._keep(producer)

    async def consumer(self, spec: GroupSpec, listener: RebalanceListener) -> KafkaConsumer:
        """Join a group; the listener hears of the first hand-out after this has returned."""
        self._check_open()
        consumer = await join_group(self._settings, spec, listener)
        return self._keep(consumer)

    async def reader(self, partitions: Iterable[TopicPartition]) -> KafkaConsumer:
        """Open a groupless, read-committed reader at the beginning of the given partitions."""
        self._check_open()
        reader = await open_reader(self._settings, list(partitions))
        return self._keep(reader)

    async def take_shard(
        self,
        namespace: str,
        shard: int,
        *,
        commit_interval_seconds: float = 0.25,
        on_epoch: Callable[[int], None] | None = None,
    ) -> KafkaShardWriter:
        """Become the one writer of a shard's truth topics; fences the writer before.

        `on_epoch` is called with each further epoch that this writer had to take.
        """
        self._check_open()
        writer = await open_shard_writer(
            self._settings,
            namespace,
            shard,
            commit_interval_seconds=commit_interval_seconds,
            on_epoch=on_epoch,
        )
        return self._keep(writer)

    async def partition_count(self, topic: str) -> int | None:
        """How many partitions the topic has; None where it does not exist."""
        answer = await self._ask(MetadataRequest([topic], allow_auto_topic_creation=False))
        ((code, _, _, partitions),) = answer.topics
        if code in _NO_SUCH_TOPIC:
            return None
        raise_for_code(code, doing=f"looking up {topic}")
        return len(partitions)

    async def committed(self, group: str) -> Mapping[TopicPartition, int]:
        """Offsets that a group has committed, whoever its members are."""
        self._check_open()
        return await self._group_offsets.committed(group)

    async def ping(self) -> None:
        """Raise Unavailable when the broker cannot be reached."""
        await self._ask(MetadataRequest([], allow_auto_topic_creation=False))

    async def close(self) -> None:
        """Close whatever was opened here and is not closed yet."""
        self._closed = True
        parts, self._parts = self._parts, []
        await asyncio.gather(
            self._group_offsets.close(), *(part.close() for part in parts), return_exceptions=True
        )
        async with self._asking:
            await self._disconnect()

    async def _ask(self, request: MetadataRequest) -> Any:
        """Put a question to any broker. A connection that failed is not tried again, but made anew."""
        self._check_open()
        async with self._asking:
            try:
                with mapped_errors(at=self._settings.bootstrap_servers):
                    async with asyncio.timeout(self._settings.request_timeout_seconds):
                        if self._client is None:
                            self._client = _new_client(**self._settings.client_arguments())
                            await self._client.bootstrap()
                        return await self._client.send(self._client.get_random_node(), request)
            except BaseException:
                await self._disconnect()
                raise

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await insides.close_client(client)

    def _keep(self, part: P) -> P:
        """Remember what is to be closed with the bus, and forget what was closed before it."""
        self._parts = [*(other for other in self._parts if not other.is_closed), part]
        return part

    def _check_open(self) -> None:
        if self._closed:
            raise InfrastructureError("the bus is closed")
