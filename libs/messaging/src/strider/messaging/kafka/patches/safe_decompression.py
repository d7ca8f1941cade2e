"""Decompression and parsing of fetched records that survives malformed input.

Decides two things. A record whose header name is no UTF-8 is delivered like any other, with that name
escaped: the library raises a bare UnicodeDecodeError on it, at every attempt, and nothing after it would ever
be read. And bytes that cannot be decompressed at all become a failure that is kept beside the assignment
until the consumer retrieves it: raised in the middle of a fetch, it would discard the records of other
partitions, whose positions have moved on already.

Like `internals`, this holds for AIOKAFKA_VERSION. It knows nothing of what records mean.
"""

# ruff: noqa: SLF001  # reaching inside is what this file is for

from __future__ import annotations

from typing import Any, Final, NoReturn

from aiokafka.consumer import fetcher as library
from aiokafka.errors import CorruptRecordException
from aiokafka.record import default_records, memory_records
from aiokafka.record.util import decode_varint

_FORMAT_WITH_HEADERS: Final = 2
_FAILURES_ATTRIBUTE: Final = "unpacking_failures"

_Memory: Any = memory_records.MemoryRecords
_PlainMemory: Any = memory_records._MemoryRecordsPy
_PlainBatch: Any = default_records._DefaultRecordBatchPy
_Record: Any = default_records._DefaultRecordPy
_Partition: Any = library.PartitionRecords
_Result: Any = library.FetchResult
_patched: Any = library


def install_safe_decompression() -> None:
    """Have every consumer of this process use these classes; a second call changes nothing.

    The library names these classes in its own module only, so that no single consumer can be given others.
    """
    _patched.MemoryRecords = RawMemoryRecords
    _patched.PartitionRecords = SafePartitionRecords
    _patched.FetchResult = SafeFetchResult


def pop_failure(assignment: Any) -> Exception | None:
    """Return the oldest failure to read records of this assignment, once."""
    failures = getattr(assignment, _FAILURES_ATTRIBUTE, None)
    return failures.pop(0) if failures else None


class RawMemoryRecords(_Memory):  # type: ignore[misc]  # the class is chosen at run time
    """The batches of a fetch response with their bytes: the library's fast form hides them."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.content = content


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
        except UnicodeDecodeError:
            return self._next_with_escaped_names()
        except Exception as error:  # noqa: BLE001  # of the codecs each has its own
            self._fail(error)

    def _next_with_escaped_names(self) -> Any:
        self._records = _RemainingRecords(self._records.content, self.next_fetch_offset)
        self._records_iterator = self._unpack_records()
        try:
            return next(self._records_iterator)
        except StopIteration:
            self._records_iterator = None
            raise
        except Exception as error:  # noqa: BLE001  # as above
            self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        self._records_iterator = None
        self.failure = error
        raise StopIteration from error


class SafeFetchResult(_Result):  # type: ignore[misc]  # as above
    """One partition's share of a fetch; returns what was read before a failure, and keeps the failure."""

    def getall(self, max_records: int | None = None) -> list[Any]:
        """Return the next records."""
        records = self._partition_records
        found: list[Any] = super().getall(max_records)
        if records is not None and records.failure is not None:
            failures = getattr(self._assignment, _FAILURES_ATTRIBUTE, [])
            setattr(self._assignment, _FAILURES_ATTRIBUTE, [*failures, records.failure])
        return found


class _RemainingRecords(_PlainMemory):  # type: ignore[misc]  # as above
    """The batches from an offset on, the first of them read by us and the others by the library."""

    def __init__(self, content: bytes, offset: int) -> None:
        super().__init__(content)
        self.content = content
        self._is_first = True
        # A batch that is behind us would set the position back to its own end.
        while self._has_headers() and SafeRecordBatch(self._next_slice).next_offset <= offset:
            self._cache_next()

    def next_batch(self) -> Any:
        """Return the next batch."""
        piece, is_ours = self._next_slice, self._is_first and self._has_headers()
        batch = super().next_batch()
        self._is_first = False
        return SafeRecordBatch(piece) if is_ours else batch

    def _has_headers(self) -> bool:
        piece = self._next_slice
        if piece is None or len(piece) < SafeRecordBatch.HEADER_STRUCT.size:
            return False
        return bool(piece[self.MAGIC_OFFSET] >= _FORMAT_WITH_HEADERS)


class SafeRecordBatch(_PlainBatch):  # type: ignore[misc]  # as above
    """A batch whose header names may be any bytes."""

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
