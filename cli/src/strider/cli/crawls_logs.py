"""What happened to a run, line by line: the log of its job, as services keep it in Redis.

Reads a window of the last lines, and follows it; the services' own logs are the record. Decides which
job's log a run stands in, and how a line is shown.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from strider.frontier.redis.inspection import ShardInspector
from strider.runtime.clocks import SystemClock
from strider.storage.job_logs import BEGINNING, MAX_LINES, RedisJobLogs, StoredLogLine
from strider.storage.keys import is_valid_key_part
from strider.storage.redis import Redis

from .topics_broker import EXIT_FOUND, Target, fail
from .working_set import open_working_set, working_set_url

_PLAIN: Final = ("ts", "level", "service", "event")
_LEFT_OUT: Final = frozenset({*_PLAIN, "job_id", "logger", "trace_id"})


async def show_log(target: Target, run_id: str, *, lines: int, follow: bool, as_json: bool) -> None:
    """Print the last lines of a run, or of all runs of a job; then what comes, where that is wanted."""
    redis = open_working_set(working_set_url())
    try:
        async for line in Log(redis, shards=target.settings.run.shards).lines(
            run_id, most=lines, follow=follow
        ):
            print(line if as_json else told(line), flush=follow)
    finally:
        await redis.close()


class Log:
    """The kept lines of runs and jobs."""

    def __init__(self, redis: Redis, *, shards: int) -> None:
        self._logs = RedisJobLogs(redis, clock=SystemClock())
        self._glance = ShardInspector(redis)
        self._shards = shards

    async def lines(self, run_id: str, *, most: int, follow: bool) -> AsyncIterator[str]:
        """Give lines as JSON. Raises Unavailable; ends the command where nothing is kept."""
        job_id, kept = await self._found(run_id) if is_valid_key_part(run_id) else ("", [])
        if not job_id or not (kept or follow):
            fail(f"no line of a run or job {run_id!r} is kept; lines are kept for a week", EXIT_FOUND)
        own: deque[str] = deque(maxlen=most)
        own.extend(each.line.text for each in kept if is_of(each, run_id, job_id))
        for text in own:
            yield text
        if follow:
            after = kept[-1].position if kept else BEGINNING
            async for each in self._logs.follow(job_id, after=after):
                if is_of(each, run_id, job_id):
                    yield each.line.text

    async def _found(self, run_id: str) -> tuple[str, list[StoredLogLine]]:
        """Find the job: what is named, the one that the frontier knows, or what the name begins with."""
        names = [run_id, *await self._jobs(run_id), *beginnings(run_id)]
        for job_id in dict.fromkeys(names):
            kept = await self._logs.tail(job_id, count=MAX_LINES)
            if any(is_of(each, run_id, job_id) for each in kept):
                return job_id, kept
        return names[1] if len(names) > 1 else run_id, []

    async def _jobs(self, run_id: str) -> list[str]:
        run = (await self._glance.runs(range(self._shards))).runs.get(run_id)
        return [] if run is None else [run.job_id]


def beginnings(run_id: str) -> list[str]:
    """Give the jobs that a run may be of by its name, the longest first."""
    parts = run_id.split("-")
    return ["-".join(parts[:count]) for count in range(len(parts) - 1, 0, -1) if any(parts[:count])]


def is_of(stored: StoredLogLine, run_id: str, job_id: str) -> bool:
    """Tell the lines of a run; a job has them all."""
    return run_id == job_id or _fields(stored.line.text).get("execution_id") == run_id


def told(text: str) -> str:
    """Show a line for people: when, who, what, and the rest by name."""
    fields = _fields(text)
    if not fields:
        return text  # it was too long, and cut
    ts, level, service, event = (str(fields.get(name, "")) for name in _PLAIN)
    rest = " ".join(f"{name}={_value(value)}" for name, value in fields.items() if name not in _LEFT_OUT)
    return f"{ts[:19].replace('T', ' ')}  {level:<7} {service:<14} {event:<16} {rest}".rstrip()


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{count}" for name, count in value.items())
    return str(value)


def _fields(text: str) -> Mapping[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}
