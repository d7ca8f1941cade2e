"""Logs of runs in Redis, to write, to read and to close.

A capped stream for each run: its oldest lines are dropped first, the log of a quiet run after a week. All
logs together have a limit, too: beyond it whole logs go, ended ones first. Runs of raw seeds share a fixed
number of streams, which are small, because their names cost a sender nothing. It is for display; the log
stream of each process is the record.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias
from zlib import crc32

from strider.contracts.seed_names import is_raw_name
from strider.runtime.observability.job_logs import JobLogLine
from strider.storage.keys import (
    JOB_LOG_RUNS,
    RECENT_LOG,
    RUN_LOG,
    RUN_LOG_BYTES,
    RUN_LOGS_ENDED,
    RUN_LOGS_OPEN,
    is_valid_key_part,
)
from strider.storage.lua_files import load_script
from strider.storage.redis import Redis, ScriptCall

from .models import BEGINNING, LogEntry, LogPage, LogState, LogSummary

MAX_LINES: Final = 10_000
"""Lines of one run, approximately."""

MAX_RUN_BYTES: Final = 5 * 1024 * 1024
"""Memory of one run's log, approximately."""

MAX_RAW_BYTES: Final = 1024 * 1024
"""The same for a stream of raw runs."""

MAX_TOTAL_BYTES: Final = 256 * 1024 * 1024
"""Memory of the logs of all runs of owners."""

MAX_TEXT_CHARACTERS: Final = 8192
"""A longer line is cut: a page's text in a log line must not fill the store."""

RAW_STREAMS: Final = 64
"""Streams that all runs of raw seeds share, by a hash of their names."""

RUNS_OF_JOB: Final = 10
"""Runs with a log that are remembered for a job."""

ARCHIVED_LIFETIME_SECONDS: Final = 3600
"""How long an archived log stays in Redis, for those who follow it."""

RECENT_LINES: Final = 5_000
RECENT: Final = "{recent}"
"""Stands for a run where the last lines of all runs are read; no run can have this name."""

PAGE_LINES: Final = 500

_LOGS: Final = "logs"
_MAX_KNOWN_RUNS: Final = 10_000
_UNCHANGED: Final = -1


class RedisRunLogs:
    """Stores lines (the runtime's sink), reads them, and closes logs."""

    def __init__(
        self, redis: Redis, *, kept_lines: int = MAX_LINES, total_bytes: int = MAX_TOTAL_BYTES
    ) -> None:
        self._redis = redis
        self._kept_lines = kept_lines
        self._total_bytes = total_bytes
        self._append = load_script("run_log_append")
        self._close = load_script("run_log_close")
        self._index = load_script("run_log_index")
        self._known_runs: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def write(self, lines: Sequence[JobLogLine]) -> None:
        """Store lines in their order, a few calls for all of them. A repeated batch is stored twice.

        A refused seed may name a job that cannot exist: such lines are in the log of the process alone.
        """
        kept = [line for line in lines if is_valid_key_part(line.job_id) and is_valid_key_part(line.run)]
        by_stream: defaultdict[str, list[JobLogLine]] = defaultdict(list)
        for line in kept:
            by_stream[stream_of(line.run)].append(line)
        if not by_stream:
            return
        sizes = await self._redis.run_all(
            self._append, [self._append_call(name, lines) for name, lines in by_stream.items()]
        )
        await self._note_jobs(kept)
        owned = {name: size for name, size in zip(by_stream, sizes, strict=True) if is_run_stream(name)}
        if owned:
            await self._update_index(owned)
            await self._append_recent([line for name in owned for line in by_stream[name]])

    async def read(self, run: str, *, after: str = BEGINNING, count: int = PAGE_LINES) -> LogPage | None:
        """Return up to `count` entries after a position; None where nothing is stored of this run."""
        entries: list[LogEntry] = []
        position, key = after, _stream_key(run)
        while True:
            found = await self._redis.command("XRANGE", key, f"({position}", "+", "COUNT", PAGE_LINES)
            for entry in _entries_of(run, found):
                entries.append(entry)
                position = entry.position
                if len(entries) >= count:
                    return LogPage(entries, position, is_last=False, state=LogState.LIVE)
            if found:
                position = found[-1][0].decode()
            if len(found) < PAGE_LINES:
                break
        if not entries and not await self.is_stored(run):
            return None
        return LogPage(entries, position, is_last=True, state=await self._state(run))

    async def tail(self, run: str, *, count: int) -> list[LogEntry]:
        """Return the last lines, oldest first."""
        found: list[LogEntry] = []
        end, key = "+", _stream_key(run)
        while len(found) < count:
            entries = await self._redis.command("XREVRANGE", key, end, "-", "COUNT", PAGE_LINES)
            found += [entry for entry in _entries_of(run, entries) if not entry.is_end]
            if len(entries) < PAGE_LINES:
                break
            end = f"({entries[-1][0].decode()}"
        return found[:count][::-1]

    async def last_entry(self, run: str) -> LogEntry | None:
        """Return the last entry, which may be the end of the log; None where there is none."""
        key, end = _stream_key(run), "+"
        count = 1 if is_run_stream(stream_of(run)) else PAGE_LINES
        while True:
            found = await self._redis.command("XREVRANGE", key, end, "-", "COUNT", count)
            if entries := _entries_of(run, found):
                return entries[0]
            if len(found) < PAGE_LINES:
                return None
            end = f"({found[-1][0].decode()}"

    async def is_stored(self, run: str) -> bool:
        """Return whether Redis has lines of a run, or may have some: raw runs share streams."""
        return bool(await self._redis.command("EXISTS", _stream_key(run)))

    async def summary(self, run: str) -> LogSummary | None:
        """Return what is stored of a run; None where that is nothing."""
        last = await self.tail(run, count=1)
        first = await self.read(run, count=1)
        if not last or first is None or not first.entries:
            return None
        state = await self._state(run)
        if is_run_stream(stream_of(run)):
            lines = int(await self._redis.command("XLEN", _stream_key(run))) - (state is LogState.ENDED)
        else:
            lines = len(await self.tail(run, count=MAX_LINES))
        begin, end = first.entries[0].line, last[0].line
        return LogSummary(end.job_id, run, state, lines, begin.ts, end.ts)

    async def runs_of(self, job_id: str) -> list[str]:
        """Return the last runs of a job that have or had lines here, the latest first."""
        found = await self._redis.command("ZREVRANGE", JOB_LOG_RUNS(job_id), 0, RUNS_OF_JOB - 1)
        return [run.decode() for run in found]

    async def quiet_runs(self, *, quiet_seconds: float, skip: int, count: int) -> list[str]:
        """Return open logs without a line for so long, the oldest first; some of them at a time."""
        seconds, microseconds = await self._redis.command("TIME")
        until_ms = int(seconds) * 1000 + int(microseconds) // 1000 - round(quiet_seconds * 1000)
        found = await self._redis.command(
            "ZRANGEBYSCORE", RUN_LOGS_OPEN(_LOGS), "-inf", until_ms, "LIMIT", skip, count
        )
        return [run.decode() for run in found]

    async def close(self, run: str, *, after: str, job_id: str, ts: str, is_archived: bool) -> bool:
        """Write the end of a log; False where a line has come after this position. May be repeated."""
        lifetime = ARCHIVED_LIFETIME_SECONDS if is_archived else RUN_LOG.lifetime_seconds
        is_closed = await self._redis.run(
            self._close, keys=[_stream_key(run)], args=[after, lifetime, job_id, run, ts]
        )
        if is_closed:
            await self._update_index({run: _UNCHANGED}, ends_in_seconds=lifetime)
        return bool(is_closed)

    async def _state(self, run: str) -> LogState:
        if not is_run_stream(stream_of(run)):
            return LogState.LIVE  # logs of raw runs have no end
        last = await self.last_entry(run)
        return LogState.ENDED if last is not None and last.is_end else LogState.LIVE

    def _append_call(self, name: str, lines: Iterable[JobLogLine]) -> ScriptCall:
        is_run = is_run_stream(name)
        limits = (self._kept_lines, MAX_RUN_BYTES if is_run else MAX_RAW_BYTES, RUN_LOG.lifetime_seconds)
        return [RUN_LOG(name)], [*limits, *_arguments(lines)]

    async def _append_recent(self, lines: Iterable[JobLogLine]) -> None:
        limits = (RECENT_LINES, MAX_RUN_BYTES, RECENT_LOG.lifetime_seconds)
        await self._redis.run(self._append, keys=[RECENT_LOG(_LOGS)], args=[*limits, *_arguments(lines)])

    async def _update_index(self, sizes: Mapping[str, int], *, ends_in_seconds: int = -1) -> None:
        """Record the sizes of logs, and delete those for which there is no room any more."""
        pairs = [each for run, size in sizes.items() for each in (run, int(size))]
        deleted = await self._redis.run(
            self._index,
            keys=[RUN_LOGS_OPEN(_LOGS), RUN_LOGS_ENDED(_LOGS), RUN_LOG_BYTES(_LOGS)],
            args=[RUN_LOG.lifetime_seconds, self._total_bytes, ends_in_seconds, *pairs],
        )
        for run in deleted:
            await self._redis.command("UNLINK", RUN_LOG(run.decode()))

    async def _note_jobs(self, lines: Iterable[JobLogLine]) -> None:
        """Add runs that are new here to those of their jobs; raw runs are found by their own names alone."""
        for line in lines:
            name = (line.job_id, line.run)
            if name in self._known_runs or is_raw_name(line.run) or is_raw_name(line.job_id):
                continue
            key = JOB_LOG_RUNS(line.job_id)
            seconds, microseconds = await self._redis.command("TIME")
            now_ms = int(seconds) * 1000 + int(microseconds) // 1000
            await self._redis.command("ZADD", key, "NX", now_ms, line.run)
            await self._redis.command("ZREMRANGEBYRANK", key, 0, -RUNS_OF_JOB - 1)
            await self._redis.command("EXPIRE", key, JOB_LOG_RUNS.lifetime_seconds)
            self._known_runs[name] = None
            if len(self._known_runs) > _MAX_KNOWN_RUNS:
                self._known_runs.popitem(last=False)


def stream_of(run: str) -> str:
    """Return the name of the stream with a run's lines."""
    if not is_raw_name(run):
        return run
    return f"raw-logs.{crc32(run.encode('utf-8', 'surrogatepass')) % RAW_STREAMS}"


def is_run_stream(name: str) -> bool:
    """Return whether a stream is that of one run."""
    return not name.startswith("raw-logs.")


def _stream_key(run: str) -> str:
    return RECENT_LOG(_LOGS) if run == RECENT else RUN_LOG(stream_of(run))


def _arguments(lines: Iterable[JobLogLine]) -> list[str]:
    return [
        value
        for line in lines
        for value in (line.job_id, line.run, line.ts, line.level, line.event, _truncate(line.text))
    ]


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARACTERS else text[:MAX_TEXT_CHARACTERS] + "…"


_Entry: TypeAlias = tuple[bytes, dict[bytes, bytes] | list[bytes]]
_FIELDS: Final = (b"job", b"run", b"ts", b"level", b"event", b"text")


def _entries_of(run: str, entries: Sequence[Any]) -> list[LogEntry]:
    """Return the entries of one run."""
    found = (_parse_entry(entry) for entry in entries)
    return [entry for entry in found if run in {RECENT, entry.line.run}]


def _parse_entry(entry: _Entry) -> LogEntry:
    position, fields = entry
    values = fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
    job, run, ts, level, event, text = (values.get(name, b"").decode(errors="replace") for name in _FIELDS)
    line = JobLogLine(job_id=job, ts=ts, level=level, event=event, text=text, run=run)
    return LogEntry(position.decode(), line, is_end=b"end" in values)
