"""Transactional ids: take one over, and renew a session without fencing a newer owner.

Decides what the broker's responses to InitProducerId mean. The library only knows the first version of that
request, which fences every other owner; the fourth names the producer id and epoch that the caller still
believes in, and the broker refuses it when there is a newer one.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple

from aiokafka import errors as library
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.transaction import EndTxnRequest
from aiokafka.protocol.types import CompactString, Int16, Int32, Int64, Schema, TaggedFields

from strider.messaging.errors import ShardFenced

from .connection import KafkaConnection
from .error_mapping import FENCED_CODES, mapped_errors, raise_for_code
from .patches import internals as insides
from .producer import new_library_producer

_RETRY_SECONDS: Final = 0.05
_COORDINATOR_BUSY: Final = frozenset({14, 51})
"""COORDINATOR_LOAD_IN_PROGRESS, CONCURRENT_TRANSACTIONS: the same coordinator will answer soon."""
_COORDINATOR_MOVED: Final = frozenset({15, 16})
_NO_OPEN_TRANSACTION: Final = 48
"""INVALID_TXN_STATE: there is no open transaction to abort."""
_UNKNOWN_PRODUCER_ID: Final = 49
"""INVALID_PRODUCER_ID_MAPPING: the id belongs to another producer id by now, or has expired (7 days
without a transaction).
"""


class ProducerSession(NamedTuple):
    """Issued by the broker for one takeover of a transactional id."""

    producer_id: int
    producer_epoch: int

    @property
    def epoch(self) -> int:
        """One growing number: a new producer id begins again at epoch 0, so the id is part of it."""
        return (self.producer_id << 16) | self.producer_epoch


NO_SESSION: Final = ProducerSession(-1, -1)


class _InitResponse(Response):
    API_KEY = 22
    API_VERSION = 4
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        ("tags", TaggedFields),
    )


class _InitStruct(RequestStruct):
    FLEXIBLE_VERSION = True
    API_KEY = 22
    API_VERSION = 4
    RESPONSE_TYPE = _InitResponse
    SCHEMA = Schema(
        ("transactional_id", CompactString("utf-8")),
        ("transaction_timeout_ms", Int32),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        ("tags", TaggedFields),
    )


class _InitRequest(Request[_InitStruct]):
    API_KEY = 22

    def __init__(self, transactional_id: str, *, timeout_ms: int, session: ProducerSession) -> None:
        self._transactional_id = transactional_id
        self._timeout_ms = timeout_ms
        self._session = session

    def build(self, request_struct_class: type[_InitStruct]) -> _InitStruct:
        return request_struct_class(self._transactional_id, self._timeout_ms, *self._session, {})


class TransactionCoordinator:
    """The broker that coordinates one transactional id, looked up again when it moves."""

    def __init__(self, client: AIOKafkaClient, transactional_id: str, *, shard: int) -> None:
        self._client: Any = client
        self._id = transactional_id
        self._shard = shard
        self._node: int | None = None

    async def acquire(self, held: ProducerSession, *, timeout_ms: int) -> ProducerSession:
        """Return the next epoch; raise ShardFenced where the held session is not the newest."""
        request = _InitRequest(self._id, timeout_ms=timeout_ms, session=held)
        answer = await self._send(request, done=frozenset())
        return ProducerSession(answer.producer_id, answer.producer_epoch)

    async def abort(self, held: ProducerSession) -> None:
        """Abort what the held session may have left open, so that nothing of it is ever visible."""
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=held.producer_id,
            producer_epoch=held.producer_epoch,
            transaction_result=False,
        )
        # A forgotten id has no transaction; whether it has a newer owner, its next epoch shows.
        await self._send(request, done=frozenset({_NO_OPEN_TRANSACTION, _UNKNOWN_PRODUCER_ID}))

    async def _send(self, request: Any, *, done: frozenset[int]) -> Any:
        while True:
            try:
                answer = await self._client.send(
                    await self._find(), request, group=ConnectionGroup.COORDINATION
                )
            except library.KafkaError as error:
                if not error.retriable:
                    raise
                self._node = None
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            code = answer.error_code
            if code == 0 or code in done:
                return answer
            if code in FENCED_CODES or code == _UNKNOWN_PRODUCER_ID:
                raise ShardFenced(self._shard)
            if code in _COORDINATOR_MOVED:
                self._node = None
            elif code not in _COORDINATOR_BUSY:
                raise_for_code(code, doing=f"taking {self._id}")
            await asyncio.sleep(_RETRY_SECONDS)

    async def _find(self) -> int:
        if self._node is None:
            self._node = await self._client.coordinator_lookup(CoordinationType.TRANSACTION, self._id)
        return self._node


async def open_session(
    connection: KafkaConnection, transactional_id: str, *, shard: int, held: ProducerSession
) -> tuple[Any, ProducerSession]:
    """Connect a producer of the library and give it the next epoch of the transactional id."""
    client = new_library_producer(
        **connection.client_arguments(),
        transactional_id=transactional_id,
        transaction_timeout_ms=round(connection.transaction_timeout_seconds * 1000),
        compression_type="zstd",
        max_batch_size=connection.batch_bytes,
        max_request_size=connection.message_bytes,
    )
    try:
        with mapped_errors(shard=shard, at=connection.bootstrap_servers):
            async with asyncio.timeout(connection.request_timeout_seconds):
                await client.client.bootstrap()
                coordinator = TransactionCoordinator(client.client, transactional_id, shard=shard)
                if held != NO_SESSION:
                    await coordinator.abort(held)
                timeout_ms = round(connection.transaction_timeout_seconds * 1000)
                session = await coordinator.acquire(held, timeout_ms=timeout_ms)
                await insides.start_producer(client, *session)
    except BaseException:
        await insides.close_producer(client, within_seconds=0)
        raise
    return client, session
