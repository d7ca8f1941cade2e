"""What is sent arrives once, in order, in the partition of its key or of its sender's choice."""

from __future__ import annotations

import asyncio

import pytest

from strider.contracts import EncodeError
from strider.contracts.partitioning import key_partition
from strider.messaging.errors import InfrastructureError
from strider.messaging.ports import OutgoingMessage, RawRecord, TopicPartition

from .bus_environments import World
from .bus_members import read, values


async def test_a_partition_keeps_the_order_of_its_messages(world: World) -> None:
    """Order within a partition is all the order there is: everything else is built on it."""
    topic = await world.create_topic(1)
    bus = world.bus()
    producer = await bus.producer()
    sent = [await producer.send(OutgoingMessage(topic, b"k", b"%d" % n)) for n in range(500)]
    acknowledged = await asyncio.gather(*sent)
    records = await read(await bus.reader([TopicPartition(topic, 0)]), 500)
    assert [a.offset for a in acknowledged] == list(range(500))
    assert values(records) == [b"%d" % n for n in range(500)]


async def test_a_key_goes_to_the_partition_of_the_contracts_hash(world: World) -> None:
    """Readers and writers of other processes compute the partition themselves: all must agree."""
    topic = await world.create_topic(7)
    producer = await world.bus().producer()
    keys = [b"", b"a", b"host.example", b"\x00\xff" * 9, *(b"key-%d" % n for n in range(60))]
    sent = [await producer.send(OutgoingMessage(topic, key, b"v")) for key in keys]
    acknowledged = await asyncio.gather(*sent)
    assert [a.partition for a in acknowledged] == [key_partition(key, 7) for key in keys]


async def test_a_named_partition_wins_over_the_key(world: World) -> None:
    topic = await world.create_topic(3)
    producer = await world.bus().producer()
    sent = [await producer.send(OutgoingMessage(topic, b"same", b"v", partition=n)) for n in range(3)]
    assert [(await a).partition for a in sent] == [0, 1, 2]


async def test_messages_without_a_key_are_taken(world: World) -> None:
    topic = await world.create_topic(3)
    producer = await world.bus().producer()
    acknowledged = await (await producer.send(OutgoingMessage(topic, None, b"v")))
    assert acknowledged.partition in range(3)


async def test_headers_tombstones_and_coordinates_arrive_as_sent(world: World) -> None:
    topic = await world.create_topic(1)
    bus = world.bus()
    producer = await bus.producer()
    await (await producer.send(OutgoingMessage(topic, b"k", b"v", headers=(("a", b"1"), ("b", b"")))))
    await (await producer.send(OutgoingMessage(topic, b"k", None)))
    records = await read(await bus.reader([TopicPartition(topic, 0)]), 2)
    assert [(r.topic, r.partition, r.offset, r.key, r.value, tuple(r.headers)) for r in records] == [
        (topic, 0, 0, b"k", b"v", (("a", b"1"), ("b", b""))),
        (topic, 0, 1, b"k", None, ()),
    ]
    assert records[0].timestamp <= records[1].timestamp


async def test_raw_batches_keep_their_order_across_the_split(world: World) -> None:
    """More than one batch holds: the split must lose and turn round nothing."""
    topic = await world.create_topic(2)
    bus = world.bus()
    producer = await bus.producer(compression=None)
    sent = [RawRecord(b"%d" % n, b"x" * 1000) for n in range(1000)]
    sent[500] = RawRecord(b"500", None)
    acknowledged = await asyncio.gather(*await producer.send_raw(topic, 1, iter(sent)))
    records = await read(await bus.reader([TopicPartition(topic, 1)]), 1000)
    assert [(r.key, r.value) for r in records] == sent
    assert {(a.topic, a.partition) for a in acknowledged} == {(topic, 1)}


async def test_no_raw_records_are_no_batch(world: World) -> None:
    topic = await world.create_topic(1)
    producer = await world.bus().producer()
    assert list(await producer.send_raw(topic, 0, [])) == []


async def test_flush_ends_when_everything_is_acknowledged(world: World) -> None:
    topic = await world.create_topic(1)
    producer = await world.bus().producer()
    sent = [await producer.send(OutgoingMessage(topic, b"k", b"v")) for _ in range(100)]
    await producer.flush()
    await asyncio.sleep(0)
    assert all(asyncio.ensure_future(a).done() for a in sent)


async def test_a_partition_that_does_not_exist_is_refused(world: World) -> None:
    topic = await world.create_topic(2)
    producer = await world.bus().producer()
    with pytest.raises(InfrastructureError):
        await (await producer.send(OutgoingMessage(topic, b"k", b"v", partition=2)))


@pytest.mark.parametrize(
    ("key", "value", "headers"),
    [
        pytest.param(b"k", b"x" * 1_100_000, (), id="value"),
        pytest.param(b"k" * 1_100_000, None, (), id="key"),
        pytest.param(b"k", b"v", (("h", b"x" * 1_100_000),), id="header"),
        pytest.param(b"k" * 400_000, b"x" * 400_000, (("h", b"x" * 400_000),), id="the sum"),
    ],
)
async def test_a_message_over_the_limit_is_refused_before_it_is_sent(
    world: World, key: bytes, value: bytes | None, headers: tuple[tuple[str, bytes], ...]
) -> None:
    """Later it would fail a whole batch, with messages in it that are innocent."""
    topic = await world.create_topic(1)
    producer = await world.bus().producer()
    with pytest.raises(EncodeError, match="limit"):
        await producer.send(OutgoingMessage(topic, key, value, headers=headers))


async def test_a_raw_record_over_the_limit_is_refused(world: World) -> None:
    topic = await world.create_topic(1)
    producer = await world.bus().producer()
    with pytest.raises(EncodeError, match="limit"):
        await producer.send_raw(topic, 0, [RawRecord(b"k", b"x" * 1_100_000)])


async def test_a_topic_with_a_limit_of_its_own_refuses_what_is_over_it(world: World) -> None:
    """Wherever the refusal comes from, it is the message's fault and no outage."""
    topic = await world.create_topic(1, max_message_bytes="2000")
    producer = await world.bus().producer(compression=None)
    with pytest.raises(EncodeError):
        await (await producer.send(OutgoingMessage(topic, b"k", b"x" * 5000)))
    acknowledged = await (await producer.send(OutgoingMessage(topic, b"k", b"x" * 1000)))
    assert acknowledged.offset == 0


async def test_a_closed_producer_takes_nothing(world: World) -> None:
    topic = await world.create_topic(1)
    producer = await world.bus().producer()
    await producer.close()
    await producer.close()
    with pytest.raises(InfrastructureError, match="closed"):
        await producer.send(OutgoingMessage(topic, b"k", b"v"))
