"""Form of an archived log: a head, and blocks of lines that can be read one by one. Pure.

    gzip(head) gzip(block) gzip(block) …

Each part is a member of one gzip file, so that any tool reads the whole. The head is a line of JSON about the
run; its `blocks` say of each block where it begins and ends (from the end of the head), and the position of
its last entry. A block has some lines of JSON, one for each entry. The earlier form had all in one part, and
a head without `blocks`.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from strider.storage.errors import ObjectCorrupt

from .models import LogEntry, LogState, LogSummary, entry_of_document

BLOCK_LINES: Final = 200
BLOCK_BYTES: Final = 256 * 1024
"""Of the lines of a block, unless it has one line alone."""
MAX_BLOCK_BYTES: Final = 2 * 1024 * 1024
"""Most bytes that are decompressed of a block, or of a head."""
MAX_PLAIN_BYTES: Final = 192 * 1024 * 1024
"""Largest decompressed archive: as many lines as it may have, of the length that they may have."""

_GZIP_FORMAT: Final = 16 + zlib.MAX_WBITS
_FAULTS: Final = (zlib.error, ValueError, KeyError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True)
class ArchivedLog:
    """The whole archived log of a run."""

    job_id: str
    run: str
    archived_at: str
    entries: Sequence[LogEntry]


@dataclass(frozen=True, slots=True)
class ArchiveBlock:
    """Place of a block in its object, and what it has."""

    start: int
    end: int
    last: str
    """Position of its last entry."""
    lines: int


@dataclass(frozen=True, slots=True)
class ArchiveHead:
    """Head of an archive."""

    summary: LogSummary
    blocks: Sequence[ArchiveBlock]


def encode_archive(log: ArchivedLog) -> bytes:
    """Return the object of a log; equal logs have equal objects."""
    parts: list[bytes] = []
    blocks: list[tuple[int, int, str, int]] = []
    at = 0
    for entries, text in _blocks(log.entries):
        parts.append(gzip.compress(text, mtime=0))
        blocks.append((at, at + len(parts[-1]), entries[-1].position, len(entries)))
        at = blocks[-1][1]
    first, last = (log.entries[place].line.ts if log.entries else "" for place in (0, -1))
    head = {
        "job_id": log.job_id,
        "run": log.run,
        "archived_at": log.archived_at,
        "lines": len(log.entries),
        "first_ts": first,
        "last_ts": last,
        "blocks": blocks,
    }
    return b"".join((gzip.compress(json.dumps(head).encode() + b"\n", mtime=0), *parts))


def _blocks(entries: Iterable[LogEntry]) -> Iterator[tuple[list[LogEntry], bytes]]:
    block: list[LogEntry] = []
    text = b""
    for entry in entries:
        line = json.dumps(entry.document()).encode() + b"\n"
        if block and (len(block) == BLOCK_LINES or len(text) + len(line) > BLOCK_BYTES):
            yield block, text
            block, text = [], b""
        block.append(entry)
        text += line
    if block:
        yield block, text


def decode_head(content: bytes) -> ArchiveHead | None:
    """Return the head from the beginning of an object; None for the earlier form.

    Raises EOFError where the head is longer than that beginning, and ObjectCorrupt where there is none.
    """
    reader = zlib.decompressobj(_GZIP_FORMAT)
    try:
        line, is_whole, _ = reader.decompress(content, MAX_BLOCK_BYTES).partition(b"\n")
        if not is_whole:
            raise EOFError
        fields: dict[str, Any] = json.loads(line)
        if "blocks" not in fields:
            return None
        if not reader.eof:
            raise EOFError
        at = len(content) - len(reader.unused_data)
        texts = (str(fields[name]) for name in ("first_ts", "last_ts"))
        summary = LogSummary(
            str(fields["job_id"]), str(fields["run"]), LogState.ARCHIVED, int(fields["lines"]), *texts
        )
        blocks = [
            ArchiveBlock(at + start, at + end, str(last), int(lines))
            for start, end, last, lines in fields["blocks"]
        ]
    except _FAULTS as failure:
        raise _corrupt(failure) from failure
    return ArchiveHead(summary, blocks)


def decode_block(content: bytes) -> list[LogEntry]:
    """Return the entries of a block; raises ObjectCorrupt where it is none."""
    try:
        plain = zlib.decompressobj(_GZIP_FORMAT).decompress(content, MAX_BLOCK_BYTES)
        return [entry_of_document(json.loads(line)) for line in plain.splitlines()]
    except _FAULTS as failure:
        raise _corrupt(failure) from failure


def decode_archive(content: bytes) -> ArchivedLog:
    """Return the log of a whole object, also of the earlier form; raises ObjectCorrupt where it is none."""
    try:
        head, *lines = (json.loads(line) for line in _plain(content).splitlines())
        entries = [entry_of_document(line) for line in lines]
        fields: dict[str, Any] = {name: str(head[name]) for name in ("job_id", "run", "archived_at")}
    except _FAULTS as failure:
        raise _corrupt(failure) from failure
    return ArchivedLog(**fields, entries=entries)


def _plain(content: bytes) -> bytes:
    """Return the text of all parts, up to the limit."""
    parts: list[bytes] = []
    left = MAX_PLAIN_BYTES
    while content and left > 0:
        reader = zlib.decompressobj(_GZIP_FORMAT)
        parts.append(reader.decompress(content, left))
        left -= len(parts[-1])
        content = reader.unused_data
    return b"".join(parts)


def _corrupt(failure: Exception) -> ObjectCorrupt:
    return ObjectCorrupt(f"the archive of a run's log cannot be read: {failure}")
