"""Decompression and parsing of fetched records that survives malformed input.

Decides three things. A record whose header name is no UTF-8 is delivered like any other, with that name
escaped: the library raises a bare UnicodeDecodeError on it, at every attempt, and nothing after it would ever
be read. A batch that cannot be read becomes a failure that is kept beside the assignment until the consumer
retrieves it: raised in the middle of a fetch, it would discard the records of other partitions, whose
positions have moved on already. With the right checksum it would be the same at each attempt, so that its
offsets are reported as unread; with a wrong one it is fetched again. And a poll ends at a number of bytes:
batches are decompressed one at a time, and no more of them than the poll returns.

Like `internals`, this holds for AIOKAFKA_VERSION. It knows nothing of what records mean.
"""

# ruff: noqa: SLF001  # reaching inside is what this file is for

from __future__ import annotations

from typing import Any, ClassVar, Final, NamedTuple, NoReturn

from aiokafka.consumer import fetcher as library
from aiokafka.errors import CorruptRecordException
from aiokafka.record import default_records, memory_records
from aiokafka.record.util import decode_varint

from strider.messaging.errors import (
    BatchTooLarge,
    BatchUnreadable,
    PartitionUnavailable,
    TooManyRecords,
    UnreadBatch,
)

from .bounded_decompression import (
    CODECS,
    DEFAULT_LIMIT_BYTES,
    DecompressionLimitExceeded,
    LargeBatch,
    install_bounded_decompression,
)
from .checked_batches import RecordLimitExceeded, checked

POLL_BYTES: Final = 16 * 1024 * 1024
"""Keys, values and headers that one poll returns, exceeded by one record at most."""

_FORMAT_WITH_HEADERS: Final = 2
_BATCH_HEAD_BYTES: Final = 61
_HEADER_BYTES: Final = 100
"""Memory that a header takes besides its name and content."""
_FAILURES_ATTRIBUTE: Final = "unpacking_failures"
_BYTES_LEFT_ATTRIBUTE: Final = "poll_bytes_left"
_MAX_RECORDS_ATTRIBUTE: Final = "max_batch_records"
_OWN_FAILURES: Final = (MemoryError, OSError)
"""Of this process, and not of the bytes that it reads."""

_Memory: Any = memory_records.MemoryRecords
_PlainMemory: Any = memory_records._MemoryRecordsPy
_PlainBatch: Any = default_records._DefaultRecordBatchPy
_Record: Any = default_records._DefaultRecordPy
_Partition: Any = library.PartitionRecords
_Result: Any = library.FetchResult
_patched: Any = library


def install_safe_decompression(limit_bytes: int) -> None:
    """Have every consumer of this process use these classes and this bound; the last call counts.

    The library names these classes in its own module only, so that no single consumer can be given others.
    """
    _patched.MemoryRecords = RawMemoryRecords
    _patched.PartitionRecords = SafePartitionRecords
    _patched.FetchResult = SafeFetchResult
    SafeRecordBatch.limit_bytes = limit_bytes
    install_bounded_decompression(limit_bytes)


def pop_failure(assignment: Any) -> Exception | None:
    """Return a failure to read records of this assignment, once."""
    failures: dict[Any, Exception] = getattr(assignment, _FAILURES_ATTRIBUTE, {})
    return failures.pop(next(iter(failures))) if failures else None


def pop_unpacking_failure(client: Any) -> Exception | None:
    """Return a failure to read records of a client of the library that is not behind our port, once."""
    subscription = None if client is None else client._subscription.subscription
    return None if subscription is None else pop_failure(subscription.assignment)


def begin_client_poll(client: Any) -> None:
    """Begin a poll of a client that is not behind our port: without that, its bytes are used up for ever."""
    subscription = None if client is None else client._subscription.subscription
    begin_poll(None if subscription is None else subscription.assignment)


def forget_failure(assignment: Any, partition: Any) -> None:
    """Drop the failure of a partition that is read elsewhere from now on."""
    getattr(assignment, _FAILURES_ATTRIBUTE, {}).pop(partition, None)


def begin_poll(assignment: Any, *, max_batch_records: int | None = None) -> None:
    """Let the next results of this assignment return POLL_BYTES together, of batches of so many records."""
    if assignment is not None:
        setattr(assignment, _BYTES_LEFT_ATTRIBUTE, POLL_BYTES)
        setattr(assignment, _MAX_RECORDS_ATTRIBUTE, max_batch_records)


class RawMemoryRecords(_Memory):  # type: ignore[misc]  # the class is chosen at run time
    """The batches of a fetch response with their bytes: the library's fast form hides them."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.content = content
        self.max_records: int | None = None
        """How many records a batch may have."""

    def next_batch(self) -> Any:
        """Return the next batch."""
        return checked(super().next_batch(), max_records=self.max_records)


class SafePartitionRecords(_Partition):  # type: ignore[misc]  # as above
    """The records of one partition's response; costs nothing until something is wrong."""

    failure: Exception | None = None
    _records: Any
    _records_iterator: Any

    def __next__(self) -> Any:
        """Return the next record; end early, with `failure` set, before what cannot be read."""
        try:
            return next(self._records_iterator)
        except StopIteration:
            self._records_iterator = None
            raise
        except (UnicodeDecodeError, LargeBatch):
            return self._next_from_safe_batch()
        except Exception as error:  # noqa: BLE001  # of the codecs each has its own
            self._fail(self._unread(error))

    def limit_batch_records(self, max_records: int | None) -> None:
        """Read no batch that has more records."""
        self._records.max_records = max_records

    def _next_from_safe_batch(self) -> Any:
        self._records = _RemainingRecords(self._records, self.next_fetch_offset)
        self._records_iterator = self._unpack_records()
        try:
            return next(self._records_iterator)
        except StopIteration:
            self._records_iterator = None
            raise
        except Exception as error:  # noqa: BLE001  # as above
            self._fail(self._unread(error))

    def _unread(self, error: Exception) -> Exception:
        """Return the failure for the batch at the position."""
        if isinstance(error, _OWN_FAILURES):
            return error
        head = _RemainingRecords(self._records, self.next_fetch_offset).first_head()
        what = f"{type(error).__name__}: {error}"
        if head is None or not head.is_intact:
            detail = f"the batch at offset {self.next_fetch_offset} arrives damaged: {what}"
            return PartitionUnavailable(self._tp[0], self._tp[1], detail)
        if isinstance(error, DecompressionLimitExceeded):
            why = (
                f"takes more than {error.limit_bytes} bytes when it is decompressed "
                "(STRIDER_MAX_DECOMPRESSED_BATCH_MB)"
            )
            return self._unread_batch(BatchTooLarge, head, why)
        if isinstance(error, RecordLimitExceeded):
            why = f"has {error.records} records, and {error.limit} are the most that one may have here"
            return self._unread_batch(TooManyRecords, head, why)
        return self._unread_batch(BatchUnreadable, head, f"cannot be read ({what})")

    def _unread_batch(self, kind: type[UnreadBatch], head: _BatchHead, why: str) -> UnreadBatch:
        return kind(
            *self._tp,
            first=self.next_fetch_offset,
            last=head.last,
            codec=head.codec,
            compressed_bytes=head.compressed_bytes,
            why=why,
        )

    def _fail(self, error: Exception) -> NoReturn:
        self._records_iterator = None
        self.failure = error
        raise StopIteration from error


class SafeFetchResult(_Result):  # type: ignore[misc]  # as above
    """One partition's share of a fetch; returns what was read before a failure, and keeps the failure."""

    def getall(self, max_records: int | None = None) -> list[Any]:
        """Return the next records; none where the poll has its bytes already, and the rest with the next."""
        left = getattr(self._assignment, _BYTES_LEFT_ATTRIBUTE, POLL_BYTES)
        if left <= 0 or not self.has_more() or not self.check_assignment(self._topic_partition):
            return []
        records: Any = self._partition_records
        records.limit_batch_records(getattr(self._assignment, _MAX_RECORDS_ATTRIBUTE, None))
        found: list[Any] = []
        for record in () if records.failure else records:
            found.append(record)
            left -= memory_of(record)
            if left <= 0 or len(found) == max_records:
                break
        else:
            self._end(records)
        self._assignment.state_value(self._topic_partition).consumed_to(records.next_fetch_offset)
        setattr(self._assignment, _BYTES_LEFT_ATTRIBUTE, left)
        return found

    def _end(self, records: SafePartitionRecords) -> None:
        """Keep the failure; and the result too, where to fetch it again would only fail again."""
        if records.failure is not None:
            failures = getattr(self._assignment, _FAILURES_ATTRIBUTE, {})
            setattr(
                self._assignment, _FAILURES_ATTRIBUTE, {**failures, self._topic_partition: records.failure}
            )
        if not isinstance(records.failure, UnreadBatch):
            self._partition_records = None


def memory_of(record: Any) -> int:
    """Return about how many bytes a record takes."""
    size: int = len(record.key or b"") + len(record.value or b"")
    for name, content in record.headers:
        size += len(name) + len(content or b"") + _HEADER_BYTES
    return size


class _BatchHead(NamedTuple):
    """Fields of the head of a batch, which is not compressed."""

    last: int
    codec: str
    compressed_bytes: int
    is_intact: bool
    """Whether the checksum is right."""


class _RemainingRecords(_PlainMemory):  # type: ignore[misc]  # as above
    """The batches from an offset on, the first of them read by us and the others by the library."""

    def __init__(self, before: Any, offset: int) -> None:
        super().__init__(before.content)
        self.content = before.content
        self.max_records = before.max_records
        self._is_first = True
        # A batch that is behind us would set the position back to its own end.
        while self._has_headers() and SafeRecordBatch(self._next_slice).next_offset <= offset:
            self._cache_next()

    def first_head(self) -> _BatchHead | None:
        """Return the head of the batch at the offset; None where the bytes end before it does."""
        piece = self._next_slice
        if piece is None:
            return None
        if not self._has_headers():  # of an older format, whose offset is the last one in it
            return _BatchHead(int.from_bytes(piece[:8], "big"), CODECS[0], len(piece), is_intact=True)
        batch = SafeRecordBatch(piece)
        codec = batch.compression_type
        return _BatchHead(
            last=batch.next_offset - 1,
            codec=CODECS[codec] if codec < len(CODECS) else str(codec),
            compressed_bytes=len(piece) - _BATCH_HEAD_BYTES,
            is_intact=batch.validate_crc(),
        )

    def next_batch(self) -> Any:
        """Return the next batch."""
        piece, is_ours = self._next_slice, self._is_first and self._has_headers()
        batch = super().next_batch()
        self._is_first = False
        return checked(SafeRecordBatch(piece) if is_ours else batch, max_records=self.max_records)

    def _has_headers(self) -> bool:
        piece = self._next_slice
        if piece is None or len(piece) < SafeRecordBatch.HEADER_STRUCT.size:
            return False
        return bool(piece[self.MAGIC_OFFSET] >= _FORMAT_WITH_HEADERS)


class SafeRecordBatch(_PlainBatch):  # type: ignore[misc]  # as above
    """A batch whose header names may be any bytes, and whose headers are counted before they are read."""

    limit_bytes: ClassVar[int] = DEFAULT_LIMIT_BYTES
    _pos: int

    def _read_msg(self) -> Any:
        length, start = decode_varint(self._buffer, self._pos)
        _, position = decode_varint(self._buffer, start)  # attributes: none are defined
        since_first_ms, position = decode_varint(self._buffer, position)
        since_base, position = decode_varint(self._buffer, position)
        key, position = self._read_bytes(position)
        value, position = self._read_bytes(position)
        headers, position = self._read_headers(position)
        if position - start != length:
            raise CorruptRecordException(f"a record of {length} bytes has {position - start}")
        self._pos = position
        is_stamped_by_broker = self.timestamp_type == self.LOG_APPEND_TIME
        timestamp = self.max_timestamp if is_stamped_by_broker else self.first_timestamp + since_first_ms
        return _Record(self.base_offset + since_base, timestamp, self.timestamp_type, key, value, headers)

    def _read_headers(self, position: int) -> tuple[list[tuple[str, bytes | None]], int]:
        count, position = decode_varint(self._buffer, position)
        if count * _HEADER_BYTES > self.limit_bytes:
            raise DecompressionLimitExceeded(CODECS[self.compression_type], self.limit_bytes)
        headers = []
        for _ in range(count):
            name, position = self._read_bytes(position)
            content, position = self._read_bytes(position)
            headers.append(((name or b"").decode("utf-8", "backslashreplace"), content))
        return headers, position

    def _read_bytes(self, position: int) -> tuple[bytes | None, int]:
        size, position = decode_varint(self._buffer, position)
        if size < 0:
            return None, position
        return bytes(self._buffer[position : position + size]), position + size
