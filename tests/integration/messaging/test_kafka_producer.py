"""What the real broker refuses, and what that does to the messages around it."""

from __future__ import annotations

import asyncio
import os

import pytest

from strider.contracts import EncodeError
from strider.messaging.errors import InfrastructureError, StartRefused
from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import OutgoingMessage, RawRecord, TopicPartition

from .conftest import create_topic


async def test_a_refused_message_does_not_spoil_the_ones_after_it(
    kafka_bootstrap: str, bus: KafkaBus
) -> None:
    """A hole in the sequence numbers: the library's client would fail on this partition for ever."""
    topic = await create_topic(kafka_bootstrap, 1, max_message_bytes="2000")
    producer = await bus.producer(compression=None)
    await (await producer.send(OutgoingMessage(topic, b"k", b"first")))
    with pytest.raises(EncodeError):
        await (await producer.send(OutgoingMessage(topic, b"k", b"x" * 5000)))
    after = [await producer.send(OutgoingMessage(topic, b"k", b"%d" % n)) for n in range(50)]
    acknowledged = await asyncio.wait_for(asyncio.gather(*after), 20)
    assert [a.offset for a in acknowledged] == list(range(1, 51))
    with pytest.raises(EncodeError):
        await asyncio.gather(*await producer.send_raw(topic, 0, [RawRecord(b"k", b"x" * 5000)]))
    await (await producer.send(OutgoingMessage(topic, b"k", b"last")))


async def test_a_refused_group_leaves_nothing_and_the_next_one_passes(
    kafka_bootstrap: str, bus: KafkaBus
) -> None:
    """One record that its topic does not take: the others of the group are not committed without it."""
    small = await create_topic(kafka_bootstrap, 1, max_message_bytes="2000")
    other = await create_topic(kafka_bootstrap, 1)
    writer = await bus.take_shard(f"shards-{small}", 0, commit_interval_seconds=0.01)
    epoch = writer.epoch
    spoilt = writer.append(small, 0, RawRecord(b"k", os.urandom(5000)))
    innocent = writer.append(other, 0, RawRecord(b"k", b"innocent"))
    for appended in (spoilt, innocent):
        with pytest.raises(InfrastructureError):
            await appended

    async def retry() -> None:
        while True:
            try:
                await writer.append(other, 0, RawRecord(b"k", b"again"))
            except InfrastructureError:
                await asyncio.sleep(0.05)
            else:
                return

    await asyncio.wait_for(retry(), 20)
    assert writer.epoch > epoch
    reader = await bus.reader([TopicPartition(other, 0), TopicPartition(small, 0)])
    found = await reader.poll(max_records=10, timeout_seconds=30)
    assert [record.value for batch in found.values() for record in batch] == [b"again"]


async def test_a_partition_that_does_not_exist_fails_its_group_and_keeps_the_epoch(
    kafka_bootstrap: str, bus: KafkaBus
) -> None:
    topic = await create_topic(kafka_bootstrap, 1)
    writer = await bus.take_shard(f"shards-{topic}", 0, commit_interval_seconds=0.01)
    epoch = writer.epoch
    with pytest.raises(InfrastructureError, match="there is no 1"):
        await writer.append(topic, 1, RawRecord(b"k", b"v"))
    await writer.append(topic, 0, RawRecord(b"k", b"v"))
    assert writer.epoch == epoch


async def test_a_large_batch_is_split_and_nothing_turns_round(kafka_bootstrap: str, bus: KafkaBus) -> None:
    """Each batch has an acknowledgement of its own, at the offset where it begins."""
    topic = await create_topic(kafka_bootstrap, 1)
    producer = await bus.producer(compression=None)
    records = [RawRecord(b"%d" % n, b"x" * 1000) for n in range(1500)]
    acknowledged = await asyncio.gather(*await producer.send_raw(topic, 0, records))
    offsets = [a.offset for a in acknowledged]
    assert len(offsets) > 3
    assert (offsets[0], offsets) == (0, sorted(offsets))


async def test_a_codec_that_costs_too_much_is_refused(bus: KafkaBus) -> None:
    with pytest.raises(StartRefused, match="lz4"):
        await bus.producer(compression="lz4")
