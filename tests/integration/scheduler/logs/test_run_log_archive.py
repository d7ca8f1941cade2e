"""The archive of run logs: whole after kills, repeated without a repeat, deleted when it is old."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from strider.runtime.clocks import SystemClock
from strider.runtime.observability.job_logs import JobLogLine
from strider.scheduler.loops.log_archive import RunLogArchiveLoop
from strider.storage.objects import DeadLetterObjectStore, ObjectOptions, open_object_store
from strider.storage.redis import Redis, RedisOptions, connect
from strider.storage.run_logs.archive import RunLogArchive, object_name
from strider.storage.run_logs.models import LogState
from strider.storage.run_logs.redis_log import RedisRunLogs

RUNS = [f"news-{number}" for number in range(60)]
LINES = 300
ARCHIVER = Path(__file__).with_name("archiver.py")


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    opened = connect(RedisOptions(redis_url))
    yield opened
    await opened.close()


@pytest.fixture
def objects_url(tmp_path: Path) -> str:
    return (tmp_path / "objects").as_uri()


@pytest.fixture
async def objects(objects_url: str) -> AsyncIterator[DeadLetterObjectStore]:
    opened = open_object_store(ObjectOptions(objects_url), clock=SystemClock())
    yield opened
    await opened.close()


def lines_of(run: str, numbers: range) -> list[JobLogLine]:
    fields = {"job_id": "news", "execution_id": run, "level": "info", "service": "fetcher"}
    return [
        JobLogLine("news", f"t{n}", "info", "Pages parsed", json.dumps({**fields, "number": n}), run)
        for n in numbers
    ]


async def archived_numbers(archive: RunLogArchive, run: str) -> list[int]:
    found = await archive.load(run)
    return [] if found is None else [entry.document()["number"] for entry in found.entries]


@pytest.mark.req("S1.2.27", part="the archive of a run's log")
@pytest.mark.fault("F1", part="the process that archives logs of runs")
async def test_a_killed_archiver_loses_and_repeats_nothing(
    redis: Redis, redis_url: str, objects: DeadLetterObjectStore, objects_url: str
) -> None:
    """Killed again and again, wherever it is; the next one continues."""
    logs, archive = RedisRunLogs(redis), RunLogArchive(objects)
    for run in RUNS:
        await logs.write(lines_of(run, range(LINES)))
    kills, remaining = 0, len(RUNS)
    while remaining:
        process = await asyncio.create_subprocess_exec(sys.executable, str(ARCHIVER), redis_url, objects_url)
        wanted = remaining - 7  # some further: so each is killed in the middle of its work
        async with asyncio.timeout(60):
            while process.returncode is None and (remaining := await _open(logs)) > max(wanted, 0):
                await asyncio.sleep(0)
        if process.returncode is None and remaining:
            process.kill()
            kills += 1
        await process.wait()

    assert kills > 3
    for run in RUNS:
        assert await archived_numbers(archive, run) == list(range(LINES)), run
        page = await logs.read(run)
        assert page is not None
        assert sum(entry.is_end for entry in (await logs.read(run, count=9_999)).entries) >= 1  # type: ignore[union-attr]


async def _open(logs: RedisRunLogs) -> int:
    return len(await logs.quiet_runs(quiet_seconds=-5, skip=0, count=1_000))


def loop_of(logs: RedisRunLogs, archive: RunLogArchive | None, ended: set[str]) -> RunLogArchiveLoop:
    return RunLogArchiveLoop(
        logs,
        archive,
        has_ended=ended.__contains__,
        clock=SystemClock(),
        keep_days=30,
        settle_seconds=-5,
    )


async def test_only_ended_runs_are_archived_and_a_late_line_is_added(
    redis: Redis, objects: DeadLetterObjectStore
) -> None:
    logs, archive = RedisRunLogs(redis), RunLogArchive(objects)
    ended: set[str] = set()
    loop = loop_of(logs, archive, ended)
    await logs.write([*lines_of("a", range(3)), *lines_of("b", range(3))])
    before = await loop.run_once()
    ended.add("a")
    at_end = [await loop.run_once(), await loop.run_once()]
    await logs.write(lines_of("a", range(3, 5)))
    late = await loop.run_once()

    assert (before, at_end, late) == (0, [1, 0], 1)
    assert await archived_numbers(archive, "a") == list(range(5))
    assert await archived_numbers(archive, "b") == []


async def test_a_log_that_redis_refuses_to_read_delays_no_other(
    redis: Redis, objects: DeadLetterObjectStore
) -> None:
    """Its key has another type, by other hands; it is archived once it can be read again."""
    logs, archive = RedisRunLogs(redis), RunLogArchive(objects)
    loop = loop_of(logs, archive, {"a", "b", "c"})
    await logs.write([*lines_of("a", range(3)), *lines_of("b", range(3)), *lines_of("c", range(3))])
    await redis.command("RENAME", "strider:run:{b}:log", "strider:run:{b}:log:kept")
    await redis.command("SET", "strider:run:{b}:log", "no stream")
    closed = await loop.run_once()
    await redis.command("RENAME", "strider:run:{b}:log:kept", "strider:run:{b}:log")

    assert (closed, await loop.run_once()) == (2, 1)
    for run in "abc":
        assert await archived_numbers(archive, run) == list(range(3))


async def test_without_an_object_store_a_log_ends_and_stays_in_redis(redis: Redis) -> None:
    logs = RedisRunLogs(redis)
    await logs.write(lines_of("a", range(3)))
    assert await loop_of(logs, None, {"a"}).run_once() == 1

    page = await logs.read("a")
    assert page is not None
    assert page.state is LogState.ENDED
    assert await redis.command("TTL", "strider:run:{a}:log") > 86_400


async def test_an_archive_that_is_damaged_is_written_again(
    redis: Redis, objects: DeadLetterObjectStore
) -> None:
    logs, archive = RedisRunLogs(redis), RunLogArchive(objects)
    await objects.put_named(object_name("a"), b"no archive")
    await logs.write(lines_of("a", range(3)))
    assert await loop_of(logs, archive, {"a"}).run_once() == 1

    assert await archived_numbers(archive, "a") == [0, 1, 2]


async def test_old_archives_are_deleted_and_nothing_else(objects: DeadLetterObjectStore) -> None:
    archive = RunLogArchive(objects)
    body = await objects.put(b"a body")
    await objects.put_named(object_name("a"), b"x")
    now = datetime.now(UTC)

    assert await archive.delete_older(now - timedelta(days=1)) == 0
    assert await archive.delete_older(now + timedelta(days=1)) == 1
    assert await archive.load("a") is None
    assert await objects.get(body) == b"a body"
