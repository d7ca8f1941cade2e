"""Archive of the logs of ended runs: one compressed object for each run.

    run-logs/<first two of the hash>/<sha-256 of the run>.jsonl.gz

The name follows from the run. Writing is repeatable: what is archived already stays, and entries after its
last position are added. A reader gets the blocks that it needs, and holds one at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final, Protocol, TypeVar

from strider.storage.errors import ObjectChanged, ObjectMissing

from .archive_format import (
    ArchiveBlock,
    ArchivedLog,
    ArchiveHead,
    decode_archive,
    decode_block,
    decode_head,
    encode_archive,
)
from .models import LogEntry, LogPage, LogState, LogSummary, position_key

PREFIX: Final = "run-logs"

MAX_ARCHIVED_LINES: Final = 20_000
"""Lines of one archive; of a longer log the last ones."""

MAX_OBJECT_BYTES: Final = 32 * 1024 * 1024
HEAD_BYTES: Final = 16 * 1024
"""Bytes that are read first; enough for the head of nearly every archive."""
MAX_HEAD_BYTES: Final = 1024 * 1024
MAX_ATTEMPTS: Final = 5
"""Of a reader, where the archive is replaced meanwhile."""

_CONCURRENT_READS: Final = 4

T = TypeVar("T")


class NamedObjects(Protocol):
    """Objects that are found by their names."""

    async def put_named(self, name: str, content: bytes) -> None:
        """Store or replace an object; may raise Unavailable."""

    async def get_named(self, name: str, *, max_bytes: int) -> bytes:
        """Return an object; raises ObjectMissing, Unavailable."""

    async def get_named_range(
        self, name: str, *, start: int, end: int, version: str = ""
    ) -> tuple[bytes, str]:
        """Return some bytes of an object, and its version.

        Raises ObjectMissing, Unavailable, and ObjectChanged where it has another version.
        """

    async def delete_older(self, prefix: str, *, than: datetime) -> int:
        """Delete what was stored before a time; returns the number. May raise Unavailable."""


@dataclass(frozen=True, slots=True)
class _OpenedArchive:
    """An archive of which some blocks are read."""

    objects: NamedObjects
    name: str
    version: str
    head: ArchiveHead
    entries: Sequence[LogEntry] | None = None
    """All entries, of an archive in the earlier form."""

    async def block(self, block: ArchiveBlock) -> Sequence[LogEntry]:
        """Return the entries of a block."""
        if self.entries is not None:
            return self.entries
        content, _ = await self.objects.get_named_range(
            self.name, start=block.start, end=block.end, version=self.version
        )
        return await asyncio.to_thread(decode_block, content)

    async def entries_after(self, position: str) -> AsyncIterator[LogEntry]:
        """Yield the entries after a position."""
        place = position_key(position)
        for block in self.head.blocks:
            if position_key(block.last) > place:
                for entry in await self.block(block):
                    if position_key(entry.position) > place:
                        yield entry

    async def page(self, *, after: str, count: int) -> LogPage:
        """Return up to `count` entries after a position."""
        entries: list[LogEntry] = []
        end = position_key(self.head.blocks[-1].last) if self.head.blocks else (0, 0)
        async for entry in self.entries_after(after):
            entries.append(entry)
            if len(entries) == count:
                break
        position = entries[-1].position if entries else after
        return LogPage(entries, position, is_last=position_key(position) >= end, state=LogState.ARCHIVED)

    async def tail(self, count: int) -> list[LogEntry]:
        """Return the last entries, oldest first."""
        found: list[LogEntry] = []
        for block in reversed(self.head.blocks):
            if len(found) >= count:
                break
            found = [*await self.block(block), *found]
        return found[-count:]


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
        """Return the whole archive of a run, to add to it; None where there is none. Raises Unavailable."""
        async with self._reads:  # each may take some MB
            return await self._load(run)

    async def page(self, run: str, *, after: str, count: int) -> LogPage | None:
        """Return up to `count` entries after a position; None without an archive. Raises Unavailable."""
        return await self._read(run, lambda archive: archive.page(after=after, count=count))

    async def summary(self, run: str) -> LogSummary | None:
        """Return what is archived of a run; None where that is nothing. Raises Unavailable."""

        async def read(archive: _OpenedArchive) -> LogSummary:
            return archive.head.summary

        return await self._read(run, read)

    async def tail(self, run: str, *, count: int) -> list[LogEntry]:
        """Return the last entries of a run, oldest first. Raises Unavailable."""
        return await self._read(run, lambda archive: archive.tail(count)) or []

    async def delete_older(self, than: datetime) -> int:
        """Delete archives that were written before a time; return how many."""
        return await self._objects.delete_older(PREFIX, than=than)

    async def _read(self, run: str, read: Callable[[_OpenedArchive], Awaitable[T]]) -> T | None:
        """Read from an archive, again where it was replaced meanwhile."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                async with self._reads:
                    archive = await self._open(run)
                    return None if archive is None else await read(archive)
            except ObjectChanged:
                if attempt == MAX_ATTEMPTS:
                    raise
        return None

    async def _open(self, run: str) -> _OpenedArchive | None:
        name, size = object_name(run), HEAD_BYTES
        while True:
            try:
                content, version = await self._objects.get_named_range(name, start=0, end=size)
            except ObjectMissing:
                return None
            try:
                head = decode_head(content)
            except EOFError:
                if len(content) < size or size >= MAX_HEAD_BYTES:
                    head = None  # a head that is cut off, or none: read as a whole, it is refused
                else:
                    size = MAX_HEAD_BYTES
                    continue
            if head is not None:
                return _OpenedArchive(self._objects, name, version, head)
            whole = await self._load(run)
            return (
                None
                if whole is None
                else _OpenedArchive(self._objects, name, version, _head_of(whole), whole.entries)
            )

    async def _load(self, run: str) -> ArchivedLog | None:
        try:
            content = await self._objects.get_named(object_name(run), max_bytes=MAX_OBJECT_BYTES)
        except ObjectMissing:
            return None
        return await asyncio.to_thread(decode_archive, content)


def object_name(run: str) -> str:
    """Return the name of a run's archive; runs may have names that no folder may have."""
    digest = sha256(run.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{PREFIX}/{digest[:2]}/{digest}.jsonl.gz"


def _head_of(log: ArchivedLog) -> ArchiveHead:
    """Return the head of a log in the earlier form, as if it were one block."""
    entries = log.entries
    first, last = (entries[place].line.ts if entries else "" for place in (0, -1))
    summary = LogSummary(log.job_id, log.run, LogState.ARCHIVED, len(entries), first, last)
    return ArchiveHead(summary, [ArchiveBlock(0, 0, entries[-1].position, len(entries))] if entries else [])
