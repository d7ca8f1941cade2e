"""Direct append to the client library's accumulator, with futures of RecordMetadata.

The library's own `send` looks up metadata twice, measures each message again and logs it, and its result had
to be converted by a second future: together as much as encoding an event. Messages that wait for space in a
batch do so one after the other, for the same reason. Like `internals`, this holds for AIOKAFKA_VERSION. It
decides nothing but the partition of a key.
"""

# ruff: noqa: SLF001  # reaching inside is what this file is for

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from aiokafka.errors import KafkaTimeoutError, UnknownTopicOrPartitionError
from aiokafka.structs import TopicPartition

from strider.contracts.partitioning import key_partition
from strider.messaging.errors import InfrastructureError
from strider.messaging.kafka.error_mapping import map_error
from strider.messaging.ports import OutgoingMessage, RecordMetadata

_TURNS_ATTRIBUTE: Final = "append_turns"


class RecordMetadataFuture(asyncio.Future[RecordMetadata]):
    """The future that the library settles for a message, with our result and errors."""

    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        super().__init__()
        self._on_failure = on_failure

    def set_result(self, found: Any) -> None:
        """Resolve to the position that the library reports."""
        super().set_result(RecordMetadata(found.topic, found.partition, found.offset))

    def set_exception(self, error: type | BaseException, /) -> None:
        """Fail with our error for the library's."""
        assert isinstance(error, BaseException)
        self._on_failure(error)
        super().set_exception(map_error(error) if isinstance(error, Exception) else error)


def install_metadata_futures(producer: Any, on_failure: Callable[[BaseException], None]) -> None:
    """Have a producer of the library settle futures of this class."""
    accumulator = producer._message_accumulator
    append = accumulator._append_batch
    new_answer = partial(RecordMetadataFuture, on_failure)

    def append_batch(builder: Any, place: Any) -> Any:
        batch = append(builder, place)
        batch.append = partial(batch.append, _create_future=new_answer)
        return batch

    accumulator._append_batch = append_batch


async def append_message(producer: Any, message: OutgoingMessage) -> asyncio.Future[RecordMetadata]:
    """Queue a message; waits for metadata of a new topic, and for space in its partition's batch."""
    topic = message.topic
    known = producer._metadata._partitions.get(topic) or await _lookup_partitions(producer, topic)
    partition = message.partition
    if partition is None:
        partition = _partition_for(message.key, len(known))
    elif partition not in known:
        raise InfrastructureError(f"{topic} has {len(known)} partitions, there is no {partition}")
    place = TopicPartition(topic, partition)
    turn = _turns_of(producer).setdefault(place, asyncio.Lock())
    within_seconds = producer._request_timeout_ms / 1000
    if turn.locked():
        began = asyncio.get_running_loop().time()
        await _wait_for_turn(turn, within_seconds)
        within_seconds -= asyncio.get_running_loop().time() - began
    else:
        await turn.acquire()
    try:
        queued: asyncio.Future[RecordMetadata] = await producer._message_accumulator.add_message(
            place, message.key, message.value, within_seconds, headers=list(message.headers)
        )
    finally:
        turn.release()
    return queued


async def _wait_for_turn(turn: asyncio.Lock, within_seconds: float) -> None:
    try:
        async with asyncio.timeout(within_seconds):
            await turn.acquire()
    except TimeoutError:
        raise KafkaTimeoutError from None


def _turns_of(producer: Any) -> dict[TopicPartition, asyncio.Lock]:
    """Return the turns at the partitions' batches: else a hundred messages wake up for each full batch."""
    turns: dict[TopicPartition, asyncio.Lock] | None = getattr(producer, _TURNS_ATTRIBUTE, None)
    if turns is None:
        turns = {}
        setattr(producer, _TURNS_ATTRIBUTE, turns)
    return turns


async def _lookup_partitions(producer: Any, topic: str) -> Any:
    known = await producer.partitions_for(topic)
    if not known:
        raise UnknownTopicOrPartitionError
    return known


def _partition_for(key: bytes | None, partitions: int) -> int:
    if key is None:
        return random.randrange(partitions)  # noqa: S311  # no secret hangs on it
    return key_partition(key, partitions)
