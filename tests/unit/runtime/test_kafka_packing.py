"""How hard batches are compressed before they are sent."""

from __future__ import annotations

from aiokafka import codec
from aiokafka.producer.message_accumulator import BatchBuilder

from strider.runtime.kafka import KafkaBus, KafkaConnection

TEXT = " ".join(str(number * number) for number in range(4000)).encode()
CODEC_ZSTD = 4
BATCH_HEAD_BYTES = 61


def test_batches_are_compressed_at_the_light_level() -> None:
    """A later release of the library that names its compressor elsewhere must not go unseen."""
    KafkaBus(KafkaConnection(("nowhere:9",)))  # as every process that speaks to a broker has one
    builder = BatchBuilder(1_000_000, CODEC_ZSTD, is_transactional=False)
    builder.append(timestamp=1, key=None, value=TEXT)
    builder.close()
    compressed = bytes(builder._build())[BATCH_HEAD_BYTES:]
    records = codec.zstd_decode(compressed)
    assert compressed == codec.zstd_encode(records, level=1)
    assert compressed != codec.zstd_encode(records, level=3)
