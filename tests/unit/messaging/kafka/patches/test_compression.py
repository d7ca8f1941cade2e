"""How hard batches are compressed before they are sent, and how they are read."""

from __future__ import annotations

import os

import cramjam
import pytest
from aiokafka import AIOKafkaProducer, codec
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.structs import TopicPartition

from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.kafka.patches.bounded_decompression import BoundedDecompressor
from strider.messaging.kafka.patches.compression import compress, exclude_topics_from_compression

TEXT = " ".join(str(number * number) for number in range(4000)).encode()
CODEC_ZSTD = 4
decompress = BoundedDecompressor(1_000_000).zstd
BATCH_HEAD_BYTES = 61


def written(value: bytes) -> bytes:
    KafkaBus(KafkaConnection(("nowhere:9",)))  # as in every process with a bus
    builder = BatchBuilder(1_000_000, CODEC_ZSTD, is_transactional=False)
    builder.append(timestamp=1, key=None, value=value)
    builder.close()
    return bytes(builder._build())


def test_batches_are_compressed_at_the_light_level() -> None:
    """A later release of the library that names its compressor elsewhere must not go unseen."""
    compressed = written(TEXT)[BATCH_HEAD_BYTES:]
    records = codec.zstd_decode(compressed)
    assert compressed == codec.zstd_encode(records, level=1)
    assert compressed != codec.zstd_encode(records, level=3)


SIZES = (0, 1, 2, 255, 256, 257, 1000, 2047, 2048, 70_000)


@pytest.mark.parametrize("size", SIZES)
def test_a_few_small_events_are_stored_as_they_are_in_a_form_that_everybody_reads(size: int) -> None:
    """The other reader is the library of the format's makers."""
    records = os.urandom(size // 2) + b"a" * (size - size // 2)

    content = compress(records)

    assert bytes(cramjam.zstd.decompress(content)) == records
    assert decompress(content) == records
    assert (records in content) == (size < 2048)


@pytest.mark.parametrize("size", SIZES)
def test_what_others_have_compressed_is_read_as_well(size: int) -> None:
    records = os.urandom(size)

    assert decompress(codec.zstd_encode(records, level=3)) == records


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(compress(b"abc")[:-1], id="cut-off"),
        pytest.param(compress(b"abc") + b"d", id="more-behind"),
        pytest.param(compress(b"a" * 300)[:8], id="cut-in-its-head"),
        pytest.param(b"\x28\xb5\x2f\xfd\x60", id="a-frame-that-has-just-begun"),
    ],
)
def test_what_is_broken_is_left_to_the_library_to_refuse(content: bytes) -> None:
    with pytest.raises(cramjam.DecompressionError):
        decompress(content)


@pytest.mark.parametrize("size", SIZES)
def test_batches_of_all_sizes_come_back(size: int) -> None:
    value = os.urandom(size)

    batch = MemoryRecords(written(value)).next_batch()

    assert batch.validate_crc()
    assert [record.value for record in batch] == [value]


async def test_one_producer_compresses_some_topics_and_leaves_others_as_they_are() -> None:
    producer = AIOKafkaProducer(bootstrap_servers="nowhere:9", compression_type="zstd")
    accumulator = producer._message_accumulator
    plain: set[str] = set()
    exclude_topics_from_compression(producer, plain)
    plain.add("pages")

    for topic in ("pages", "outcomes"):
        await accumulator.add_message(TopicPartition(topic, 0), b"k", TEXT, 1.0)
    batches = {place.topic: queued[0]._builder._build() for place, queued in accumulator._batches.items()}

    assert TEXT in bytes(batches["pages"])
    assert TEXT not in bytes(batches["outcomes"])
    for batch in batches.values():
        found = MemoryRecords(bytes(batch)).next_batch()
        assert [record.value for record in found] == [TEXT]
    accumulator._batches.clear()
    await producer.stop()
