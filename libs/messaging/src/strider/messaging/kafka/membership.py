"""Joining a group: start the library's clients and forward rebalances to the listener.

Decides the order of callbacks: the listener gets an assignment only once it has the consumer, and records
only after their partitions were assigned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.structs import TopicPartition as LibraryPartition

from strider.messaging import log_events
from strider.messaging.errors import StartRefused
from strider.messaging.log_events import logger
from strider.messaging.ports import GroupSpec, RebalanceListener, TopicPartition

from .assignor import ShardAssignor, as_strategy
from .connection import KafkaConnection
from .consumer import KafkaConsumer
from .error_mapping import mapped_errors
from .patches import internals as insides
from .patches.batching_pace import BatchingPace, pace_fetches

_log = logger(__name__)

_new_client: Any = AIOKafkaConsumer
"""The library's class, without the types that it does not have."""


class RebalanceForwarder(ConsumerRebalanceListener):
    """Forwards the library's rebalance calls, keeping the consumer's own assignment consistent."""

    def __init__(self, listener: RebalanceListener, *, group: str) -> None:
        self._listener = listener
        self._group = group
        self._consumer: asyncio.Future[KafkaConsumer] = asyncio.get_running_loop().create_future()

    def set_consumer(self, consumer: KafkaConsumer) -> None:
        """Let the calls through: the listener has the consumer now, or will before the next task runs."""
        self._consumer.set_result(consumer)

    async def on_partitions_revoked(self, revoked: Iterable[LibraryPartition]) -> None:
        """Let the listener finish and commit while the partitions still are ours."""
        del revoked  # the consumer knows which partitions the listener has
        if not self._consumer.done():
            return  # the first join: nothing was ours
        consumer = self._consumer.result()
        try:
            if consumer.assignment():
                await self._listener.on_revoked(consumer.assignment())
        except Exception:  # noqa: BLE001  # logged; the library would swallow it as well
            # The library would log and continue as well; here it is logged as an event of ours.
            _log.emit(log_events.REVOCATION_FAILED, exc_info=True, group=self._group)
        finally:
            consumer.clear_assignment()

    async def on_partitions_assigned(self, assigned: Iterable[LibraryPartition]) -> None:
        """Set the assignment, call the listener, and only then let records through."""
        consumer = await asyncio.shield(self._consumer)
        partitions = frozenset(TopicPartition(*partition) for partition in assigned)
        consumer.set_assignment(partitions)
        try:
            await self._listener.on_assigned(partitions)
        except Exception:  # noqa: BLE001  # logged; the library would swallow it as well
            _log.emit(log_events.ASSIGNMENT_FAILED, exc_info=True, group=self._group)
        finally:
            consumer.allow_delivery()


async def join_group(
    connection: KafkaConnection, spec: GroupSpec, listener: RebalanceListener
) -> KafkaConsumer:
    """Join a group; return when the first assignment has arrived."""
    if not spec.topics:
        raise StartRefused(f"group {spec.group} subscribes to no topic")
    assignor = ShardAssignor() if spec.sharded else None
    # A join is answered when the last member has come or was removed: that is no missing response.
    timeout = max(connection.request_timeout_seconds, spec.session_timeout_seconds + 10)
    client = _new_client(
        **connection.client_arguments(request_timeout_seconds=timeout),
        **_read_options(read_committed=spec.read_committed),
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
    await _start_client(client, assignor=assignor)
    pace_fetches(client, pace)
    rebalances.set_consumer(consumer)
    return consumer


async def open_reader(
    connection: KafkaConnection, partitions: Sequence[TopicPartition], *, read_committed: bool
) -> KafkaConsumer:
    """Read the given partitions from their beginning, without a group."""
    client = _new_client(**connection.client_arguments(), **_read_options(read_committed=read_committed))
    client.assign([LibraryPartition(*partition) for partition in partitions])
    consumer = KafkaConsumer(client, connection)
    await _start_client(client, assignor=None)
    try:
        consumer.set_assignment(frozenset(partitions))
        for partition, offset in (await consumer.begin_offsets(partitions)).items():
            consumer.seek(partition, offset)
    except BaseException:
        await consumer.close()
        raise
    consumer.allow_delivery()
    return consumer


def _read_options(*, read_committed: bool) -> dict[str, Any]:
    return {
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "isolation_level": "read_committed" if read_committed else "read_uncommitted",
    }


async def _start_client(client: Any, *, assignor: ShardAssignor | None) -> None:
    try:
        with mapped_errors():
            await client.start()
    except BaseException as error:
        await insides.close_consumer(client, within_seconds=1.0)
        refusal = None if assignor is None else assignor.pop_error()
        if refusal is not None:
            raise refusal from error
        raise
