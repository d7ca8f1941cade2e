"""Messages that wait for space in a partition's batch do so one after the other, and not for ever."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from aiokafka.errors import KafkaTimeoutError

from strider.messaging.kafka.patches.fast_append import append_message
from strider.messaging.ports import OutgoingMessage


class FullAccumulator:
    """Batches that are full until `space` is set."""

    def __init__(self) -> None:
        self.space = asyncio.Event()
        self.waiting = 0
        self.most_waiting = 0
        self.appended: list[bytes] = []

    async def add_message(self, place: Any, key: Any, value: bytes, timeout: float, headers: Any) -> Any:  # noqa: ASYNC109
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        try:
            async with asyncio.timeout(timeout):
                await self.space.wait()
        except TimeoutError:
            raise KafkaTimeoutError from None
        finally:
            self.waiting -= 1
        self.appended.append(value)
        return asyncio.get_running_loop().create_future()


def a_producer(*, timeout_ms: int) -> Any:
    return SimpleNamespace(
        _metadata=SimpleNamespace(_partitions={"t": {0: None}}),
        _message_accumulator=FullAccumulator(),
        _request_timeout_ms=timeout_ms,
    )


async def until_waiting(accumulator: FullAccumulator) -> None:
    async with asyncio.timeout(5):
        while not accumulator.waiting:
            await asyncio.sleep(0)


async def test_one_message_waits_for_space_and_the_others_for_their_turn_in_order() -> None:
    producer = a_producer(timeout_ms=60_000)
    values = [str(number).encode() for number in range(20)]
    sends = [
        asyncio.ensure_future(append_message(producer, OutgoingMessage("t", b"k", value, partition=0)))
        for value in values
    ]
    accumulator: FullAccumulator = producer._message_accumulator
    await until_waiting(accumulator)
    accumulator.space.set()
    await asyncio.gather(*sends)

    assert accumulator.most_waiting == 1
    assert accumulator.appended == values


async def test_a_message_that_was_cancelled_holds_no_turn() -> None:
    producer = a_producer(timeout_ms=60_000)
    first, second = (
        asyncio.ensure_future(append_message(producer, OutgoingMessage("t", b"k", value, partition=0)))
        for value in (b"1", b"2")
    )
    accumulator: FullAccumulator = producer._message_accumulator
    await until_waiting(accumulator)
    first.cancel()
    accumulator.space.set()
    await second

    assert accumulator.appended == [b"2"]


async def test_all_that_wait_fail_at_the_request_timeout() -> None:
    producer = a_producer(timeout_ms=1)
    sends = [append_message(producer, OutgoingMessage("t", b"k", b"v", partition=0)) for _ in range(5)]

    found = await asyncio.gather(*sends, return_exceptions=True)

    assert [type(each) for each in found] == [KafkaTimeoutError] * 5


async def test_other_partitions_do_not_wait() -> None:
    other = OutgoingMessage("t", b"k", b"other", partition=1)
    producer = a_producer(timeout_ms=60_000)
    producer._metadata._partitions["t"][1] = None
    blocked = asyncio.ensure_future(append_message(producer, OutgoingMessage("t", b"k", b"v", partition=0)))
    accumulator: FullAccumulator = producer._message_accumulator
    await until_waiting(accumulator)
    beside = asyncio.ensure_future(append_message(producer, other))
    async with asyncio.timeout(5):
        while accumulator.waiting < 2:
            await asyncio.sleep(0)
    accumulator.space.set()
    await asyncio.gather(blocked, beside)

    assert sorted(accumulator.appended) == [b"other", b"v"]
