"""Results of the client library for a message, as its appender gets them."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError, NotLeaderForPartitionError
from aiokafka.structs import TopicPartition

from strider.contracts import EncodeError
from strider.messaging.errors import Unavailable
from strider.messaging.kafka.patches.fast_append import install_metadata_futures
from strider.messaging.ports import RecordMetadata

PLACE = TopicPartition("pages", 3)


class Wire:
    """A producer that has no broker, and what was noted of its failures."""

    def __init__(self) -> None:
        self.noted: list[BaseException] = []
        self.producer = AIOKafkaProducer(bootstrap_servers="nowhere:9")
        self.accumulator = self.producer._message_accumulator
        install_metadata_futures(self.producer, self.noted.append)

    async def add(self) -> asyncio.Future[RecordMetadata]:
        answer: asyncio.Future[RecordMetadata] = await self.accumulator.add_message(PLACE, b"k", b"v", 1.0)
        return answer

    async def close(self) -> None:
        self.accumulator._batches.clear()
        await self.producer.stop()


async def test_each_message_of_a_batch_learns_its_own_place() -> None:
    wire = Wire()
    answers = [await wire.add() for _ in range(3)]
    (batch,) = wire.accumulator._batches[PLACE]
    answers[1].cancel()  # cancelled: the others must get theirs all the same
    batch.done(base_offset=40)

    assert await answers[0] == RecordMetadata("pages", 3, 40)
    assert await answers[2] == RecordMetadata("pages", 3, 42)
    assert wire.noted == []
    await wire.close()


REFUSALS = [(NotLeaderForPartitionError(), Unavailable), (MessageSizeTooLargeError(), EncodeError)]


@pytest.mark.parametrize(("error", "ours"), REFUSALS)
async def test_a_refused_batch_raises_our_error_and_breaks_the_producer(
    error: Exception, ours: type[Exception]
) -> None:
    wire = Wire()
    answers = [await wire.add() for _ in range(2)]
    (batch,) = wire.accumulator._batches[PLACE]
    batch.drain_ready()
    batch.failure(error)

    for answer in answers:
        with pytest.raises(ours):
            await answer
    assert [type(each) for each in wire.noted] == [type(error)] * 2
    await wire.close()
