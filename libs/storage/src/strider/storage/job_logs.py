"""The last lines of a job's log, kept where everyone can read and follow them.

A capped stream a job: old lines go first, a quiet job's log goes after a week. This is a window for
people; the process's own log stream is the record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from strider.runtime.logs_jobs import JobLogLine
from strider.runtime.ports import Clock

from .keys import JOB_LOG
from .lua_files import load_script
from .redis import Redis

MAX_LINES: Final = 10_000
"""Lines of one job, about; 5 MB at most for a chatty one."""

POLL_SECONDS: Final = 0.25
"""How often a follower looks; it holds no connection meanwhile."""

MAX_TEXT_CHARACTERS: Final = 8192
"""A longer line is cut: a page's text in a log line must not fill the store."""

BEGINNING: Final = "0"

_PAGE_LINES: Final = 500


@dataclass(frozen=True, slots=True)
class StoredLogLine:
    """A line as it was kept; `position` is what to read on from."""

    position: str
    line: JobLogLine


class RedisJobLogs:
    """Keeps lines (the runtime's sink), reads and follows them."""

    def __init__(self, redis: Redis, *, clock: Clock, kept_lines: int = MAX_LINES) -> None:
        self._redis = redis
        self._clock = clock
        self._kept_lines = kept_lines
        self._append = load_script("joblog_append")

    async def write(self, lines: Sequence[JobLogLine]) -> None:
        """Keep lines in their order, one call a job. A repeated batch is kept twice: it is a log."""
        by_job: defaultdict[str, list[str]] = defaultdict(list)
        for line in lines:
            by_job[line.job_id] += (line.ts, line.level, line.event, _cut(line.text))
        for job_id, fields in by_job.items():
            await self._redis.run(
                self._append,
                keys=[JOB_LOG(job_id)],
                args=[self._kept_lines, JOB_LOG.lifetime_seconds, *fields],
            )

    async def read(
        self, job_id: str, *, after: str = BEGINNING, count: int = _PAGE_LINES
    ) -> list[StoredLogLine]:
        """Give up to `count` lines that come after a position."""
        found = await self._redis.command("XRANGE", JOB_LOG(job_id), f"({after}", "+", "COUNT", count)
        return [_stored(job_id, entry) for entry in found]

    async def tail(self, job_id: str, *, count: int) -> list[StoredLogLine]:
        """Give the last lines, oldest first."""
        found = await self._redis.command("XREVRANGE", JOB_LOG(job_id), "+", "-", "COUNT", count)
        return [_stored(job_id, entry) for entry in reversed(found)]

    async def follow(self, job_id: str, *, after: str = BEGINNING) -> AsyncIterator[StoredLogLine]:
        """Give what is there after a position, and then what comes, until the caller stops."""
        while True:
            page = await self.read(job_id, after=after)
            for stored in page:
                yield stored
                after = stored.position
            if len(page) < _PAGE_LINES:
                await self._clock.sleep(POLL_SECONDS)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARACTERS else text[:MAX_TEXT_CHARACTERS] + "…"


def _stored(job_id: str, entry: tuple[bytes, dict[bytes, bytes] | list[bytes]]) -> StoredLogLine:
    position, fields = entry
    values = fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
    ts, level, event, text = (values.get(name, b"").decode(errors="replace") for name in _FIELDS)
    return StoredLogLine(
        position.decode(), JobLogLine(job_id=job_id, ts=ts, level=level, event=event, text=text)
    )


_FIELDS: Final = (b"ts", b"level", b"event", b"text")
