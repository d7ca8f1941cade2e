"""The last lines of a job's log in Redis, to read and to follow.

A capped stream for each job: old lines are dropped first, the log of a quiet job after a week. Jobs of raw
seeds share a fixed number of streams, because their names cost a sender nothing. It is for display; the log
stream of the process is the record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from zlib import crc32

from strider.contracts.seed_names import is_raw_name
from strider.messaging.ports import Clock
from strider.runtime.observability.job_logs import JobLogLine

from .keys import JOB_LOG, is_valid_key_part
from .lua_files import load_script
from .redis import Redis

MAX_LINES: Final = 10_000
"""Lines of one job, approximately; at most 5 MB for a verbose one."""

POLL_SECONDS: Final = 0.25
"""Polling interval of a follower, which holds no connection meanwhile."""

MAX_TEXT_CHARACTERS: Final = 8192
"""A longer line is cut: a page's text in a log line must not fill the store."""

BEGINNING: Final = "0"

_PAGE_LINES: Final = 500

RAW_STREAMS: Final = 64
"""Streams that all jobs of raw seeds share, by a hash of their names."""


@dataclass(frozen=True, slots=True)
class StoredLogLine:
    """A stored line; `position` is where to continue reading."""

    position: str
    line: JobLogLine


class RedisJobLogs:
    """Stores lines (the runtime's sink), reads and follows them."""

    def __init__(self, redis: Redis, *, clock: Clock, kept_lines: int = MAX_LINES) -> None:
        self._redis = redis
        self._clock = clock
        self._kept_lines = kept_lines
        self._append = load_script("joblog_append")

    async def write(self, lines: Sequence[JobLogLine]) -> None:
        """Store lines in their order, one call for each stream. A repeated batch is stored twice.

        A refused seed may name a job that cannot exist: such lines are in the log of the process alone.
        """
        by_stream: defaultdict[str, list[str]] = defaultdict(list)
        for line in lines:
            if is_valid_key_part(line.job_id):
                stream = by_stream[stream_of(line.job_id)]
                stream += (line.job_id, line.ts, line.level, line.event, _truncate(line.text))
        for name, fields in by_stream.items():
            await self._redis.run(
                self._append,
                keys=[JOB_LOG(name)],
                args=[self._kept_lines, JOB_LOG.lifetime_seconds, *fields],
            )

    async def read(
        self, job_id: str, *, after: str = BEGINNING, count: int = _PAGE_LINES
    ) -> list[StoredLogLine]:
        """Return up to `count` lines after a position."""
        found: list[StoredLogLine] = []
        position: str | None = after
        while position is not None and len(found) < count:
            page, position = await self._next_page(job_id, position)
            found += page
        return found[:count]

    async def tail(self, job_id: str, *, count: int) -> list[StoredLogLine]:
        """Return the last lines, oldest first."""
        found: list[StoredLogLine] = []
        end = "+"
        while len(found) < count:
            entries = await self._redis.command(
                "XREVRANGE", JOB_LOG(stream_of(job_id)), end, "-", "COUNT", _PAGE_LINES
            )
            found += _lines_of(job_id, entries)
            if len(entries) < _PAGE_LINES:
                break
            end = f"({entries[-1][0].decode()}"
        return found[:count][::-1]

    async def follow(self, job_id: str, *, after: str = BEGINNING) -> AsyncIterator[StoredLogLine]:
        """Yield the lines after a position, and then new ones, until the caller stops."""
        while True:
            page, position = await self._next_page(job_id, after)
            for stored in page:
                yield stored
                after = stored.position
            if position is None:
                await self._clock.sleep(POLL_SECONDS)
            else:
                after = position

    async def _next_page(self, job_id: str, after: str) -> tuple[list[StoredLogLine], str | None]:
        """Return the job's lines of the next part of its stream, and its end; None for the last part."""
        entries = await self._redis.command(
            "XRANGE", JOB_LOG(stream_of(job_id)), f"({after}", "+", "COUNT", _PAGE_LINES
        )
        is_last = len(entries) < _PAGE_LINES
        return _lines_of(job_id, entries), None if is_last else entries[-1][0].decode()


def stream_of(job_id: str) -> str:
    """Return the name of the stream with a job's lines."""
    if not is_raw_name(job_id):
        return job_id
    return f"raw-logs.{crc32(job_id.encode('utf-8', 'surrogatepass')) % RAW_STREAMS}"


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARACTERS else text[:MAX_TEXT_CHARACTERS] + "…"


_Entry: TypeAlias = tuple[bytes, dict[bytes, bytes] | list[bytes]]
_FIELDS: Final = (b"ts", b"level", b"event", b"text")


def _lines_of(job_id: str, entries: Sequence[_Entry]) -> list[StoredLogLine]:
    """Return the lines of one job."""
    lines = (_parse_entry(job_id, entry) for entry in entries)
    return [stored for stored in lines if stored.line.job_id == job_id]


def _parse_entry(job_id: str, entry: _Entry) -> StoredLogLine:
    """Parse a line; those of earlier versions do not name their job, whose stream it is."""
    position, fields = entry
    values = fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
    ts, level, event, text = (values.get(name, b"").decode(errors="replace") for name in _FIELDS)
    job = values.get(b"job", job_id.encode()).decode(errors="replace")
    return StoredLogLine(
        position.decode(), JobLogLine(job_id=job, ts=ts, level=level, event=event, text=text)
    )
