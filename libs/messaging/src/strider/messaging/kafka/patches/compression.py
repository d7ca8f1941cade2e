"""How hard the client library compresses what it sends, and what not at all.

The library writes zstd at level 3 and lets nobody choose. Level 1 takes three fifths of the time for
three per cent more bytes, and a page's text is compressed at two hops. A batch of a few small events
costs its sender 20 µs and each of its readers 15, whatever its size, to have a kilobyte less on a disk:
it is stored in zstd's form as it is, which any reader understands. Batches grow with the load, so
those of a busy topic are compressed all the same. What is compressed already, as the bodies of pages,
goes in batches without any, beside the others in one request.

Like `insides`, this holds for aiokafka 0.14 and 0.15. It knows nothing of what is sent.
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
_LEAST_BYTES: Final = 2048
"""Of records that are worth compressing."""
_CODEC_MODULES: Final = ("aiokafka.record.default_records", "aiokafka.record._crecords.default_records")
"""Who packs and unpacks batches; the second one is compiled, and missing where a platform has no wheel."""

_FRAME: Final = b"\x28\xb5\x2f\xfd"
"""RFC 8878: what a frame begins with. Then a byte that says how its size is written, the size, and blocks."""
_SMALL: Final = 0x20
"""One segment, whose size is the next byte."""
_LARGE_FRAME: Final = 0x60
"""One segment, whose size, less 256, is the next two bytes."""
_SMALL_FRAME_LIMIT: Final = 256
_BLOCK_BYTES: Final = 3
"""Head of a block: its size, and in the lowest bits whether it is the last (1), and its kind (0: stored)."""
_LAST_STORED_BLOCK: Final = 1
_SIZE_SHIFT: Final = 3
_HEADS: Final = {_SMALL: 6, _LARGE_FRAME: 7}
"""Bytes before the first block."""


def install_light_compression() -> None:
    """Have every client of a broker in this process compress in this way; a second call changes nothing.

    The writers name the functions in their own modules only, so that no single producer can be given others.
    """
    for name in _CODEC_MODULES:
        try:
            writer: Any = import_module(name)
        except ImportError:
            continue
        writer.zstd_encode = compress
        writer.zstd_decode = decompress


def exclude_topics_from_compression(producer: Any, topics: AbstractSet[str]) -> None:
    """Have a producer of the library compress no batch of these topics, whichever they are by then.

    The library knows one codec a producer; a second producer would ask the broker once more for each page.
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
    """Give records in zstd's form."""
    size = len(records)
    if size >= _LEAST_BYTES:
        compressed: bytes = codec.zstd_encode(records, level=_LEVEL)
        return compressed
    block = (size << _SIZE_SHIFT | _LAST_STORED_BLOCK).to_bytes(_BLOCK_BYTES, "little")
    if size < _SMALL_FRAME_LIMIT:
        return b"%b%c%c%b%b" % (_FRAME, _SMALL, size, block, records)
    return b"%b%c%b%b%b" % (
        _FRAME,
        _LARGE_FRAME,
        (size - _SMALL_FRAME_LIMIT).to_bytes(2, "little"),
        block,
        records,
    )


def decompress(content: bytes) -> bytes:
    """Give the records of a batch; those that are stored as they are without asking the library."""
    head = _HEADS.get(content[4], 0) if content[:4] == _FRAME and len(content) > max(_HEADS.values()) else 0
    if head:
        start = head + _BLOCK_BYTES
        block = int.from_bytes(content[head:start], "little")
        if block == ((len(content) - start) << _SIZE_SHIFT | _LAST_STORED_BLOCK):
            return bytes(content[start:])
    records: bytes = codec.zstd_decode(content)
    return records
