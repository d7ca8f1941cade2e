"""Malformed batches, and what of them is delivered."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.consumer.fetcher import READ_COMMITTED
from aiokafka.record import default_records
from aiokafka.record.util import calc_crc32c, encode_varint
from aiokafka.structs import TopicPartition as LibraryPartition

from strider.messaging.errors import BatchTooLarge, BatchUnreadable, PartitionUnavailable, TooManyRecords
from strider.messaging.kafka.patches.bounded_decompression import CODECS, DEFAULT_LIMIT_BYTES
from strider.messaging.kafka.patches.safe_decompression import (
    POLL_BYTES,
    RawMemoryRecords,
    SafeFetchResult,
    SafePartitionRecords,
    SafeRecordBatch,
    begin_poll,
    forget_failure,
    install_safe_decompression,
    pop_failure,
)

PARTITION = LibraryPartition("t", 0)
GOOD, BAD, SHOWN = b"name", b"\xff\xfeme", "\\xff\\xfeme"
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
TRANSACTIONAL = 0x10
_CRC, _CHECKED, _LAST_DELTA = 17, 21, 23
_Builder: Any = default_records._DefaultRecordBatchBuilderPy


class Name(str):
    """A header name of any bytes: each character stands for one."""

    __slots__ = ()

    def encode(self, *_: str) -> bytes:  # type: ignore[override]
        return super().encode("latin-1")


def batch(first: int, *names: bytes, codec: int = NONE, writer: int = -1) -> bytes:
    """Write one record for each header name, as a producer that checks nothing would."""
    builder = _Builder(2, codec, int(writer >= 0), writer, 0, 0, 1_000_000)
    for number, name in enumerate(names):
        value = None if number % 3 == 2 else b"v%d" % (first + number)
        headers = [(Name(name.decode("latin-1")), b"1"), ("none", None)]
        builder.append(number, 1000 + number, b"k", value, headers)
    return struct.pack(">q", first) + bytes(builder.build())[8:]


def varint(number: int) -> bytes:
    """Write a number as records have it."""
    written = bytearray()
    encode_varint(number, written.append)
    return bytes(written)


def sealed(raw: bytes) -> bytes:
    """Give a batch the checksum that belongs to what it now holds."""
    return raw[:_CRC] + struct.pack(">I", calc_crc32c(raw[_CHECKED:])) + raw[_CHECKED:]


class Fetched:
    """One partition's response, read as the library's consumer does it."""

    def __init__(
        self,
        content: bytes,
        *,
        at: int = 0,
        aborted: tuple[tuple[int, int], ...] = (),
        max_records: int | None = None,
    ) -> None:
        self.state = SimpleNamespace(paused=False, position=at)
        self.state.consumed_to = lambda offset: setattr(self.state, "position", offset)
        self.assignment = SimpleNamespace(active=True, state_value=lambda _partition: self.state)
        self.max_records = max_records
        records = SafePartitionRecords(
            PARTITION, RawMemoryRecords(content), list(aborted), at, None, None, True, READ_COMMITTED
        )
        self.result = SafeFetchResult(
            PARTITION, assignment=self.assignment, partition_records=records, backoff=0
        )

    def read(self, max_records: int | None = None) -> list[Any]:
        return self.result.getall(max_records)

    def read_all(self) -> list[int]:
        """Poll until nothing more comes, and return the offsets."""
        offsets: list[int] = []
        while True:
            begin_poll(self.assignment, max_batch_records=self.max_records)
            if not (found := self.read(500)):
                return offsets
            offsets += [record.offset for record in found]

    def names(self) -> list[tuple[int, str]]:
        return [(record.offset, record.headers[0][0]) for record in self.read()]


@pytest.mark.parametrize("codec", [NONE, GZIP, ZSTD])
def test_a_record_with_an_unreadable_header_name_is_whole_in_all_else(codec: int) -> None:
    """The codec judges it by its value; what the library gives for a good record is the measure."""
    good = Fetched(batch(0, GOOD, GOOD, GOOD, codec=codec)).read()
    bad = Fetched(batch(0, BAD, GOOD, BAD, codec=codec)).read()

    def plain(record: Any) -> tuple[Any, ...]:
        return (record.offset, record.timestamp, record.timestamp_type, record.key, record.value)

    assert [plain(record) for record in bad] == [plain(record) for record in good]
    assert [record.headers for record in bad] == [
        ((SHOWN, b"1"), ("none", None)),
        (("name", b"1"), ("none", None)),
        ((SHOWN, b"1"), ("none", None)),
    ]


@pytest.mark.parametrize("max_records", [1, 2, 3, None])
def test_each_record_comes_once_wherever_the_bad_ones_stand(max_records: int | None) -> None:
    """Batches before the bad one are behind us, and another unpacking must not set the position back."""
    content = batch(0, GOOD, GOOD) + batch(2, GOOD, BAD, BAD) + batch(5, GOOD) + batch(6, BAD)
    fetched = Fetched(content)
    offsets: list[int] = []
    while fetched.result.has_more():
        offsets += [record.offset for record in fetched.read(max_records)]

    assert offsets == [0, 1, 2, 3, 4, 5, 6]
    assert fetched.state.position == 7
    assert pop_failure(fetched.assignment) is None


def test_a_read_that_begins_within_a_bad_batch_gives_the_rest_of_it() -> None:
    assert Fetched(batch(0, BAD, BAD, GOOD), at=1).names() == [(1, SHOWN), (2, "name")]


def test_what_was_aborted_stays_unread_after_a_bad_record() -> None:
    """Another unpacking must not forget which transactions were aborted."""
    content = batch(0, BAD) + batch(1, BAD, GOOD, writer=9) + batch(3, GOOD, writer=8)

    assert Fetched(content, aborted=((9, 1),)).names() == [(0, SHOWN), (3, "name")]


def _unreadable_codec() -> bytes:
    raw = bytearray(batch(2, GOOD, codec=ZSTD))
    raw[70:] = b"\0" * len(raw[70:])
    return sealed(bytes(raw))


def _cut_after_a_bad_name() -> bytes:
    raw = bytearray(batch(2, BAD))
    raw[61] += 2
    return sealed(bytes(raw))


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        pytest.param(batch(2, GOOD)[:-1] + b"x", PartitionUnavailable, id="checksum"),
        pytest.param(_unreadable_codec(), BatchUnreadable, id="compressed part"),
        pytest.param(_cut_after_a_bad_name(), BatchUnreadable, id="length, with a bad name"),
    ],
)
def test_undecodable_records_fail_after_the_others_were_delivered(
    broken: bytes, kind: type[BatchUnreadable | PartitionUnavailable]
) -> None:
    """Raised at once, it would take along the records of every partition that was read with it."""
    fetched = Fetched(batch(0, GOOD, BAD) + broken)

    assert fetched.names() == [(0, "name"), (1, SHOWN)]
    assert fetched.state.position == 2
    failure = pop_failure(fetched.assignment)
    assert isinstance(failure, kind)
    assert isinstance(failure, PartitionUnavailable) or (failure.first, failure.last) == (2, 2)
    assert pop_failure(fetched.assignment) is None


def test_a_batch_with_a_wrong_checksum_is_fetched_again() -> None:
    """What was damaged on its way is right at the next attempt."""
    fetched = Fetched(batch(0, GOOD)[:-1] + b"x")

    assert fetched.read() == []
    failure = pop_failure(fetched.assignment)
    assert isinstance(failure, PartitionUnavailable)
    assert "t[0]: the batch at offset 0 arrives damaged: CorruptRecordException" in failure.detail
    assert not fetched.result.has_more()


def test_damage_in_the_head_of_a_batch_is_no_number_of_records() -> None:
    head = bytearray(batch(0, GOOD))
    head[_LAST_DELTA : _LAST_DELTA + 4] = b"\0\0\xff\xff"
    fetched = Fetched(bytes(head), max_records=10)

    assert fetched.read_all() == []
    assert isinstance(pop_failure(fetched.assignment), PartitionUnavailable)


@pytest.mark.fault("A16")
@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_a_batch_of_too_many_records_is_not_decompressed(codec: int) -> None:
    content = batch(0, GOOD, GOOD) + batch(2, GOOD, GOOD, GOOD, codec=codec) + batch(5, GOOD)
    fetched = Fetched(content, max_records=2)

    assert fetched.read_all() == [0, 1]
    failure = pop_failure(fetched.assignment)
    assert isinstance(failure, TooManyRecords)
    assert (failure.first, failure.last, failure.codec) == (2, 4, CODECS[codec])
    assert failure.why == "has 3 records, and 2 are the most that one may have here"
    assert Fetched(content).read_all() == list(range(6))


@pytest.mark.fault("A16")
@pytest.mark.parametrize("neighbour", [GOOD, BAD])
@pytest.mark.parametrize("offset", [-1, 0, 2, 2**31 - 1])
def test_a_record_outside_of_its_batch_moves_no_position(offset: int, neighbour: bytes) -> None:
    """Brokers leave these numbers as they are: a reader would continue there, and skip what is between."""
    raw = bytearray(batch(0, neighbour, GOOD))
    second = SafeRecordBatch(bytes(raw))
    next(second)
    raw[second._pos + 3 : second._pos + 4] = varint(offset)
    length = raw[second._pos] // 2 + len(varint(offset)) - 1
    raw[second._pos : second._pos + 1] = varint(length)
    raw[8:12] = struct.pack(">i", len(raw) - 12)
    fetched = Fetched(sealed(bytes(raw)) + batch(2, GOOD))

    assert fetched.read_all() == [0]
    assert fetched.state.position == 1
    failure = pop_failure(fetched.assignment)
    assert isinstance(failure, BatchUnreadable)
    assert (failure.first, failure.last, failure.resume_at) == (1, 1, 2)
    assert f"a record has offset {offset}, where 1 to 1 are possible" in failure.why


LIMIT = 3 * 1024 * 1024


@pytest.fixture
def small_limit() -> Iterator[None]:
    install_safe_decompression(LIMIT)
    yield
    install_safe_decompression(DEFAULT_LIMIT_BYTES)


def large_batch(first: int, *sizes: int, codec: int = ZSTD, headers: int = 0) -> bytes:
    """Write records with values of these sizes, which compress to almost nothing."""
    builder = _Builder(2, codec, False, -1, 0, 0, 200_000_000)
    for number, size in enumerate(sizes):
        builder.append(number, 1000, b"k", bytes(size), [("", b"")] * headers)
    return struct.pack(">q", first) + bytes(builder.build())[8:]


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
@pytest.mark.parametrize("neighbour", [NONE, ZSTD])
def test_a_batch_beyond_the_bound_fails_with_its_range_after_the_records_before_it(
    codec: int, neighbour: int
) -> None:
    bomb = large_batch(2, 10, LIMIT, 10, codec=codec)
    fetched = Fetched(batch(0, GOOD, GOOD, codec=neighbour) + bomb + batch(5, GOOD))

    assert fetched.read_all() == [0, 1]
    assert fetched.state.position == 2
    failure = pop_failure(fetched.assignment)
    assert isinstance(failure, BatchTooLarge)
    assert (failure.topic, failure.partition, failure.first, failure.last) == ("t", 0, 2, 4)
    assert (failure.resume_at, failure.messages) == (5, 3)
    assert failure.codec == CODECS[codec]
    assert failure.compressed_bytes == len(bomb) - 61
    assert failure.why.startswith(f"takes more than {LIMIT} bytes when it is decompressed")


@pytest.mark.usefixtures("small_limit")
def test_a_read_that_begins_within_a_batch_beyond_the_bound_names_the_rest_of_it() -> None:
    fetched = Fetched(large_batch(0, 10, LIMIT, 10), at=1)

    assert fetched.read_all() == []
    failure = pop_failure(fetched.assignment)
    assert isinstance(failure, BatchTooLarge)
    assert (failure.first, failure.last) == (1, 2)


@pytest.mark.usefixtures("small_limit")
def test_an_aborted_batch_beyond_the_bound_is_skipped_like_any_aborted_batch() -> None:
    builder = _Builder(2, ZSTD, True, 9, 0, 0, 200_000_000)
    builder.append(0, 1000, b"k", bytes(LIMIT + 1), [])
    content = bytes(builder.build()) + batch(1, GOOD)

    fetched = Fetched(content, aborted=((9, 0),))

    assert (fetched.read_all(), pop_failure(fetched.assignment)) == ([1], None)


@pytest.mark.usefixtures("small_limit")
def test_a_failure_is_reported_at_each_poll_until_the_reader_seeks() -> None:
    """Nothing is fetched again meanwhile: it would be decompressed again, and fail again."""
    fetched = Fetched(large_batch(0, LIMIT + 1))
    for _ in range(2):
        assert fetched.read(1) == []
        assert isinstance(pop_failure(fetched.assignment), BatchTooLarge)
        assert fetched.result.has_more()
    fetched.read(1)
    forget_failure(fetched.assignment, PARTITION)

    assert pop_failure(fetched.assignment) is None


@pytest.mark.usefixtures("small_limit")
def test_a_large_batch_within_the_bound_is_read_whole() -> None:
    """It takes the way of the decoder that counts headers, and the next batch the fast one again."""
    sizes = (900_000, 900_000, 900_000)
    content = large_batch(0, *sizes) + batch(3, BAD) + large_batch(4, *sizes, codec=GZIP) + batch(7, GOOD)

    assert Fetched(content).read_all() == list(range(8))


@pytest.mark.usefixtures("small_limit")
def test_headers_count_as_the_memory_that_they_take() -> None:
    """A header without name and value is two bytes, and a Python object."""
    fetched = Fetched(batch(0, GOOD) + large_batch(1, 2_200_000, headers=LIMIT // 100 + 1))

    assert fetched.read_all() == [0]
    assert isinstance(pop_failure(fetched.assignment), BatchTooLarge)


def test_a_poll_ends_at_its_bytes_and_the_next_one_continues() -> None:
    """Sixteen such batches fit into one fetch; a poll takes as many records as its bytes allow."""
    content = b"".join(large_batch(number, POLL_BYTES // 2) for number in range(5))
    fetched, sizes = Fetched(content), []
    while True:
        begin_poll(fetched.assignment)
        if not (found := fetched.read(500)):
            break
        sizes.append([record.offset for record in found])
        assert fetched.read(500) == [], "the poll has its bytes: nothing of another partition either"

    assert sizes == [[0, 1], [2, 3], [4]]
