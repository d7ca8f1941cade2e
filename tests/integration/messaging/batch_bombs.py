"""Record batches that are small in the log and large in memory, as a hostile producer writes them."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import cramjam
from aiokafka.record.util import calc_crc32c, encode_varint

MIB = 1024 * 1024
_CRC, _CHECKED, _ATTRIBUTES, _HEAD = 17, 21, 21, 61
_NO_TIMESTAMP_DELTA_NO_KEY = b"\0\0\0\x01"
_CODECS: Mapping[str, int] = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
_codecs: Any = cramjam


def _gzip(content: bytes) -> bytes:
    compressor = zlib.compressobj(9, wbits=31)
    return compressor.compress(content) + compressor.flush()


def _xerial(content: bytes) -> bytes:
    blocks = [bytes(_codecs.snappy.compress_raw(content[i : i + MIB])) for i in range(0, len(content), MIB)]
    head = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def _lz4(content: bytes) -> bytes:
    compressor = _codecs.lz4.Compressor(level=1, content_checksum=False, block_linked=False)
    compressor.compress(content)
    return bytes(compressor.finish())


COMPRESS: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": _gzip,
    "snappy": lambda content: bytes(_codecs.snappy.compress_raw(content)),
    "xerial": _xerial,
    "lz4": _lz4,
    "zstd": lambda content: bytes(_codecs.zstd.compress(content, level=1)),
}


def bomb(codec: str, mib: float) -> bytes:
    """Return the records of a batch, compressed: one record of so many MiB of zeros."""
    size = int(mib * MIB)
    return COMPRESS[codec](_record(_varint(size) + bytes(size) + b"\0"))


def header_bomb(headers: int) -> bytes:
    """Return the records of a batch, compressed: one record with so many headers without name and value."""
    return COMPRESS["zstd"](_record(b"\x01" + _varint(headers) + b"\0\x01" * headers))


def _record(rest: bytes) -> bytes:
    body = _NO_TIMESTAMP_DELTA_NO_KEY + rest
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    written = bytearray()
    encode_varint(number, written.append)
    return bytes(written)


async def send_batch(client: Any, topic: str, codec: str, records: bytes, *, partition: int = 0) -> int:
    """Send a batch with these compressed records, and return its offset."""
    batch = client.create_batch()
    batch.append(key=None, value=b"x", timestamp=None)
    batch.close()
    batch._build()
    head = bytearray(batch._buffer[:_HEAD])
    kind = _CODECS.get(codec, _CODECS["snappy"])
    struct.pack_into(">h", head, _ATTRIBUTES, kind)
    whole = head + records
    struct.pack_into(">i", whole, 8, len(whole) - 12)
    struct.pack_into(">I", whole, _CRC, calc_crc32c(bytes(whole[_CHECKED:])))
    batch._buffer = bytes(whole)
    sent = await asyncio.wait_for(await client.send_batch(batch, topic, partition=partition), 30)
    return int(sent.offset)
