"""What a crawl writes: one line for each URL, never two, never half of one.

Decides how lines are spelt (JSON or CSV), that they reach a file whole, and where the file ends
after an interruption: at the length that was recorded with the state, to which it is cut back.
What goes into a line is `lines`; when they are written is the crawl's matter.
"""

from __future__ import annotations

import asyncio
import csv
import fcntl
import io
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson

from .lines import FIELDS, Line

JSONL: Final = "jsonl"
CSV: Final = "csv"

BUFFER_BYTES: Final = 1 << 18
"""So much is gathered at most before it is written."""


Further: TypeAlias = Mapping[str, Any]
"""Fields behind those of every line, with what they are where nothing is known."""
NONE: Final[Further] = {}


class OutputFailed(Exception):
    """The output cannot be written; the message says which and why, in one line."""


class Output:
    """Lines into a file or a stream; gathered, and written whole."""

    def __init__(
        self, descriptor: int, *, name: str, form: str, further: Further = NONE, length: int = 0
    ) -> None:
        self._descriptor = descriptor
        self._further = further
        self._name = name
        self._form = form
        self._length = length
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._writing = asyncio.Lock()
        self.can_truncate = stat.S_ISREG(os.fstat(descriptor).st_mode)
        """Whether it is a file that can be cut back; everything else takes what it is given."""

    @classmethod
    def create(cls, path: Path, form: str, further: Further = NONE) -> Output:
        """Begin a file anew."""
        with _failing(str(path)):
            output = cls(_opened(path, os.O_CREAT), name=str(path), form=form, further=further)
            if output.can_truncate:
                os.ftruncate(output._descriptor, 0)
        output._begin()
        return output

    @classmethod
    def resume(cls, path: Path, form: str, length: int, further: Further = NONE) -> Output:
        """Go on where a file was recorded to end; what came after that is written again."""
        with _failing(str(path)):
            descriptor = _opened(path, 0)
            if os.fstat(descriptor).st_size < length:
                raise OutputFailed(f"{path}: shorter than when the state was saved; it was changed since")
            os.ftruncate(descriptor, length)
            os.lseek(descriptor, length, os.SEEK_SET)
        return cls(descriptor, name=str(path), form=form, further=further, length=length)

    @classmethod
    def to_stream(cls, descriptor: int, form: str, further: Further = NONE) -> Output:
        """Write to standard output; what is there already stays."""
        output = cls(descriptor, name="standard output", form=form, further=further)
        output.can_truncate = False
        output._begin()
        return output

    def _begin(self) -> None:
        if self._form == CSV:
            self._gather(_csv_row([*FIELDS, *self._further]))

    @property
    def is_due(self) -> bool:
        """Whether so much is gathered that it should be written."""
        return self._gathered_bytes >= BUFFER_BYTES

    def write(self, line: Line) -> None:
        """Take one line; it stays in memory until `flush` or `drain`."""
        content = {field: getattr(line, field) for field in FIELDS}
        if self._further:
            content |= {**self._further, **line.further}
        if self._form == CSV:
            content["links"] = " ".join(line.links)
            self._gather(_csv_row([_in_a_cell(value) for value in content.values()]))
        else:
            self._gather(_json_row(content))

    def _gather(self, line: bytes) -> None:
        self._gathered.append(line)
        self._gathered_bytes += len(line)

    def _taken(self) -> bytes:
        gathered, self._gathered, self._gathered_bytes = self._gathered, [], 0
        return b"".join(gathered)

    def flush(self) -> int:
        """Hand everything to the system, at once; returns the length of a file."""
        self._put(self._taken())
        return self._length

    async def drain(self) -> None:
        """Hand everything to the system; whoever reads a stream slowly holds up only those who wait here."""
        if self.can_truncate:
            self.flush()
            return
        async with self._writing:
            if content := self._taken():
                await asyncio.to_thread(self._put, content)

    def _put(self, content: bytes) -> None:
        left = memoryview(content)
        try:
            with _failing(self._name):
                while left:
                    left = left[os.write(self._descriptor, left) :]
        except OutputFailed:
            if self.can_truncate:  # half a line must not stay behind
                with suppress(OSError):
                    os.ftruncate(self._descriptor, self._length)
            raise
        self._length += len(content)

    def sync(self) -> None:
        """Wait until the disk has what was flushed."""
        if self.can_truncate:
            with _failing(self._name):
                os.fsync(self._descriptor)

    def close(self) -> None:
        """Close a file. What was not handed on before is lost."""
        if self._descriptor > 2:  # noqa: PLR2004  # standard streams are the process's
            with _failing(self._name):
                os.close(self._descriptor)


def written(path: Path, form: str, length: int) -> Iterator[dict[str, object]]:
    """Give each line below a length, as its fields; raises OutputFailed for what is none."""
    try:
        with _failing(str(path)), path.open("rb") as stream:
            for line in _rows(stream, length) if form == CSV else _objects(stream, length):
                yield {**line, "url": line["url"], "outcome": line["outcome"]}
    except (ValueError, TypeError, KeyError, csv.Error) as failure:
        raise OutputFailed(f"{path}: not what this crawl has written ({failure!r:.100})") from failure


def _objects(stream: io.BufferedReader, length: int) -> Iterator[dict[str, object]]:
    while stream.tell() < length:
        yield json.loads(stream.readline())


def _rows(stream: io.BufferedReader, length: int) -> Iterator[dict[str, object]]:
    csv.field_size_limit(1 << 30)

    def texts() -> Iterator[str]:
        while stream.tell() < length:
            yield stream.readline().decode("utf-8", "replace")

    yield from csv.DictReader(texts())


def _json_row(content: dict[str, object]) -> bytes:
    try:
        return orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # half a character, which UTF-8 does not have
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _in_a_cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _csv_row(values: object) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(values)  # type: ignore[arg-type]  # a list of texts and numbers
    return text.getvalue().encode("utf-8", "replace")


def _opened(path: Path, flags: int) -> int:
    """Open a file for writing, for this process alone."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise OutputFailed(f"{path}: another crawl is writing it") from None
    except OSError:  # a file system without locks
        return descriptor
    return descriptor


@contextmanager
def _failing(name: str) -> Iterator[None]:
    """Turn what the system says into one sentence."""
    try:
        yield
    except BrokenPipeError as failure:
        raise OutputFailed(f"{name}: the reader has gone") from failure
    except OSError as failure:
        raise OutputFailed(f"{name}: {failure.strerror or failure}") from failure
