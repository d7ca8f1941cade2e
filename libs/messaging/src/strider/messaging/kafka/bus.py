"""The Kafka bus: the ports on aiokafka's clients, and committed offsets of other groups.

Decides only which client serves which call, and when the client for offsets of groups is opened (at the first
request) and replaced (after a failure); address, credentials and timeouts belong to the connection. A
response that a group's offsets are not loaded yet is an outage, never "there are none".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.api import Request
from aiokafka.protocol.metadata import MetadataRequest

from strider.messaging.errors import InfrastructureError
from strider.messaging.ports import GroupSpec, RebalanceListener, TopicPartition

from .cluster_metadata import ClusterIdentityRequest, identity_of
from .connection import KafkaConnection
from .consumer import KafkaConsumer
from .error_mapping import mapped_errors, raise_for_code
from .membership import join_group, open_reader
from .patches import closed_connections as links
from .patches import compression as packing
from .patches import internals as insides
from .patches import metadata_pace, offset_lookups
from .patches import safe_decompression as unpacking
from .patches.internals import raise_group_errors
from .producer import KafkaProducer
from .shard_writer import KafkaShardWriter, open_shard_writer

_new_admin: Final[Any] = AIOKafkaAdminClient
"""The library's class, without the types that it does not have."""


class GroupOffsetReader:
    """One connection for all such requests, one request at a time."""

    def __init__(self, connection: KafkaConnection) -> None:
        self._connection = connection
        self._admin: Any = None
        self._lock = asyncio.Lock()

    async def committed(self, group: str) -> Mapping[TopicPartition, int]:
        """Return where a group has committed; partitions without an offset are left out."""
        async with self._lock:
            try:
                with mapped_errors(at=self._connection.bootstrap_servers):
                    async with asyncio.timeout(self._connection.request_timeout_seconds):
                        await self._connect()
                        found = await self._admin.list_consumer_group_offsets(group)
            except BaseException:
                await self._disconnect()
                raise
        return {TopicPartition(*place): known.offset for place, known in found.items() if known.offset >= 0}

    async def close(self) -> None:
        """Close the connection."""
        async with self._lock:
            await self._disconnect()

    async def _connect(self) -> None:
        if self._admin is None:
            self._admin = _new_admin(**self._connection.client_arguments())
            raise_group_errors(self._admin)
            await self._admin.start()

    async def _disconnect(self) -> None:
        admin, self._admin = self._admin, None
        if admin is not None:
            await admin.close()


P = TypeVar("P", KafkaProducer, KafkaConsumer, KafkaShardWriter)

_NO_SUCH_TOPIC: Final = frozenset({3, 17})
"""UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION."""

_new_client: Any = AIOKafkaClient
"""The library's class, without the types that it does not have."""


class KafkaBus:
    """A real broker behind the port. Connects at the first call."""

    def __init__(self, connection: KafkaConnection) -> None:
        links.install_closed_transport_handling()
        metadata_pace.install_metadata_pace()
        offset_lookups.install_offset_lookups()
        packing.install_light_compression()
        unpacking.install_safe_decompression(connection.max_decompressed_batch_bytes)
        self._connection = connection
        self._admin_client: Any = None
        self._request_lock = asyncio.Lock()
        self._group_offsets = GroupOffsetReader(connection)
        self._open_clients: list[KafkaProducer | KafkaConsumer | KafkaShardWriter] = []
        self._is_closed = False

    async def producer(self, *, compression: str | None = "zstd") -> KafkaProducer:
        """Open a producer that writes with this codec."""
        self._check_open()
        producer = KafkaProducer(self._connection, compression=compression)
        await producer.open()
        return self._track(producer)

    async def consumer(self, spec: GroupSpec, listener: RebalanceListener) -> KafkaConsumer:
        """Join a group; the listener gets the first assignment after this has returned."""
        self._check_open()
        consumer = await join_group(self._connection, spec, listener)
        return self._track(consumer)

    async def reader(
        self, partitions: Iterable[TopicPartition], *, read_committed: bool = True
    ) -> KafkaConsumer:
        """Open a groupless reader at the beginning of the given partitions."""
        self._check_open()
        reader = await open_reader(self._connection, list(partitions), read_committed=read_committed)
        return self._track(reader)

    async def take_shard(
        self,
        namespace: str,
        shard: int,
        *,
        commit_interval_seconds: float = 0.25,
        on_epoch: Callable[[int], None] | None = None,
    ) -> KafkaShardWriter:
        """Become the one writer of a shard's topics; fence the writer before.

        `on_epoch` is called with each further epoch that this writer had to take.
        """
        self._check_open()
        writer = await open_shard_writer(
            self._connection,
            namespace,
            shard,
            commit_interval_seconds=commit_interval_seconds,
            on_epoch=on_epoch,
        )
        return self._track(writer)

    async def partition_count(self, topic: str) -> int | None:
        """Return how many partitions the topic has; None where it does not exist."""
        answer = await self._request(MetadataRequest([topic], allow_auto_topic_creation=False))
        ((code, _, _, partitions),) = answer.topics
        if code in _NO_SUCH_TOPIC:
            return None
        raise_for_code(code, doing=f"looking up {topic}")
        return len(partitions)

    async def cluster_identity(self, topic: str) -> str:
        """Return what tells this cluster from all others: its id, and the id of one of its topics."""
        return identity_of(await self._request(ClusterIdentityRequest(topic)), topic)

    async def committed(self, group: str) -> Mapping[TopicPartition, int]:
        """Return the offsets that a group has committed, whichever its members are."""
        self._check_open()
        return await self._group_offsets.committed(group)

    async def ping(self) -> None:
        """Raise Unavailable when the broker cannot be reached."""
        await self._request(MetadataRequest([], allow_auto_topic_creation=False))

    async def close(self) -> None:
        """Close whatever was opened here and is not closed yet."""
        self._is_closed = True
        parts, self._open_clients = self._open_clients, []
        await asyncio.gather(
            self._group_offsets.close(), *(part.close() for part in parts), return_exceptions=True
        )
        async with self._request_lock:
            await self._disconnect()

    async def _request(self, request: Request[Any]) -> Any:
        """Send a request to any broker; a connection that failed is replaced."""
        self._check_open()
        async with self._request_lock:
            try:
                with mapped_errors(at=self._connection.bootstrap_servers):
                    async with asyncio.timeout(self._connection.request_timeout_seconds):
                        if self._admin_client is None:
                            self._admin_client = _new_client(**self._connection.client_arguments())
                            await self._admin_client.bootstrap()
                        return await self._admin_client.send(self._admin_client.get_random_node(), request)
            except BaseException:
                await self._disconnect()
                raise

    async def _disconnect(self) -> None:
        client, self._admin_client = self._admin_client, None
        if client is not None:
            await insides.close_client(client)

    def _track(self, part: P) -> P:
        """Keep what has to be closed with the bus, and drop what was closed before it."""
        self._open_clients = [*(other for other in self._open_clients if not other.is_closed), part]
        return part

    def _check_open(self) -> None:
        if self._is_closed:
            raise InfrastructureError("the bus is closed")
