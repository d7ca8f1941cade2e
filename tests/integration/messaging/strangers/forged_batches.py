"""Record batches with any content and a right checksum, as a producer that checks nothing sends them."""

from __future__ import annotations

import asyncio
import gzip
import struct
from collections.abc import Sequence
from random import Random
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.record.util import calc_crc32c, encode_varint

_HEAD = struct.Struct(">qiibIhiqqqhii")
_MAGIC, _NO_CODEC, _GZIP = 2, 0, 1
_CHECKED = 21
_NOW_MS = 1_700_000_000_000
_REFUSED_AS_CORRUPT = 2
"""Error code CORRUPT_MESSAGE; the library retries it, and would send the batch for ever."""


def varint(number: int) -> bytes:
    """Write a number as records have it."""
    written = bytearray()
    encode_varint(number, written.append)
    return bytes(written)


def sized(content: bytes) -> bytes:
    """Write bytes behind their number."""
    return varint(len(content)) + content


def record(value: bytes, *, delta: int = 0, headers: bytes = b"\0") -> bytes:
    """Write a record without a key; `headers` are their number and bytes, true or not."""
    return sized(b"\0\0" + varint(delta) + varint(-1) + sized(value) + headers)


def forged_batch(records: bytes, *, count: int = 1, codec: int = _NO_CODEC) -> bytes:
    """Write a batch of these bytes, compressed or not, with a head that is right for so many records."""
    head = (codec, count - 1, _NOW_MS, _NOW_MS, -1, -1, -1, count)
    whole = bytearray(_HEAD.pack(0, _HEAD.size - 12 + len(records), -1, _MAGIC, 0, *head) + records)
    struct.pack_into(">I", whole, _CHECKED - 4, calc_crc32c(bytes(whole[_CHECKED:])))
    return bytes(whole)


def with_gzip_tail(records: bytes) -> bytes:
    """Write a batch of gzip with bytes behind its end, which brokers do not read."""
    return forged_batch(gzip.compress(records) + b"trail", codec=_GZIP)


def mutated_batch(random: Random, number: int) -> bytes:
    """Write a batch of up to two records of which something is wrong: a byte, a length, or a number."""
    count = random.choice((1, 1, 2))
    records = b"".join(_mutated_record(random, b"%d" % number, delta) for delta in range(count))
    if random.random() < 0.4:
        tail = random.choice((b"", b"", b"tail"))
        return forged_batch(gzip.compress(records) + tail, count=count, codec=_GZIP)
    return forged_batch(records, count=count)


def _mutated_record(random: Random, value: bytes, delta: int) -> bytes:
    number = random.choice((0, -1, 1, 3, 5, 2**31 - 1, -(2**31), 2**40, -(2**62)))
    forms: Sequence[bytes] = (
        _with_wrong_bytes(random, record(value, delta=delta, headers=b"\x02\x02a\x02b")),
        record(value, delta=delta) + b"xx",
        record(value, delta=delta, headers=varint(number)),
        record(value, delta=delta, headers=varint(1) + varint(number) + b"ab" + varint(number)),
        sized(b"\0\0" + varint(delta) + varint(-1) + varint(number) + value + b"\0"),
        sized(b"\0\0" + varint(delta) + varint(number) + sized(value) + b"\0"),
        sized(b"\0" + varint(number) + varint(delta) + varint(-1) + sized(value) + b"\0"),
        record(value, delta=number),
        record(value, delta=delta),
    )
    return random.choice(forms)


def _with_wrong_bytes(random: Random, good: bytes) -> bytes:
    wrong = bytearray(good)
    for _ in range(random.choice((1, 1, 2, 5))):
        wrong[random.randrange(len(wrong))] = random.randrange(256)
    return bytes(wrong)


async def send_forged(client: Any, topic: str, content: bytes, *, partition: int = 0) -> int | None:
    """Send a batch as it is; return its offset, or None where the broker refuses it."""
    batch = client.create_batch()
    batch.append(key=None, value=b"x", timestamp=None)
    batch.close()
    batch._build()
    batch._buffer = content
    try:
        async with asyncio.timeout(30):
            sent = await client.send_batch(batch, topic, partition=partition)
            return int((await sent).offset)
    except KafkaError:
        return None
