"""Joining and leaving: starts the library's clients and passes rebalances on to who listens.

Decides when the listener hears of what: of a hand-out only once it has the consumer, of records
only after it heard of their partitions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.structs import TopicPartition as LibraryPartition

from strider.messaging.errors import StartRefused
from strider.messaging.ports import GroupSpec, RebalanceListener, TopicPartition
from strider.runtime.observability.logging import logger

from .assignor import ShardAssignor, as_strategy
from .connection import KafkaConnection
from .consumer import KafkaConsumer
from .error_mapping import mapped_errors
from .patches import internals as insides
from .patches import safe_decompression as unpacking
from .patches.batching_pace import BatchingPace, pace_fetches

_log = logger(__name__)

_new_client: Any = AIOKafkaConsumer
"""The library's class, without the types that it does not have."""


class RebalanceForwarder(ConsumerRebalanceListener):
    """Passes the library's rebalance calls on, keeping the consumer's own picture true around them."""

    def __init__(self, listener: RebalanceListener, *, group: str) -> None:
        self._listener = listener
        self._group = group
        self._consumer: asyncio.Future[KafkaConsumer] = asyncio.get_running_loop().create_future()

    def set_consumer(self, consumer: KafkaConsumer) -> None:
        """Let the calls through: who listens has the consumer in hand now, or will in this turn."""
        self._consumer.set_result(consumer)

    async def on_partitions_revoked(self, revoked: Iterable[LibraryPartition]) -> None:
        """Let the listener finish and commit while the partitions still are ours."""
        del revoked  # what the listener was told of is the consumer's to know
        if not self._consumer.done():
            return  # the first join: nothing was ours
        consumer = self._consumer.result()
        try:
            if consumer.assignment():
                await self._listener.on_revoked(consumer.assignment())
        except Exception:
            # The library would log and go on as well; here it is logged as ours.
            _log.exception("revoke_failed", group=self._group)
        finally:
            consumer.clear_assignment()

    async def on_partitions_assigned(self, assigned: Iterable[LibraryPartition]) -> None:
        """Note what is ours, tell the listener, and only then let records through."""
        consumer = await asyncio.shield(self._consumer)
        partitions = frozenset(TopicPartition(*partition) for partition in assigned)
        consumer.set_assignment(partitions)
        try:
            await self._listener.on_assigned(partitions)
        except Exception:
            _log.exception("assign_failed", group=self._group)
        finally:
            consumer.allow_delivery()


async def join_group(
    connection: KafkaConnection, spec: GroupSpec, listener: RebalanceListener
) -> KafkaConsumer:
    """Become a member of a group; returns when the first hand-out has arrived."""
    if not spec.topics:
        raise StartRefused(f"group {spec.group} reads no topic")
    assignor = ShardAssignor() if spec.sharded else None
    # A join is answered when the last member has come or was dropped: that is no missing answer.
    patience = max(connection.request_timeout_seconds, spec.session_timeout_seconds + 10)
    client = _new_client(
        **connection.client_arguments(request_timeout_seconds=patience),
        **_reading(read_committed=spec.read_committed),
        group_id=spec.group,
        session_timeout_ms=round(spec.session_timeout_seconds * 1000),
        heartbeat_interval_ms=round(min(3.0, spec.session_timeout_seconds / 4) * 1000),
        max_poll_interval_ms=round(spec.max_poll_interval_seconds * 1000),
        partition_assignment_strategy=(
            (RoundRobinPartitionAssignor,) if assignor is None else as_strategy(assignor)
        ),
    )
    insides.raise_group_errors(client)
    rebalances = RebalanceForwarder(listener, group=spec.group)
    client.subscribe(topics=list(spec.topics), listener=rebalances)
    pace = BatchingPace(connection.max_fetch_pause_seconds)
    consumer = KafkaConsumer(client, connection, spec=spec, assignor=assignor, pace=pace)
    await _start(client, assignor=assignor)
    pace_fetches(client, pace)
    rebalances.set_consumer(consumer)
    return consumer


async def open_reader(connection: KafkaConnection, partitions: Sequence[TopicPartition]) -> KafkaConsumer:
    """Read the given partitions from their beginning, without a group."""
    client = _new_client(**connection.client_arguments(), **_reading(read_committed=True))
    client.assign([LibraryPartition(*partition) for partition in partitions])
    consumer = KafkaConsumer(client, connection)
    await _start(client, assignor=None)
    try:
        consumer.set_assignment(frozenset(partitions))
        for partition, offset in (await consumer.begin_offsets(partitions)).items():
            consumer.seek(partition, offset)
    except BaseException:
        await consumer.close()
        raise
    consumer.allow_delivery()
    return consumer


def _reading(*, read_committed: bool) -> dict[str, Any]:
    return {
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "isolation_level": "read_committed" if read_committed else "read_uncommitted",
    }


async def _start(client: Any, *, assignor: ShardAssignor | None) -> None:
    unpacking.install_safe_decompression()
    try:
        with mapped_errors():
            await client.start()
    except BaseException as error:
        await insides.close_consumer(client, within_seconds=1.0)
        refusal = None if assignor is None else assignor.pop_error()
        if refusal is not None:
            raise refusal from error
        raise
