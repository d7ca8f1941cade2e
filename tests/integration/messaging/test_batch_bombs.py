"""Batches that are a thousand times as large in memory as in the log: no reader takes them, none stops."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.messaging.catch_up_reader import CatchUpReader
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.kafka import KafkaBus
from strider.messaging.ports import Consumer, TopicPartition
from strider.messaging.schema_topic import SchemaFinder
from strider.messaging.topics.tail import TailOptions, TopicTail
from strider.runtime.clocks import SystemClock
from tests.figures import record_figure

from .batch_bombs import MIB, bomb, header_bomb, send_batch
from .conftest import create_topic, start_group
from .processes import Program, until

ALLOWED_MIB = 160
"""What the reader may take beside its own size: ten times its bound of 16 MiB for a batch."""


@pytest.fixture
async def producer(kafka_bootstrap: str) -> AsyncIterator[Any]:
    client: Any = AIOKafkaProducer(
        bootstrap_servers=kafka_bootstrap, enable_idempotence=False, max_request_size=8 * MIB
    )
    await client.start()
    yield client
    await client.stop()


async def read_all(bootstrap: str, topic: str, end: int) -> list[dict[str, Any]]:
    """Read a topic up to an offset in a process of its own, and return its lines."""
    group = f"g-{uuid.uuid4().hex[:8]}"
    await start_group(bootstrap, group, [topic], 1)
    program = await Program.start("reader", "batch_reader.py", bootstrap, group, topic, str(end))
    try:
        await until(
            lambda: any(line["event"] == "memory" for line in program.events), what="the reader's last line"
        )
    finally:
        await program.end()
    return program.events


@pytest.mark.fault("A2")
@pytest.mark.parametrize(
    ("codec", "mib"),
    [
        pytest.param("zstd", 256, id="zstd"),
        pytest.param("gzip", 256, id="gzip"),
        pytest.param("lz4", 128, id="lz4"),
        pytest.param("snappy", 20, id="snappy"),
        pytest.param("xerial", 20, id="snappy-of-java"),
    ],
)
async def test_a_reader_steps_over_bombs_and_reads_what_is_around_them(
    kafka_bootstrap: str, producer: Any, codec: str, mib: int
) -> None:
    """Eight of them in a row, so that one fetch brings several: none is held in memory."""
    topic = await create_topic(kafka_bootstrap, 1)
    records = await asyncio.to_thread(bomb, codec, mib)
    await producer.send_and_wait(topic, b"before", partition=0)
    offsets = [await send_batch(producer, topic, codec, records) for _ in range(8)]
    after = await producer.send_and_wait(topic, b"after", partition=0)

    lines = await read_all(kafka_bootstrap, topic, after.offset + 1)

    memory = lines.pop()
    record_figure(f"bomb {codec}: {len(records)} bytes are {mib} MiB, reader's MiB {memory}")
    assert [line["offset"] for line in lines if line["event"] == "record"] == [0, after.offset]
    skipped = [line for line in lines if line["event"] == "skipped"]
    assert [(line["first"], line["last"]) for line in skipped] == [(offset, offset) for offset in offsets]
    name = "snappy" if codec == "xerial" else codec
    why = f"their batch of {len(records)} bytes ({name}) takes more than {16 * MIB} bytes"
    assert why in skipped[0]["why"]
    assert memory["peak"] - memory["before"] < ALLOWED_MIB


async def test_large_batches_within_the_bound_are_read_one_at_a_time(
    kafka_bootstrap: str, producer: Any
) -> None:
    """Sixteen batches of 15 MiB fit into one fetch, and together not into memory."""
    topic = await create_topic(kafka_bootstrap, 1)
    records = await asyncio.to_thread(bomb, "zstd", 15)
    offsets = [await send_batch(producer, topic, "zstd", records) for _ in range(16)]

    lines = await read_all(kafka_bootstrap, topic, offsets[-1] + 1)

    memory = lines.pop()
    record_figure(f"bomb within the bound: 16 batches of 15 MiB, reader's MiB {memory}")
    assert [(line["offset"], line["size"]) for line in lines] == [(offset, 15 * MIB) for offset in offsets]
    assert memory["peak"] - memory["before"] < ALLOWED_MIB


async def test_a_record_of_millions_of_headers_is_no_list_of_millions_of_objects(
    kafka_bootstrap: str, producer: Any
) -> None:
    """Fourteen MiB are within the bound for bytes, and would be half a gigabyte of tuples."""
    topic = await create_topic(kafka_bootstrap, 1)
    records = await asyncio.to_thread(header_bomb, 7 * MIB)
    await producer.send_and_wait(topic, b"before", partition=0)
    offset = await send_batch(producer, topic, "zstd", records)
    after = await producer.send_and_wait(topic, b"after", partition=0)

    lines = await read_all(kafka_bootstrap, topic, after.offset + 1)

    memory = lines.pop()
    record_figure(f"bomb headers: {len(records)} bytes are {7 * MIB} headers, reader's MiB {memory}")
    assert [line["offset"] for line in lines if line["event"] == "record"] == [0, after.offset]
    assert [line["first"] for line in lines if line["event"] == "skipped"] == [offset]
    assert memory["peak"] - memory["before"] < ALLOWED_MIB


async def test_readers_of_whole_topics_leave_a_bomb_out_and_a_tail_names_it(
    kafka_bootstrap: str, bus: KafkaBus, producer: Any
) -> None:
    """A table, a reader that catches up, and the tail for people."""
    topic = await create_topic(kafka_bootstrap, 1)
    await producer.send_and_wait(topic, b"1", key=b"before", partition=0)
    offset = await send_batch(producer, topic, "zstd", await asyncio.to_thread(bomb, "zstd", 256))
    await producer.send_and_wait(topic, b"2", key=b"after", partition=0)
    caught_up: list[bytes | None] = []

    async def poll(reader: Consumer) -> bool:
        found = await reader.poll(max_records=10, timeout_seconds=0.5)
        caught_up.extend(record.key for records in found.values() for record in records)
        return bool(found)

    table = await CompactedTableReader(bus, clock=SystemClock()).load(
        [TopicPartition(topic, 0)], key=bytes, value=bytes
    )
    reader = CatchUpReader(bus, topic, poll=poll, new_stall_detector=lambda: lambda _has_come: False)
    await reader.read_to_end()
    codec = Codec(SchemaStore.bundled())
    tail = TopicTail(bus, codec, SchemaFinder(bus, codec=codec))
    lines = [line async for line in tail.read(topic, None, TailOptions(from_beginning=True))]

    assert table == {b"before": b"1", b"after": b"2"}
    assert caught_up == [b"before", b"after"]
    assert [(line.record.offset, line.reason) for line in lines] == [
        (0, None),
        (offset, "batch_too_large"),
        (offset + 1, None),
    ]
