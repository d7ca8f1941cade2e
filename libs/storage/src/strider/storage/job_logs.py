"""The last lines of a job's log in Redis, to read and to follow.

A capped stream for each job: old lines are dropped first, the log of a quiet job after a week. It is for
display; the log stream of the process is the record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

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
        """Store lines in their order, one call for each job. A repeated batch is stored twice.

        A refused seed may name a job that cannot exist: such lines are in the log of the process alone.
        """
        by_job: defaultdict[str, list[str]] = defaultdict(list)
        for line in lines:
            if is_valid_key_part(line.job_id):
                by_job[line.job_id] += (line.ts, line.level, line.event, _truncate(line.text))
        for job_id, fields in by_job.items():
            await self._redis.run(
                self._append,
                keys=[JOB_LOG(job_id)],
                args=[self._kept_lines, JOB_LOG.lifetime_seconds, *fields],
            )

    async def read(
        self, job_id: str, *, after: str = BEGINNING, count: int = _PAGE_LINES
    ) -> list[StoredLogLine]:
        """Return up to `count` lines after a position."""
        found = await self._redis.command("XRANGE", JOB_LOG(job_id), f"({after}", "+", "COUNT", count)
        return [_parse_entry(job_id, entry) for entry in found]

    async def tail(self, job_id: str, *, count: int) -> list[StoredLogLine]:
        """Return the last lines, oldest first."""
        found = await self._redis.command("XREVRANGE", JOB_LOG(job_id), "+", "-", "COUNT", count)
        return [_parse_entry(job_id, entry) for entry in reversed(found)]

    async def follow(self, job_id: str, *, after: str = BEGINNING) -> AsyncIterator[StoredLogLine]:
        """Yield the lines after a position, and then new ones, until the caller stops."""
        while True:
            page = await self.read(job_id, after=after)
            for stored in page:
                yield stored
                after = stored.position
            if len(page) < _PAGE_LINES:
                await self._clock.sleep(POLL_SECONDS)


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARACTERS else text[:MAX_TEXT_CHARACTERS] + "…"


_FIELDS: Final = (b"ts", b"level", b"event", b"text")


def _parse_entry(job_id: str, entry: tuple[bytes, dict[bytes, bytes] | list[bytes]]) -> StoredLogLine:
    position, fields = entry
    values = fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
    ts, level, event, text = (values.get(name, b"").decode(errors="replace") for name in _FIELDS)
    return StoredLogLine(
        position.decode(), JobLogLine(job_id=job_id, ts=ts, level=level, event=event, text=text)
    )
