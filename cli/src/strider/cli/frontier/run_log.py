"""Log of a run: the lines that services keep in Redis for a week.

Reads the last lines and follows new ones; the services' own logs are the complete record. Decides which
job's log contains a run, and how a line is printed.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from strider.cli.connections import REDIS, BrokerTarget, open_redis, require_address
from strider.cli.exit_codes import CommandExit
from strider.cli.output import fail, print_text
from strider.frontier.redis.inspection import ShardInspector
from strider.runtime.clocks import SystemClock
from strider.storage.job_logs import BEGINNING, MAX_LINES, RedisJobLogs, StoredLogLine
from strider.storage.keys import is_valid_key_part
from strider.storage.redis import Redis

_COLUMNS: Final = ("ts", "level", "service", "event")
_OMITTED: Final = frozenset({*_COLUMNS, "job_id", "logger", "trace_id"})
_LABELS: Final = {"execution_id": "run execution_id"}
"""Field → its label, where that is not the word of the glossary alone."""


async def print_run_log(
    target: BrokerTarget, run_id: str, *, lines: int, follow: bool, as_json: bool
) -> None:
    """Print the last lines of a run, or of all runs of a job; then new ones, with `follow`."""
    async with open_redis(require_address(REDIS)) as redis:
        log = RunLogView(redis, shards=target.settings.run.shards)
        async for line in log.lines(run_id, most=lines, follow=follow):
            print_text(line if as_json else line_text(line), flush=follow)


class RunLogView:
    """Stored log lines of runs and jobs."""

    def __init__(self, redis: Redis, *, shards: int) -> None:
        self._logs = RedisJobLogs(redis, clock=SystemClock())
        self._inspection = ShardInspector(redis)
        self._shards = shards

    async def lines(self, run_id: str, *, most: int, follow: bool) -> AsyncIterator[str]:
        """Return lines as JSON. Raises Unavailable; ends the command where no line is stored."""
        job_id, kept = await self._find_job(run_id) if is_valid_key_part(run_id) else ("", [])
        if not job_id or not (kept or follow):
            fail(
                f"no log lines of {run_id!r}; they are kept for a week (strider runs list)",
                CommandExit.FAILED,
            )
        own: deque[str] = deque(maxlen=most)
        own.extend(each.line.text for each in kept if belongs_to(each, run_id, job_id))
        for text in own:
            yield text
        if follow:
            after = kept[-1].position if kept else BEGINNING
            async for each in self._logs.follow(job_id, after=after):
                if belongs_to(each, run_id, job_id):
                    yield each.line.text

    async def _find_job(self, run_id: str) -> tuple[str, list[StoredLogLine]]:
        """Find the job: the name itself, the job of a known run, or a beginning of the run's name."""
        names = [run_id, *await self._known_job(run_id), *possible_job_ids(run_id)]
        for job_id in dict.fromkeys(names):
            kept = await self._logs.tail(job_id, count=MAX_LINES)
            if any(belongs_to(each, run_id, job_id) for each in kept):
                return job_id, kept
        return names[1] if len(names) > 1 else run_id, []

    async def _known_job(self, run_id: str) -> list[str]:
        run = (await self._inspection.runs(range(self._shards))).runs.get(run_id)
        return [] if run is None else [run.job_id]


def possible_job_ids(run_id: str) -> list[str]:
    """Return the job ids that a run's name may begin with, the longest first."""
    parts = run_id.split("-")
    return ["-".join(parts[:count]) for count in range(len(parts) - 1, 0, -1) if any(parts[:count])]


def belongs_to(stored: StoredLogLine, run_id: str, job_id: str) -> bool:
    """Whether a line belongs to a run; all lines of its log belong to a job."""
    return run_id == job_id or _fields(stored.line.text).get("execution_id") == run_id


def line_text(text: str) -> str:
    """Return a log line as text: time, level, service, event, then the other fields by name."""
    fields = _fields(text)
    if not fields:
        return text  # a line that was too long, and truncated
    ts, level, service, event = (str(fields.get(name, "")) for name in _COLUMNS)
    rest = " ".join(
        f"{_LABELS.get(name, name)}={_value_text(value)}"
        for name, value in fields.items()
        if name not in _OMITTED
    )
    return f"{ts[:19].replace('T', ' ')}  {level:<7} {service:<14} {event:<16} {rest}".rstrip()


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{count}" for name, count in value.items())
    return str(value)


def _fields(text: str) -> Mapping[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}
