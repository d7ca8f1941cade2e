"""Batches that a broker takes and that are no records: a group continues behind them, and loses nothing."""

from __future__ import annotations

import asyncio
import gzip
import uuid
from collections.abc import AsyncIterator, Sequence
from random import Random
from typing import Any, NamedTuple

import pytest
from aiokafka import AIOKafkaProducer

from strider.messaging.errors import BatchUnreadable, TooManyRecords, UnreadRange
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import GroupSpec, TopicPartition
from tests.figures import record_figure
from tests.integration.messaging.conftest import create_topic, start_group

from .forged_batches import forged_batch, mutated_batch, record, send_forged, with_gzip_tail

MUTATIONS = 150
DEADLINE_SECONDS = 60


class NoListener:
    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None: ...
    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None: ...


class Found(NamedTuple):
    values: dict[int, bytes | None]
    skipped: list[UnreadRange]


@pytest.fixture
async def stranger(kafka_bootstrap: str) -> AsyncIterator[Any]:
    """Write batches once: what the broker refuses, the library would send for ever."""
    client: Any = AIOKafkaProducer(
        bootstrap_servers=kafka_bootstrap, enable_idempotence=False, request_timeout_ms=1000
    )
    await client.start()
    yield client
    await client.stop()


async def read_group(bootstrap: str, topic: str, end: int, *, max_batch_records: int | None = None) -> Found:
    """Read as a member of a group, which continues behind what it cannot read; a new one at each step."""
    group = f"g-{uuid.uuid4().hex[:8]}"
    await start_group(bootstrap, group, [topic], 1)
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    spec = GroupSpec(group, (topic,), read_committed=False, max_batch_records=max_batch_records)
    consumer = await bus.consumer(spec, NoListener())
    partition, found = TopicPartition(topic, 0), Found({}, [])
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while await consumer.position(partition) < end:
                try:
                    batches = await consumer.poll(max_records=3, timeout_seconds=1.0)
                except UnreadRange as unread:
                    found.skipped.append(unread)
                    consumer.seek(partition, unread.resume_at)
                    continue
                for each in batches.get(partition, ()):
                    assert each.offset not in found.values, "delivered twice"
                    found.values[each.offset] = each.value
        await consumer.commit({partition: await consumer.position(partition)})
    finally:
        await bus.close()
    return found


async def send_all(client: Any, topic: str, batches: Sequence[bytes]) -> tuple[int, list[int]]:
    """Send each batch, with a good message before and behind; return the log's end and their offsets."""
    await client.send_and_wait(topic, b"good", partition=0)
    offsets = []
    for content in batches:
        offset = await send_forged(client, topic, content)
        if offset is not None:
            offsets.append(offset)
    last = await client.send_and_wait(topic, b"good", partition=0)
    return last.offset + 1, offsets


@pytest.mark.fault("A16")
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(with_gzip_tail(record(b"v")), id="bytes behind gzip"),
        pytest.param(forged_batch(record(b"v", delta=2**31 - 1)), id="offset far ahead"),
        pytest.param(forged_batch(record(b"v", delta=-1)), id="offset before the batch"),
        pytest.param(forged_batch(record(b"v") + record(b"w"), count=2), id="two records of one offset"),
    ],
)
async def test_a_group_continues_behind_a_batch_that_the_broker_takes(
    kafka_bootstrap: str, stranger: Any, content: bytes
) -> None:
    topic = await create_topic(kafka_bootstrap, 1)
    end, offsets = await send_all(stranger, topic, [content] * 3)
    assert len(offsets) == 3, "the broker takes it"

    found = await read_group(kafka_bootstrap, topic, end)

    assert [found.values[0], found.values[end - 1]] == [b"good", b"good"]
    assert len(found.skipped) == 3
    for unread in found.skipped:
        assert isinstance(unread, BatchUnreadable)
    lost = {n for unread in found.skipped for n in range(unread.first, unread.last + 1)}
    assert lost | found.values.keys() == set(range(end))
    assert not lost & found.values.keys()


@pytest.mark.fault("A16")
async def test_a_group_reads_or_names_each_offset_of_mutated_batches(
    kafka_bootstrap: str, stranger: Any
) -> None:
    """Whatever the broker takes of them; a fixed beginning of the random numbers makes it repeatable."""
    topic, random = await create_topic(kafka_bootstrap, 1), Random(7)
    batches = [mutated_batch(random, number) for number in range(MUTATIONS)]
    end, offsets = await send_all(stranger, topic, batches)

    found = await read_group(kafka_bootstrap, topic, end)

    record_figure(
        f"mutated batches: {MUTATIONS} sent, {len(offsets)} taken by the broker, "
        f"{len(found.skipped)} skipped by the reader"
    )
    lost = [n for unread in found.skipped for n in range(unread.first, unread.last + 1)]
    assert sorted([*lost, *found.values]) == list(range(end))
    assert found.skipped
    assert {type(unread) for unread in found.skipped} == {BatchUnreadable}


@pytest.mark.fault("A16")
async def test_a_batch_of_too_many_records_is_known_by_its_head(kafka_bootstrap: str, stranger: Any) -> None:
    """A few kilobytes of gzip are tens of thousands of records, of which each would be a dead letter."""
    topic = await create_topic(kafka_bootstrap, 1)
    records = b"".join(record(b"x", delta=delta) for delta in range(20_001))
    large = forged_batch(gzip.compress(records), count=20_001, codec=1)
    few = gzip.compress(b"".join(record(b"y", delta=delta) for delta in range(10)))
    end, offsets = await send_all(stranger, topic, [large, forged_batch(few, count=10, codec=1)])

    found = await read_group(kafka_bootstrap, topic, end, max_batch_records=20_000)

    assert offsets == [1, 20_002]
    assert [(type(each), each.first, each.last) for each in found.skipped] == [(TooManyRecords, 1, 20_001)]
    assert len(found.values) == 12
