"""The broker is killed, frozen and gone: what was acknowledged is there once, and everything continues."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.errors import InfrastructureError, Unavailable
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import GroupSpec, OutgoingMessage, RawRecord, TopicPartition
from strider.runtime.clocks import SystemClock
from strider.testing.stack import RunningServer

from .conftest import create_topic, start_group
from .processes import until

MESSAGES = 3000


@pytest.fixture
async def bus(own_kafka: RunningServer) -> AsyncIterator[KafkaBus]:
    settings = KafkaConnection((own_kafka.address,), request_timeout_seconds=5, close_timeout_seconds=3)
    made = KafkaBus(settings)
    yield made
    await made.close()


class Silent:
    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None: ...
    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None: ...


async def values_of(bus: KafkaBus, topic: str) -> Counter[bytes | None]:
    found: Counter[bytes | None] = Counter()
    count = await bus.partition_count(topic) or 0
    partitions = [TopicPartition(topic, number) for number in range(count)]
    await CompactedTableReader(bus, clock=SystemClock()).read(partitions, lambda _k, v: found.update([v]))
    return found


async def test_a_kill_in_the_middle_of_sends_loses_and_repeats_nothing(
    own_kafka: RunningServer, bus: KafkaBus
) -> None:
    topic = await create_topic(own_kafka.address, 3)
    producer = await bus.producer()
    acknowledgements = []
    for number in range(MESSAGES):
        sent = await producer.send(OutgoingMessage(topic, b"%d" % number, b"%d" % number))
        acknowledgements.append(asyncio.ensure_future(sent))
        if number == MESSAGES // 2:
            await asyncio.wait(acknowledgements[:100])
            own_kafka.kill()
    assert not all(a.done() for a in acknowledgements)
    await asyncio.to_thread(own_kafka.start)
    await asyncio.wait_for(asyncio.gather(*acknowledgements), 60)
    assert await values_of(bus, topic) == {b"%d" % n: 1 for n in range(MESSAGES)}


async def test_a_member_continues_after_the_broker_was_killed(
    own_kafka: RunningServer, bus: KafkaBus
) -> None:
    """And while the broker is away its silence can be measured, by a watchdog, without a request."""
    topic = await create_topic(own_kafka.address, 2)
    await start_group(own_kafka.address, "group", [topic], 2)
    producer = await bus.producer()
    consumer = await bus.consumer(GroupSpec("group", (topic,), session_timeout_seconds=3), Silent())
    seen: list[bytes | None] = []

    async def has_read(value: bytes) -> bool:
        found = await consumer.poll(max_records=100, timeout_seconds=0.2)
        seen.extend(record.value for batch in found.values() for record in batch)
        return value in seen

    await (await producer.send(OutgoingMessage(topic, b"k", b"before")))
    await until(lambda: has_read(b"before"), what="the member reads")
    own_kafka.kill()
    with pytest.raises(Unavailable):
        await bus.ping()
    assert await consumer.poll(max_records=100, timeout_seconds=0.5) == {}
    ages = [p.last_response_seconds_ago for p in consumer.progress().values()]
    assert all(age is not None and age > 0.4 for age in ages)
    (held,) = [p for p in consumer.assignment() if consumer.progress()[p].position]
    with pytest.raises(Unavailable):
        await consumer.commit({held: 1})
    await asyncio.to_thread(own_kafka.start)
    await bus.ping()
    await asyncio.wait_for(await producer.send(OutgoingMessage(topic, b"k", b"after")), 60)
    await until(lambda: has_read(b"after"), what="the member reads again")
    assert seen.count(b"after") == 1

    async def can_commit() -> bool:
        try:
            await consumer.commit({held: 2})
        except InfrastructureError:
            await consumer.poll(max_records=1, timeout_seconds=0.1)
            return False
        return True

    await until(can_commit, what="the member commits again")


@pytest.mark.fault("F4", part="under a transactional writer")
async def test_a_shard_writer_continues_after_the_broker_was_killed(
    own_kafka: RunningServer, bus: KafkaBus
) -> None:
    topic = await create_topic(own_kafka.address, 1)
    writer = await bus.take_shard("shards", 0, commit_interval_seconds=0.01)
    await writer.append(topic, 0, RawRecord(b"k", b"before"))
    during = [writer.append(topic, 0, RawRecord(b"k", b"during")) for _ in range(100)]
    await asyncio.sleep(0)
    own_kafka.kill()
    await asyncio.to_thread(own_kafka.start)
    outcomes = await asyncio.wait_for(asyncio.gather(*during, return_exceptions=True), 60)
    await writer.append(topic, 0, RawRecord(b"k", b"after"))
    found = await values_of(bus, topic)
    assert (found[b"before"], found[b"after"]) == (1, 1)
    assert found[b"during"] == (100 if outcomes[0] is None else found[b"during"])
    assert found[b"during"] in {0, 100}


async def test_without_a_broker_every_call_fails_and_nothing_stays_open(own_kafka: RunningServer) -> None:
    own_kafka.kill()
    bus = KafkaBus(KafkaConnection((own_kafka.address,), request_timeout_seconds=2))
    attempts = [
        bus.ping(),
        bus.partition_count("t"),
        bus.producer(),
        bus.consumer(GroupSpec("g", ("t",)), Silent()),
        bus.reader([TopicPartition("t", 0)]),
        bus.take_shard("shards", 0),
    ]
    tasks = len(asyncio.all_tasks())
    for attempt in attempts:
        with pytest.raises(Unavailable) as raised:
            await attempt
        assert raised.value.dependency == "kafka"
    await bus.close()
    assert len(asyncio.all_tasks()) == tasks


@pytest.mark.parametrize("is_frozen", [pytest.param(True, id="frozen"), pytest.param(False, id="killed")])
async def test_closing_takes_a_bounded_time_whatever_the_broker_does(
    own_kafka: RunningServer, *, is_frozen: bool
) -> None:
    """A process that stops during an outage must stop within its shutdown time."""
    bus = KafkaBus(KafkaConnection((own_kafka.address,), close_timeout_seconds=1))
    topic = await create_topic(own_kafka.address, 1)
    await start_group(own_kafka.address, "group", [topic], 1)
    tasks = len(asyncio.all_tasks())
    producer = await bus.producer()
    await bus.consumer(GroupSpec("group", (topic,), session_timeout_seconds=3), Silent())
    reader = await bus.reader([TopicPartition(topic, 0)])
    await reader.poll(max_records=1, timeout_seconds=0.1)
    writer = await bus.take_shard("shards", 0)
    (own_kafka.freeze if is_frozen else own_kafka.kill)()
    unsent = await producer.send(OutgoingMessage(topic, b"k", b"v"))
    uncommitted = writer.append(topic, 0, RawRecord(b"k", b"v"))
    started = time.monotonic()
    await bus.close()
    assert time.monotonic() - started < 8
    with pytest.raises(InfrastructureError):
        await unsent
    with pytest.raises(InfrastructureError):
        await uncommitted
    await until(lambda: len(asyncio.all_tasks()) <= tasks, what="no task is left")


@pytest.mark.fault("F4", part="load of clients that cannot reach it")
async def test_clients_that_reach_no_broker_pause_between_two_attempts(
    own_kafka: RunningServer, bus: KafkaBus
) -> None:
    """Whatever in a client wants to know the leaders, and however often."""
    producer = await bus.producer()
    client = producer._client.client  # the library's, which retries by itself
    own_kafka.kill()
    began = time.monotonic()
    updated = [await client.force_metadata_update() for _ in range(20)]

    assert not any(updated)
    assert time.monotonic() - began >= 1.5, "five at once, and ten a second after them"
    await asyncio.to_thread(own_kafka.start)
    await until(client.force_metadata_update, what="reaches the broker again")
