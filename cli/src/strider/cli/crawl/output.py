"""Output of a crawl: one line per URL, never two, never half of one.

Decides the format of lines (JSON or CSV), that they reach a file whole, and where the file ends after an
interruption: at the length that was recorded with the state, to which it is truncated.
"""

from __future__ import annotations

import asyncio
import csv
import fcntl
import io
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson

from strider.cli.arguments import file_error
from strider.runtime.terminal_text import escape_controls

from .csv_cells import guard_cell, read_rows
from .results import RESULT_FIELDS, UrlResult

JSONL: Final = "jsonl"
CSV: Final = "csv"

BUFFER_BYTES: Final = 1 << 18
"""Buffered bytes from which on they are written."""


ExtraFields: TypeAlias = Mapping[str, Any]
"""Fields after those of every record, with their value where the page has none."""
NO_EXTRA: Final[ExtraFields] = {}


class ResultWriteFailed(Exception):
    """The output cannot be written; the message is one line."""


class ResultWriter:
    """Writes records to a file or a stream; buffered, and in whole lines."""

    def __init__(
        self, descriptor: int, *, name: str, form: str, further: ExtraFields = NO_EXTRA, length: int = 0
    ) -> None:
        self._descriptor = descriptor
        self._extra = further
        self._name = name
        self._form = form
        self._length = length
        self._buffer: list[bytes] = []
        self._buffered_bytes = 0
        self._writing = asyncio.Lock()
        self._is_terminal = False
        self.can_truncate = stat.S_ISREG(os.fstat(descriptor).st_mode)
        """Whether it is a regular file, which can be truncated."""

    @classmethod
    def create(cls, path: Path, form: str, further: ExtraFields = NO_EXTRA) -> ResultWriter:
        """Create a file, or overwrite it."""
        with _write_errors(str(path)):
            output = cls(_open_locked(path, os.O_CREAT), name=str(path), form=form, further=further)
            if output.can_truncate:
                os.ftruncate(output._descriptor, 0)
        output._write_header()
        return output

    @classmethod
    def resume(cls, path: Path, form: str, length: int, further: ExtraFields = NO_EXTRA) -> ResultWriter:
        """Continue a file at its recorded length; what follows is removed, and written again."""
        with _write_errors(str(path)):
            if form == CSV and length:
                _check_header(path, _csv_row([*RESULT_FIELDS, *further]))
            descriptor = _open_locked(path, 0)
            if os.fstat(descriptor).st_size < length:
                raise ResultWriteFailed(
                    f"{path}: shorter than when the state was saved; it was changed since then"
                )
            os.ftruncate(descriptor, length)
            os.lseek(descriptor, length, os.SEEK_SET)
        return cls(descriptor, name=str(path), form=form, further=further, length=length)

    @classmethod
    def to_stream(cls, descriptor: int, form: str, further: ExtraFields = NO_EXTRA) -> ResultWriter:
        """Write to standard output, which is never truncated."""
        output = cls(descriptor, name="standard output", form=form, further=further)
        output.can_truncate = False
        output._is_terminal = os.isatty(descriptor)
        output._write_header()
        return output

    def _write_header(self) -> None:
        if self._form == CSV:
            self._buffer_line(_csv_row([*RESULT_FIELDS, *self._extra]))

    @property
    def is_due(self) -> bool:
        """Whether the buffer should be written."""
        return self._buffered_bytes >= BUFFER_BYTES

    def write(self, line: UrlResult) -> None:
        """Add one record; it stays in memory until `flush` or `drain`."""
        content = {field: getattr(line, field) for field in RESULT_FIELDS}
        if self._extra:
            content |= {**self._extra, **line.further}
        if self._form == CSV:
            content["links"] = " ".join(line.links)
            self._buffer_line(_csv_row([_csv_value(value) for value in content.values()]))
        else:
            self._buffer_line(_json_row(content))

    def _buffer_line(self, line: bytes) -> None:
        if self._is_terminal:
            line = escape_controls(line.decode("utf-8", "replace")).encode()
        self._buffer.append(line)
        self._buffered_bytes += len(line)

    def _take_buffer(self) -> bytes:
        gathered, self._buffer, self._buffered_bytes = self._buffer, [], 0
        return b"".join(gathered)

    def flush(self) -> int:
        """Write the buffer; returns the length of the file."""
        self._write(self._take_buffer())
        return self._length

    async def drain(self) -> None:
        """Write the buffer; a slow reader of a stream blocks only the callers of this."""
        if self.can_truncate:
            self.flush()
            return
        async with self._writing:
            if content := self._take_buffer():
                await asyncio.to_thread(self._write, content)

    def _write(self, content: bytes) -> None:
        left = memoryview(content)
        try:
            with _write_errors(self._name):
                while left:
                    left = left[os.write(self._descriptor, left) :]
        except ResultWriteFailed:
            if self.can_truncate:  # half a line must not remain
                with suppress(OSError):
                    os.ftruncate(self._descriptor, self._length)
            raise
        self._length += len(content)

    def sync(self) -> None:
        """Wait until the disk has what was flushed."""
        if self.can_truncate:
            with _write_errors(self._name):
                os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file. What was not flushed is lost."""
        if self._descriptor > 2:  # noqa: PLR2004  # standard streams are the process's
            with _write_errors(self._name):
                os.close(self._descriptor)


def read_results(path: Path, form: str, length: int) -> Iterator[dict[str, object]]:
    """Return the fields of each line below a length; raises ResultWriteFailed for an invalid line."""
    try:
        with _write_errors(str(path)), path.open("rb") as stream:
            for line in _csv_objects(stream, length) if form == CSV else _json_objects(stream, length):
                yield {**line, "url": line["url"], "outcome": line["outcome"]}
    except (ValueError, TypeError, KeyError, csv.Error) as failure:
        raise ResultWriteFailed(f"{path}: not the output of this crawl ({failure!r:.100})") from failure


def _json_objects(stream: io.BufferedReader, length: int) -> Iterator[dict[str, object]]:
    while stream.tell() < length:
        yield json.loads(stream.readline())


def _csv_objects(stream: io.BufferedReader, length: int) -> Iterator[dict[str, object]]:
    csv.field_size_limit(1 << 30)

    def texts() -> Iterator[str]:
        while stream.tell() < length:
            yield stream.readline().decode("utf-8", "replace")

    yield from read_rows(texts())


def _json_row(content: dict[str, object]) -> bytes:
    try:
        return orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a lone surrogate, which UTF-8 cannot encode
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _check_header(path: Path, header: bytes) -> None:
    with path.open("rb") as stream:
        if stream.readline() != header:
            raise ResultWriteFailed(
                f"{path}: its columns are those of another version; crawl into a new file"
            )


def _csv_value(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _csv_row(values: Iterable[object]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow([guard_cell(value) for value in values])
    return text.getvalue().encode("utf-8", "replace")


def _open_locked(path: Path, flags: int) -> int:
    """Open a file for writing, locked for this process."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ResultWriteFailed(f"{path}: another crawl is writing to it") from None
    except OSError:  # the file system has no locks
        return descriptor
    return descriptor


@contextmanager
def _write_errors(name: str) -> Iterator[None]:
    """Turn errors of the system into one sentence."""
    try:
        yield
    except BrokenPipeError as failure:
        raise ResultWriteFailed(f"{name}: the reader has closed the pipe") from failure
    except OSError as failure:
        raise ResultWriteFailed(file_error(name, failure)) from failure
