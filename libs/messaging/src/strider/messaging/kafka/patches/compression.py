"""Compression of what the client library sends: zstd level 1, stored for small batches.

The library writes zstd at a fixed level 3. Level 1 takes three fifths of the time for three per cent more
bytes, and a page's text is compressed at two hops. A batch of a few small events costs its sender 20 µs and
each of its readers 15, whatever its size, to save a kilobyte on a disk: it is stored as an uncompressed zstd
frame, which any reader understands. Batches grow with the load, so those of a busy topic are compressed all
the same. Values that are compressed already, such as the bodies of pages, go in batches without a codec,
beside the others in one request.

Like `internals`, this holds for AIOKAFKA_VERSION. It knows nothing of what is sent.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from importlib import import_module
from typing import Any, Final

from aiokafka import codec
from aiokafka.producer.message_accumulator import BatchBuilder

_new_batch: Any = BatchBuilder
"""The library's class, without the types that it does not have."""
_NO_CODEC: Final = 0
_LEVEL: Final = 1
_MIN_COMPRESSED_BYTES: Final = 2048
"""Size of records from which on compression pays."""
_CODEC_MODULES: Final = ("aiokafka.record.default_records", "aiokafka.record._crecords.default_records")
"""Modules that encode batches; the second is compiled, and missing where a platform has no wheel.
"""

_FRAME: Final = b"\x28\xb5\x2f\xfd"
"""RFC 8878: magic number of a frame. Then a byte for the form of the size, the size, and blocks."""
_SMALL_FRAME: Final = 0x20
"""One segment, whose size is the next byte."""
_LARGE_FRAME: Final = 0x60
"""One segment, whose size, less 256, is the next two bytes."""
_SMALL_FRAME_LIMIT: Final = 256
_BLOCK_BYTES: Final = 3
"""Head of a block: its size, and in the lowest bits whether it is the last (1), and its kind (0: stored)."""
_LAST_STORED_BLOCK: Final = 1
_SIZE_SHIFT: Final = 3
_HEAD_BYTES: Final = {_SMALL_FRAME: 6, _LARGE_FRAME: 7}
"""Bytes before the first block."""


def install_light_compression() -> None:
    """Have every client of a broker in this process compress in this way; a second call changes nothing.

    The codec modules name the functions in themselves only, so that no single producer can be given others.
    """
    for name in _CODEC_MODULES:
        try:
            writer: Any = import_module(name)
        except ImportError:
            continue
        writer.zstd_encode = compress


def exclude_topics_from_compression(producer: Any, topics: AbstractSet[str]) -> None:
    """Have a producer of the library compress no batch of these topics; the set may grow later.

    The library knows one codec a producer; a second producer would cost one more request for each page.
    """
    accumulator = producer._message_accumulator  # noqa: SLF001  # where batches are begun
    append = accumulator._append_batch  # noqa: SLF001

    def append_batch(builder: Any, place: Any) -> Any:
        if place.topic in topics:
            size = accumulator._batch_size  # noqa: SLF001
            builder = _new_batch(size, _NO_CODEC, is_transactional=False)
        return append(builder, place)

    accumulator._append_batch = append_batch  # noqa: SLF001


def compress(records: bytes) -> bytes:
    """Return records as a zstd frame."""
    size = len(records)
    if size >= _MIN_COMPRESSED_BYTES:
        compressed: bytes = codec.zstd_encode(records, level=_LEVEL)
        return compressed
    block = (size << _SIZE_SHIFT | _LAST_STORED_BLOCK).to_bytes(_BLOCK_BYTES, "little")
    if size < _SMALL_FRAME_LIMIT:
        return b"%b%c%c%b%b" % (_FRAME, _SMALL_FRAME, size, block, records)
    return b"%b%c%b%b%b" % (
        _FRAME,
        _LARGE_FRAME,
        (size - _SMALL_FRAME_LIMIT).to_bytes(2, "little"),
        block,
        records,
    )


def stored_records(content: bytes) -> bytes | None:
    """Return the records of a stored frame; None where the content must be decompressed."""
    head = (
        _HEAD_BYTES.get(content[4], 0)
        if content[:4] == _FRAME and len(content) > max(_HEAD_BYTES.values())
        else 0
    )
    if head:
        start = head + _BLOCK_BYTES
        block = int.from_bytes(content[head:start], "little")
        if block == ((len(content) - start) << _SIZE_SHIFT | _LAST_STORED_BLOCK):
            return bytes(content[start:])
    return None
