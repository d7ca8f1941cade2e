"""The two buses that must behave alike, each with what only its broker can do: kill, trim, compact.

A test asks an environment for buses (one stands for one process) and topics; it does not know which it has.
"""

from __future__ import annotations

import asyncio
import itertools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.structs import TopicPartition as LibraryPartition

from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import Bus, Consumer, RawRecord, TopicPartition
from strider.runtime.clocks import SystemClock

SETTLE_SECONDS = 60.0
"""How long a condition may take to come true on a busy machine."""

COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "1000",
    "delete.retention.ms": "0",
}


async def until(condition: Callable[[], Awaitable[bool]], *, what: str) -> None:
    """Repeat until the condition holds, or fail naming it."""
    deadline = asyncio.get_running_loop().time() + SETTLE_SECONDS
    while not await condition():
        assert asyncio.get_running_loop().time() < deadline, f"never came true: {what}"
        await asyncio.sleep(0.02)


class OpenTransaction(ABC):
    """Records that were written and neither committed nor aborted."""

    @abstractmethod
    async def commit(self) -> None: ...
    @abstractmethod
    async def abort(self) -> None: ...


class World(ABC):
    """One broker, and as many processes on it as a test likes."""

    name: str

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._numbers = itertools.count(1)
        self._buses: list[Bus] = []

    def unique(self, word: str) -> str:
        """Make a name that no other test of this session has."""
        return f"{self._prefix}-{word}-{next(self._numbers)}"

    def bus(self) -> Bus:
        """Give the bus of one more process."""
        bus = self._new_bus()
        self._buses.append(bus)
        return bus

    async def close(self) -> None:
        for bus in self._buses:
            await bus.close()

    @abstractmethod
    def _new_bus(self) -> Bus: ...
    @abstractmethod
    async def create_topic(self, partitions: int = 1, **config: str) -> str: ...
    @abstractmethod
    async def start_group(self, group: str, topics: Iterable[str]) -> None:
        """Write offset 0 for each partition, as `strider topics apply` does."""

    @abstractmethod
    async def kill(self, consumer: Consumer) -> None:
        """End a member as SIGKILL does: silently, so that its session has to run out."""

    @abstractmethod
    async def trim(self, partition: TopicPartition, before: int) -> None: ...
    @abstractmethod
    async def compact(self, topic: str, is_compacted: Callable[[], Awaitable[bool]]) -> None: ...
    @abstractmethod
    async def open_transaction(
        self, partition: TopicPartition, records: Iterable[RawRecord]
    ) -> OpenTransaction: ...


class _InProcessTransaction(OpenTransaction):
    def __init__(self, broker: InProcessBroker, name: str, epoch: int) -> None:
        self._broker = broker
        self._name = name
        self._epoch = epoch

    async def commit(self) -> None:
        self._broker.transactions.commit(self._name, epoch=self._epoch, shard=0)

    async def abort(self) -> None:
        self._broker.transactions.abort(self._name, epoch=self._epoch, shard=0)


class InProcessWorld(World):
    name = "inprocess"

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix)
        self._broker = InProcessBroker(clock=SystemClock())

    def _new_bus(self) -> Bus:
        return InProcessBus(self._broker)

    async def create_topic(self, partitions: int = 1, **config: str) -> str:
        name = self.unique("topic")
        limits = {"message_bytes": int(config["max_message_bytes"])} if "max_message_bytes" in config else {}
        self._broker.create_topic(name, partitions, **limits)
        return name

    async def start_group(self, group: str, topics: Iterable[str]) -> None:
        self._broker.start_group(group, topics)

    async def kill(self, consumer: Consumer) -> None:
        consumer.kill()  # type: ignore[attr-defined]

    async def trim(self, partition: TopicPartition, before: int) -> None:
        self._broker.trim(partition, before)

    async def compact(self, topic: str, is_compacted: Callable[[], Awaitable[bool]]) -> None:
        self._broker.compact(topic, delete_retention_ms=-1)
        assert await is_compacted()

    async def open_transaction(
        self, partition: TopicPartition, records: Iterable[RawRecord]
    ) -> OpenTransaction:
        name = self.unique("transaction")
        epoch = self._broker.transactions.initialise(name)
        for record in records:
            self._broker.transactions.append(name, partition, record, epoch=epoch, shard=0)
        return _InProcessTransaction(self._broker, name, epoch)


class _KafkaTransaction(OpenTransaction):
    def __init__(self, producer: Any) -> None:
        self._producer = producer

    async def commit(self) -> None:
        await self._producer.commit_transaction()
        await self._producer.stop()

    async def abort(self) -> None:
        await self._producer.abort_transaction()
        await self._producer.stop()


class KafkaWorld(World):
    name = "kafka"

    def __init__(self, prefix: str, bootstrap: str) -> None:
        super().__init__(prefix)
        self._bootstrap = bootstrap
        self._admin: Any = None

    def _new_bus(self) -> Bus:
        return KafkaBus(KafkaConnection((self._bootstrap,), close_timeout_seconds=5))

    async def _ask(self) -> Any:
        if self._admin is None:
            self._admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await self._admin.start()
        return self._admin

    async def close(self) -> None:
        await super().close()
        if self._admin is not None:
            await self._admin.close()

    async def create_topic(self, partitions: int = 1, **config: str) -> str:
        name = self.unique("topic")
        settings = {key.replace("_", "."): value for key, value in config.items()}
        admin = await self._ask()
        await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=settings)])
        bus = self._new_bus()

        async def is_there() -> bool:
            return await bus.partition_count(name) == partitions

        try:
            await until(is_there, what=f"topic {name} exists")
        finally:
            await bus.close()
        return name

    async def start_group(self, group: str, topics: Iterable[str]) -> None:
        bus = self._new_bus()
        counts = {topic: await bus.partition_count(topic) or 0 for topic in topics}
        await bus.close()
        partitions = [LibraryPartition(topic, n) for topic, count in counts.items() for n in range(count)]
        client = AIOKafkaConsumer(bootstrap_servers=self._bootstrap, group_id=group, enable_auto_commit=False)
        client.assign(partitions)
        await client.start()
        try:
            await client.commit(dict.fromkeys(partitions, 0))
        finally:
            await client.stop()

    async def kill(self, consumer: Consumer) -> None:
        # With a name of its own the library takes the member for a static one, which leaves silently.
        consumer._client._coordinator._group_instance_id = "killed"  # type: ignore[attr-defined]
        await consumer.close()

    async def trim(self, partition: TopicPartition, before: int) -> None:
        admin = await self._ask()
        await admin.delete_records({LibraryPartition(*partition): RecordsToDelete(before_offset=before)})

    async def compact(self, topic: str, is_compacted: Callable[[], Awaitable[bool]]) -> None:
        bus = self._new_bus()
        producer = await bus.producer()
        count = await bus.partition_count(topic) or 0

        async def has_happened() -> bool:
            # Only a segment that is no longer written is cleaned, and only a write ends the old one.
            for partition in range(count):
                await asyncio.gather(*await producer.send_raw(topic, partition, [RawRecord(b"~", b"")]))
            await asyncio.sleep(0.3)
            return await is_compacted()

        try:
            await until(has_happened, what=f"{topic} is compacted")
        finally:
            await bus.close()

    async def open_transaction(
        self, partition: TopicPartition, records: Iterable[RawRecord]
    ) -> OpenTransaction:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap, transactional_id=self.unique("transaction")
        )
        await producer.start()
        await producer.begin_transaction()
        for key, value in records:
            await producer.send_and_wait(partition.topic, key=key, value=value, partition=partition.partition)
        return _KafkaTransaction(producer)
