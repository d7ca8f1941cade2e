"""Log of a run: the lines of all services, in Redis or archived.

Prints the last lines, follows new ones until the run has ended, and writes the whole log to a file.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from strider.cli.connections import REDIS, open_redis, require_address
from strider.cli.exit_codes import CommandExit
from strider.cli.output import counted, fail, print_status, print_text
from strider.localstack.plan.endpoints import read_endpoints
from strider.messaging.ports import Clock
from strider.runtime.clocks import SystemClock
from strider.storage.keys import is_valid_key_part
from strider.storage.objects import ObjectOptions, open_object_store
from strider.storage.redis import Redis
from strider.storage.run_logs.archive import RunLogArchive
from strider.storage.run_logs.models import BEGINNING, LogEntry, LogFilter, LogState, position_key
from strider.storage.run_logs.plain_text import entry_text
from strider.storage.run_logs.reader import RunLogReader
from strider.storage.run_logs.redis_log import RedisRunLogs

POLL_SECONDS: Final = 0.25
"""Polling interval of a follower, which holds no connection meanwhile."""

NOT_KEPT: Final = "no log lines of {name!r} are kept; is that a run or a job? (strider runs list)"


async def print_run_log(run_id: str, *, lines: int, follow: bool, as_json: bool) -> None:
    """Print the last lines of a run, or of the last runs of a job; then new ones, with `follow`."""
    async with open_run_logs() as reader:
        log = RunLogView(reader, clock=SystemClock())
        async for entry in log.lines(run_id, most=lines, follow=follow):
            print_text(entry.line.text if as_json else entry_text(entry), flush=follow)


async def download_run_log(run_id: str, path: Path) -> None:
    """Write the whole log of a run, or of a job's latest run, as lines of JSON to a new file."""
    async with open_run_logs() as reader:
        run = await RunLogView(reader, clock=SystemClock()).find_run(run_id)
        if run is None:
            fail(NOT_KEPT.format(name=run_id), CommandExit.FAILED)
        count = 0
        try:
            with path.open("x", encoding="utf-8") as file:
                async for entry in reader.all_lines(run, LogFilter()):
                    file.write(json.dumps(entry.document()) + "\n")
                    count += 1
        except OSError as failure:
            fail(f"--download: {path}: {failure.strerror}", CommandExit.USAGE)
    print_status(f"{counted(count, 'line')} of {run} written to {path}")


@asynccontextmanager
async def open_run_logs() -> AsyncIterator[RunLogReader]:
    """Open the logs in Redis, and the archive where an object store is configured."""
    url = read_endpoints(os.environ, Path.cwd()).get("objects", "")
    objects = open_object_store(ObjectOptions(url), clock=SystemClock()) if url else None
    try:
        async with open_redis(require_address(REDIS)) as redis:
            yield _reader(redis, None if objects is None else RunLogArchive(objects))
    finally:
        if objects is not None:
            await objects.close()


def _reader(redis: Redis, archive: RunLogArchive | None) -> RunLogReader:
    return RunLogReader(RedisRunLogs(redis), archive)


class RunLogView:
    """Stored log lines of runs and jobs."""

    def __init__(self, reader: RunLogReader, *, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._position = BEGINNING
        """How far the run that is followed was printed."""

    async def find_run(self, name: str) -> str | None:
        """Return the run of this name, or the latest run of the job; None where no line of either is kept."""
        if not is_valid_key_part(name):
            return None
        if await self._reader.summary(name) is not None:
            return name
        runs = await self._reader.runs_of(name)
        return runs[0] if runs else None

    async def lines(self, name: str, *, most: int, follow: bool) -> AsyncIterator[LogEntry]:
        """Yield lines. Raises Unavailable; ends the command where no line is kept."""
        run = await self.find_run(name)
        if run is None and not (follow and is_valid_key_part(name)):
            fail(NOT_KEPT.format(name=name), CommandExit.FAILED)
        if run is not None:
            for entry in await self._last_lines(name, run, most):
                yield entry
        if follow:
            while run is None:
                await self._clock.sleep(POLL_SECONDS)
                run = await self.find_run(name)
            async for entry in self._follow(run):
                yield entry

    async def _last_lines(self, name: str, run: str, most: int) -> list[LogEntry]:
        runs = [run] if run == name else await self._reader.runs_of(name)
        found = {each: await self._reader.tail(each, count=most) for each in runs}
        if found[run]:
            self._position = found[run][-1].position
        entries = [entry for tail in found.values() for entry in tail]
        return sorted(entries, key=lambda entry: position_key(entry.position))[-most:]

    async def _follow(self, run: str) -> AsyncIterator[LogEntry]:
        """Yield the lines that come, until the run has ended."""
        while True:
            page = await self._reader.page(run, after=self._position)
            if page is not None:
                self._position = page.position
                for entry in page.entries:
                    if not entry.is_end:
                        yield entry
                if page.is_last and page.state is not LogState.LIVE:
                    return
            await self._clock.sleep(POLL_SECONDS)
