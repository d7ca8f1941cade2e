"""Archive of the logs of ended runs: one compressed object for each run.

    run-logs/<first two of the hash>/<sha-256 of the run>.jsonl.gz

The name follows from the run. A line of JSON about the run, then one for each entry. Writing is repeatable:
what is archived already stays, and entries after its last position are added.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, Protocol

from strider.storage.errors import ObjectCorrupt, ObjectMissing

from .models import LogEntry, LogPage, LogState, LogSummary, entry_of_document, position_key

PREFIX: Final = "run-logs"

MAX_ARCHIVED_LINES: Final = 20_000
"""Lines of one archive; of a longer log the last ones."""

MAX_OBJECT_BYTES: Final = 32 * 1024 * 1024
MAX_PLAIN_BYTES: Final = 192 * 1024 * 1024
"""Largest decompressed archive: as many lines as it may have, of the length that they may have."""

_CONCURRENT_READS: Final = 2
_GZIP_FORMAT: Final = 16 + zlib.MAX_WBITS


class NamedObjects(Protocol):
    """Objects that are found by their names."""

    async def put_named(self, name: str, content: bytes) -> None:
        """Store or replace an object; may raise Unavailable."""

    async def get_named(self, name: str, *, max_bytes: int) -> bytes:
        """Return an object; raises ObjectMissing, Unavailable."""

    async def delete_older(self, prefix: str, *, than: datetime) -> int:
        """Delete what was stored before a time; returns the number. May raise Unavailable."""


@dataclass(frozen=True, slots=True)
class ArchivedLog:
    """The archived log of a run."""

    job_id: str
    run: str
    archived_at: str
    entries: Sequence[LogEntry]

    def summary(self) -> LogSummary:
        """Return what is archived."""
        first, last = (self.entries[place].line.ts if self.entries else "" for place in (0, -1))
        return LogSummary(self.job_id, self.run, LogState.ARCHIVED, len(self.entries), first, last)

    def page(self, *, after: str, count: int) -> LogPage:
        """Return up to `count` entries after a position."""
        behind = [each for each in self.entries if position_key(each.position) > position_key(after)]
        entries = behind[:count]
        position = entries[-1].position if entries else after
        return LogPage(entries, position, is_last=len(behind) <= count, state=LogState.ARCHIVED)


class RunLogArchive:
    """Writes and reads archives."""

    def __init__(self, objects: NamedObjects) -> None:
        self._objects = objects
        self._reads = asyncio.Semaphore(_CONCURRENT_READS)

    async def add(self, job_id: str, run: str, entries: Sequence[LogEntry], *, archived_at: str) -> None:
        """Archive entries of a run, behind those that are archived already."""
        earlier = await self.load(run)
        known = [] if earlier is None else list(earlier.entries)
        last = position_key(known[-1].position) if known else (0, 0)
        added = [each for each in entries if position_key(each.position) > last]
        if added:
            await self.replace(job_id, run, [*known, *added], archived_at=archived_at)

    async def replace(self, job_id: str, run: str, entries: Sequence[LogEntry], *, archived_at: str) -> None:
        """Archive entries of a run in place of what is archived."""
        whole = ArchivedLog(job_id, run, archived_at, entries[-MAX_ARCHIVED_LINES:])
        await self._objects.put_named(object_name(run), await asyncio.to_thread(encode_archive, whole))

    async def load(self, run: str) -> ArchivedLog | None:
        """Return the archive of a run; None where there is none. Raises Unavailable."""
        async with self._reads:  # each may take some MB
            try:
                content = await self._objects.get_named(object_name(run), max_bytes=MAX_OBJECT_BYTES)
            except ObjectMissing:
                return None
            return await asyncio.to_thread(decode_archive, content)

    async def delete_older(self, than: datetime) -> int:
        """Delete archives that were written before a time; return how many."""
        return await self._objects.delete_older(PREFIX, than=than)


def object_name(run: str) -> str:
    """Return the name of a run's archive; runs may have names that no folder may have."""
    digest = sha256(run.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{PREFIX}/{digest[:2]}/{digest}.jsonl.gz"


def encode_archive(log: ArchivedLog) -> bytes:
    """Return the object of a log; equal logs have equal objects."""
    head = {"job_id": log.job_id, "run": log.run, "archived_at": log.archived_at, "lines": len(log.entries)}
    lines = [head, *(entry.document() for entry in log.entries)]
    return gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode(), mtime=0)


def decode_archive(content: bytes) -> ArchivedLog:
    """Return the log of an object; raises ObjectCorrupt where it is none."""
    try:
        plain = zlib.decompressobj(_GZIP_FORMAT).decompress(content, MAX_PLAIN_BYTES)
        head, *lines = (json.loads(line) for line in plain.splitlines())
        entries = [entry_of_document(line) for line in lines]
        fields: dict[str, Any] = {name: str(head[name]) for name in ("job_id", "run", "archived_at")}
    except (zlib.error, ValueError, KeyError, TypeError, AttributeError) as failure:
        raise ObjectCorrupt(f"the archive of a run's log cannot be read: {failure}") from failure
    return ArchivedLog(**fields, entries=entries)
