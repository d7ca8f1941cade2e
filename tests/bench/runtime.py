"""What a message costs its process: the loop on both buses, raw records, a shard's commit, a rebuild.

CPU of this process alone, on uvloop as services run; the broker is another one. Messages are echo
requests of 1 KB, and the handler does nothing.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from uuid import uuid4

import uvloop
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import EchoRequested
from strider.contracts.generated.topics import ECHO_DLQ, ECHO_REQUESTS
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import Bus, GroupSpec, OutgoingMessage, RawRecord, Record, TopicPartition
from strider.runtime.clocks import SystemClock, SystemRandomness
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import ConsumerPorts
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher

from .measure import Row, Spread

PARTITIONS = 4
MESSAGE_BYTES = 1024
GROUP = "bench"
DEADLINE_SECONDS = 60.0


class Counting:
    """A handler that does nothing but know when it has seen everything."""

    def __init__(self, expected: int) -> None:
        self.left = expected
        self.done = asyncio.Event()

    async def on_message(self, _event: EchoRequested, _record: Record) -> Effects:
        self.left -= 1
        if self.left == 0:
            self.done.set()
        return NO_EFFECTS


def _messages(codec: Codec, count: int) -> list[OutgoingMessage]:
    said = []
    for number in range(count):
        event = EchoRequested(
            request_id=f"r{number}", host=f"h{number % 500}.test", text="x" * (MESSAGE_BYTES - 40)
        )
        encoded = codec.encode(ECHO_REQUESTS, event)
        said.append(
            OutgoingMessage(
                ECHO_REQUESTS.name, event.host.encode(), encoded.value, number % PARTITIONS, encoded.headers
            )
        )
    return said


async def _send(bus: Bus, messages: Sequence[OutgoingMessage]) -> float:
    producer = await bus.producer(compression=None)
    begin = time.process_time()
    acknowledgements = [await producer.send(message) for message in messages]
    await asyncio.gather(*acknowledgements)
    spent = time.process_time() - begin
    await producer.close()
    return spent


async def _consume(bus: Bus, codec: Codec, count: int) -> float:
    counting = Counting(count)
    clock = SystemClock()
    ports = ConsumerPorts(
        clock=clock,
        chance=SystemRandomness(),
        publisher=EventPublisher(bus, codec, service="bench", shards=PARTITIONS, clock=clock),
        dead_letters=DeadLetterWriter(ECHO_DLQ, DeadLetterOrigin("bench", GROUP), clock=clock),
    )
    spec = GroupSpec(GROUP, (ECHO_REQUESTS.name,))
    loop = ConsumerLoop(bus, codec, (Subscription(ECHO_REQUESTS, counting.on_message),), spec, ports=ports)
    begin = time.process_time()
    task = asyncio.create_task(loop.run())
    async with asyncio.timeout(DEADLINE_SECONDS):
        await counting.done.wait()
        loop.request_stop()
        await task
    return time.process_time() - begin


async def _in_process(count: int) -> tuple[float, float]:
    broker, codec = InProcessBroker(clock=SystemClock()), Codec(SchemaStore.bundled())
    broker.create_topic(ECHO_REQUESTS.name, PARTITIONS)
    broker.create_topic(ECHO_DLQ.name, 1)
    broker.start_group(GROUP, [ECHO_REQUESTS.name])
    bus = InProcessBus(broker)
    sent = await _send(bus, _messages(codec, count))
    return sent / count, await _consume(bus, codec, count) / count


async def _topics(bootstrap: str, *names: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        existing = await admin.list_topics()
        await admin.delete_topics([name for name in names if name in existing])
        await _gone(admin, names)
        await admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names])
    finally:
        await admin.close()


async def _gone(admin: AIOKafkaAdminClient, names: Sequence[str]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while set(names) & set(await admin.list_topics()):
            await asyncio.sleep(0.05)


async def _start_group(bus: KafkaBus) -> None:
    """Commit offset 0 everywhere, as `strider topics apply` does for a new group."""

    class _Listener:
        async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None: ...
        async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None: ...

    member = await bus.consumer(GroupSpec(GROUP, (ECHO_REQUESTS.name,)), _Listener())
    async with asyncio.timeout(DEADLINE_SECONDS):
        while len(member.assignment()) < PARTITIONS:
            await _poll_quietly(member.poll)
    await member.commit(dict.fromkeys(member.assignment(), 0))
    await member.close()


async def _poll_quietly(poll: Callable[..., Awaitable[object]]) -> None:
    from strider.messaging.errors import OffsetMissing  # noqa: PLC0415  # only here is it expected

    try:
        await poll(max_records=1, timeout_seconds=0.1)
    except OffsetMissing:
        await asyncio.sleep(0.02)


async def _kafka(bootstrap: str, count: int) -> tuple[float, float]:
    codec = Codec(SchemaStore.bundled())
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    try:
        await _topics(bootstrap, ECHO_REQUESTS.name, ECHO_DLQ.name)
        await _start_group(bus)
        sent = await _send(bus, _messages(codec, count))
        return sent / count, await _consume(bus, codec, count) / count
    finally:
        await bus.close()


async def _raw(bootstrap: str, count: int) -> float:
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    topic = f"bench-raw-{uuid4().hex[:8]}"
    try:
        await _topics(bootstrap, topic)
        producer = await bus.producer(compression=None)
        records = [RawRecord(b"key-%08d" % number, b"v" * 80) for number in range(count)]
        begin = time.process_time()
        await asyncio.gather(*await producer.send_raw(topic, 0, records))
        spent = time.process_time() - begin
        await producer.close()
        return spent / count
    finally:
        await bus.close()


async def _commit(bootstrap: str, commits: int) -> float:
    """CPU of one transaction of 50 records on one shard, client side."""
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    topic = f"bench-truth-{uuid4().hex[:8]}"
    try:
        await _topics(bootstrap, topic)
        writer = await bus.take_shard("bench", 0, commit_interval_seconds=60.0)
        begin = time.process_time()
        for _ in range(commits):
            appended = [
                writer.append(topic, 0, RawRecord(b"key-%d" % number, b"v" * 80)) for number in range(50)
            ]
            await writer.flush()
            await asyncio.gather(*appended)
        spent = time.process_time() - begin
        await writer.close()
        return spent / commits
    finally:
        await bus.close()


async def _rebuild(bootstrap: str, count: int) -> float:
    """Records a second of wall time of a table that is read again."""
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    topic = f"bench-table-{uuid4().hex[:8]}"
    try:
        await _topics(bootstrap, topic)
        producer = await bus.producer(compression=None)
        records = [RawRecord(b"key-%08d" % number, b"v" * 80) for number in range(count)]
        await asyncio.gather(*await producer.send_raw(topic, 0, records))
        await producer.close()
        seen: dict[bytes | None, bytes | None] = {}
        begin = time.monotonic()
        await CompactedTableReader(bus, clock=SystemClock()).read(
            [TopicPartition(topic, 0)], seen.__setitem__
        )
        spent = time.monotonic() - begin
        if len(seen) != count:
            raise AssertionError(f"the rebuild read {len(seen)} of {count} records")
        return count / spent
    finally:
        await bus.close()


def _median(rounds: int, once: Callable[[], Awaitable[float]]) -> float:
    async def run() -> float:
        return await once()

    return statistics.median(uvloop.run(run()) for _ in range(rounds))


def measure(bootstrap: str, *, rounds: int, count: int) -> list[Row]:
    """All rows of this file, the two buses in turn."""
    memory, kafka = [], []
    for _ in range(rounds):
        memory.append(uvloop.run(_in_process(count)))
        kafka.append(uvloop.run(_kafka(bootstrap, count)))
    loop = Spread.of([consumed for _, consumed in memory])
    broker = Spread.of([consumed for _, consumed in kafka])
    raw = _median(rounds, lambda: _raw(bootstrap, 50_000))
    commit = _median(rounds, lambda: _commit(bootstrap, 50))
    rebuilt = _median(rounds, lambda: _rebuild(bootstrap, 200_000))
    return [
        Row("no-op handler, in-process bus, a 1 KB message", loop.median * 1e6, "µs CPU", 15.0),
        Row("… sending it", statistics.median(sent for sent, _ in memory) * 1e6, "µs CPU", None),
        Row("no-op handler, Kafka, a 1 KB message, own CPU", broker.median * 1e6, "µs CPU", 40.0),
        Row("… sending it", statistics.median(sent for sent, _ in kafka) * 1e6, "µs CPU", None),
        Row("Kafka against the in-process bus", broker.median / loop.median, "×", None),
        Row("raw record to a compacted topic", raw * 1e6, "µs CPU", 2.0),
        Row("transaction of 50 records on a shard, client", commit * 1e3, "ms CPU", None),
        Row("rebuild of a table", rebuilt / 1000, "thousand records/s", 50.0, more_is_better=True),
    ]
