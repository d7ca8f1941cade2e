"""Decompression within a bound, in all codecs of record batches."""

from __future__ import annotations

import os
import threading

import cramjam
import pytest
from aiokafka import codec as library

from strider.messaging.kafka.patches.bounded_decompression import (
    BoundedDecompressor,
    DecompressionLimitExceeded,
    LargeBatch,
)
from tests.integration.messaging.batch_bombs import COMPRESS

LIMIT = 100_000
CODECS = sorted(COMPRESS)


def decompress(codec: str, content: bytes, decompressor: BoundedDecompressor | None = None) -> bytes:
    name = "snappy" if codec == "xerial" else codec
    found: bytes = getattr(decompressor or BoundedDecompressor(LIMIT), name)(memoryview(content).tobytes())
    return found


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [0, 1, 2_047, 65_536, LIMIT])
def test_content_up_to_the_bound_comes_back(codec: str, size: int) -> None:
    content = os.urandom(size // 2) + bytes(size - size // 2)

    assert decompress(codec, COMPRESS[codec](content)) == content


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [LIMIT + 1, 50 * LIMIT])
def test_one_byte_more_is_refused_with_the_codec_and_the_bound(codec: str, size: int) -> None:
    with pytest.raises(DecompressionLimitExceeded) as raised:
        decompress(codec, COMPRESS[codec](bytes(size)))

    assert (raised.value.codec, raised.value.limit_bytes) == (codec.replace("xerial", "snappy"), LIMIT)


@pytest.mark.parametrize("codec", CODECS)
def test_what_the_library_compresses_is_read(codec: str) -> None:
    """Its own encoders are the measure of its formats, as other producers write them."""
    content = os.urandom(3_000) + bytes(40_000)
    encode = {
        "gzip": library.gzip_encode,
        "lz4": library.lz4_encode,
        "snappy": lambda records: library.snappy_encode(records, xerial_compatible=False),
        "xerial": library.snappy_encode,
        "zstd": library.zstd_encode,
    }[codec]

    assert decompress(codec, encode(content)) == content


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_several_members_are_bounded_together(codec: str) -> None:
    member = COMPRESS[codec](bytes(LIMIT // 2))

    assert decompress(codec, member * 2) == bytes(LIMIT)
    with pytest.raises(DecompressionLimitExceeded):
        decompress(codec, member * 3)


@pytest.mark.parametrize("codec", CODECS)
def test_content_that_is_cut_off_is_refused_as_malformed(codec: str) -> None:
    with pytest.raises(cramjam.DecompressionError):
        decompress(codec, COMPRESS[codec](os.urandom(5_000))[:-30])


def test_a_large_batch_is_passed_to_the_decoder_that_counts_headers() -> None:
    decompressor = BoundedDecompressor(LIMIT, checked_bytes=LIMIT // 2)

    for codec in CODECS:
        assert len(decompress(codec, COMPRESS[codec](bytes(LIMIT // 2)), decompressor)) == LIMIT // 2
        with pytest.raises(LargeBatch):
            decompress(codec, COMPRESS[codec](bytes(LIMIT // 2 + 1)), decompressor)


def test_threads_do_not_share_a_buffer() -> None:
    """The codecs release the interpreter while they write to it."""
    decompressor = BoundedDecompressor(4_000_000)
    wrong: list[int] = []

    def read(letter: int) -> None:
        content = bytes([letter]) * 3_000_000
        compressed = COMPRESS["zstd"](content)
        wrong.extend(letter for _ in range(30) if decompressor.zstd(compressed) != content)

    threads = [threading.Thread(target=read, args=(letter,)) for letter in b"abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
