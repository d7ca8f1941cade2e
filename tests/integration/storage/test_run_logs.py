"""Logs of runs in their streams: order, limits, ends, and what other jobs cannot do to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from strider.runtime.clocks import SystemClock
from strider.runtime.observability.job_logs import JobLogCapture, JobLogLine
from strider.storage.keys import JOB_LOG_RUNS, RUN_LOG
from strider.storage.objects import ObjectOptions, open_object_store
from strider.storage.redis import Redis, RedisOptions, connect
from strider.storage.run_logs.archive import RunLogArchive
from strider.storage.run_logs.models import LogEntry, LogFilter, LogState
from strider.storage.run_logs.reader import RunLogReader
from strider.storage.run_logs.redis_log import (
    ARCHIVED_LIFETIME_SECONDS,
    MAX_TEXT_CHARACTERS,
    RAW_STREAMS,
    RECENT,
    RUNS_OF_JOB,
    RedisRunLogs,
    stream_of,
)


@pytest.fixture
def logs(redis: Redis) -> RedisRunLogs:
    return RedisRunLogs(redis)


def a_line(number: int, run: str = "news-1", *, job: str = "news", **fields: object) -> JobLogLine:
    values = {"service": "fetcher", "level": "info"} | fields
    names = {"job_id": job, "execution_id": run, "ts": f"t{number}", "event": f"event {number}"}
    text = json.dumps({**names, **values})
    return JobLogLine(job, f"t{number}", str(values["level"]), f"event {number}", text, run)


def lines_of(entries: list[LogEntry]) -> list[JobLogLine]:
    return [entry.line for entry in entries]


async def read_all(logs: RedisRunLogs, run: str) -> list[JobLogLine]:
    page = await logs.read(run, count=100_000)
    return [] if page is None else lines_of(list(page.entries))


@pytest.mark.req("S1.2.27")
async def test_a_runs_lines_are_read_in_their_order(logs: RedisRunLogs) -> None:
    """Each run has its own, page by page, and the last ones at once; a job has its runs."""
    await logs.write([a_line(1), a_line(2, "news-2"), a_line(3)])
    await logs.write([a_line(4)])
    first = await logs.read("news-1", count=2)

    assert first is not None
    assert lines_of(list(first.entries)) == [a_line(1), a_line(3)]
    rest = await logs.read("news-1", after=first.position)
    assert rest is not None
    assert (lines_of(list(rest.entries)), rest.is_last, rest.state) == ([a_line(4)], True, LogState.LIVE)
    assert lines_of(await logs.tail("news-1", count=2)) == [a_line(3), a_line(4)]
    assert await logs.read("unknown") is None
    assert sorted(await logs.runs_of("news")) == ["news-1", "news-2"]
    summary = await logs.summary("news-1")
    assert summary is not None
    assert (summary.job_id, summary.lines, summary.first_ts, summary.last_ts) == ("news", 3, "t1", "t4")


async def test_lines_of_a_job_that_cannot_exist_cost_no_other_line(logs: RedisRunLogs) -> None:
    """A refused seed names any job or run; blanks and braces cannot stand in a key."""
    names = ("a b", "", "{x}", "a\n")
    await logs.write([a_line(1), *(a_line(2, job=job) for job in names), *(a_line(2, run) for run in names)])
    await logs.write([a_line(3)])

    assert [line.event for line in await read_all(logs, "news-1")] == ["event 1", "event 3"]


async def test_a_line_passes_from_the_process_to_its_run(logs: RedisRunLogs) -> None:
    capture = JobLogCapture(clock=SystemClock())
    capture({"job_id": "news", "execution_id": "news-1", "event": "first", "level": "info", "ts": "t"})
    capture({"job_id": "news", "event": "about the job alone", "level": "info", "ts": "t"})
    assert await capture.drain(logs)

    assert [line.event for line in await read_all(logs, "news-1")] == ["first"]


async def test_a_log_is_capped_in_lines_length_memory_and_time(redis: Redis) -> None:
    """A chatty run must not push the working set out of memory."""
    logs = RedisRunLogs(redis, kept_lines=100)
    for start in range(0, 1000, 250):
        await logs.write([a_line(number) for number in range(start, start + 250)])
    await logs.write([JobLogLine("news", "t", "info", "long", "x" * 100_000, "news-1")])
    last = (await logs.tail("news-1", count=1))[0].line

    # The cap is approximate: the server drops whole nodes of a hundred lines.
    assert 100 <= await redis.command("XLEN", RUN_LOG("news-1")) <= 300
    assert last.text == "x" * MAX_TEXT_CHARACTERS + "…"
    assert 0 < await redis.command("TTL", RUN_LOG("news-1")) <= RUN_LOG.lifetime_seconds
    long_line = JobLogLine("news", "t", "info", "long", "x" * MAX_TEXT_CHARACTERS, "news-9")
    whole = RedisRunLogs(redis)
    for _ in range(4):
        await whole.write([long_line] * 500)
    assert await redis.command("MEMORY", "USAGE", RUN_LOG("news-9")) < 8 * 1024 * 1024


async def test_all_logs_together_are_capped_and_ended_ones_go_first(redis: Redis) -> None:
    logs = RedisRunLogs(redis, total_bytes=60_000)
    for number in range(40):
        run = f"old-{number}"
        await logs.write([a_line(line, run) for line in range(20)])
        if number == 0:
            position = (await logs.tail(run, count=1))[0].position
            assert await logs.close(run, after=position, job_id="news", ts="t", is_archived=True)
    await logs.write([a_line(1, "latest")])

    stored = [number for number in range(40) if await logs.is_stored(f"old-{number}")]
    assert stored == list(range(stored[0], 40))
    assert 0 < stored[0] < 40
    assert await logs.is_stored("latest")


@pytest.mark.fault("B5", part="job logs of made-up jobs")
async def test_runs_of_raw_seeds_share_a_number_of_streams(redis: Redis, logs: RedisRunLogs) -> None:
    """However many names a sender makes up; each run reads its own lines, also behind those of others."""
    for first in range(0, 2_000, 500):
        lines = [a_line(n, f"raw.{n}", job=f"raw.job-{n}") for n in range(first, first + 500)]
        await logs.write(lines)
    name = "raw.7"
    others = (f"raw.{number}" for number in range(100_000))
    beside = [other for other in others if stream_of(other) == stream_of(name) and other != name][:600]
    await logs.write([a_line(number, other) for number, other in enumerate(beside)])
    await logs.write([a_line(8, name)])

    assert await redis.command("DBSIZE") <= RAW_STREAMS
    assert [line.event for line in await read_all(logs, name)] == ["event 7", "event 8"]
    assert [each.line.event for each in await logs.tail(name, count=2)] == ["event 7", "event 8"]
    assert [each.line.event for each in await logs.tail(name, count=1)] == ["event 8"]


async def test_a_job_remembers_its_last_runs(redis: Redis, logs: RedisRunLogs) -> None:
    runs = [f"news-{number}" for number in range(RUNS_OF_JOB + 5)]
    for run in runs:
        await logs.write([a_line(1, run)])
    await logs.write([a_line(2, runs[0])])  # a late line makes no run the latest one

    assert (await logs.runs_of("news"))[0] == runs[-1]
    assert await redis.command("ZCARD", JOB_LOG_RUNS("news")) == RUNS_OF_JOB


async def test_the_end_of_a_log_is_written_where_no_line_has_come(redis: Redis, logs: RedisRunLogs) -> None:
    """Else that line would be missing in the archive; one that comes later opens the log again."""
    await logs.write([a_line(1)])
    position = (await logs.tail("news-1", count=1))[0].position
    await logs.write([a_line(2)])

    async def close() -> bool:
        return await logs.close("news-1", after=position, job_id="news", ts="t", is_archived=True)

    assert not await close()
    position = (await logs.tail("news-1", count=1))[0].position
    assert await close()
    ended = await logs.read("news-1")
    assert ended is not None
    assert (ended.state, [entry.is_end for entry in ended.entries]) == (LogState.ENDED, [False, False, True])
    assert await redis.command("TTL", RUN_LOG("news-1")) <= ARCHIVED_LIFETIME_SECONDS
    assert await logs.quiet_runs(quiet_seconds=-5, skip=0, count=10) == []
    await logs.write([a_line(3)])
    reopened = await logs.read("news-1")
    assert reopened is not None
    assert reopened.state is LogState.LIVE
    assert await logs.quiet_runs(quiet_seconds=-5, skip=0, count=10) == ["news-1"]


async def test_the_last_lines_of_all_runs_are_one_log(logs: RedisRunLogs) -> None:
    await logs.write([a_line(1), a_line(2, "news-2"), a_line(3, "raw.x")])

    assert [line.run for line in await read_all(logs, RECENT)] == ["news-1", "news-2"]


@pytest.fixture
def reopen(redis_url: str) -> Callable[[], Redis]:
    return lambda: connect(RedisOptions(redis_url))


@pytest.mark.req("S1.2.27")
async def test_a_log_is_read_the_same_from_the_archive(redis: Redis, logs: RedisRunLogs) -> None:
    """A reader that stopped while it was in Redis continues in the archive."""
    objects = open_object_store(ObjectOptions("memory:///"), clock=SystemClock())
    archive = RunLogArchive(objects)
    reader = RunLogReader(logs, archive)
    await logs.write([a_line(number, level="error" if number % 2 else "info") for number in range(30)])
    stored = [entry async for entry in reader.all_lines("news-1", LogFilter())]
    first = await reader.filtered_page("news-1", after="0-0", count=5, log_filter=LogFilter(level="error"))
    await archive.add("news", "news-1", stored, archived_at="now")
    await redis.command("DEL", RUN_LOG("news-1"))

    assert [entry async for entry in reader.all_lines("news-1", LogFilter())] == stored
    assert first is not None
    rest = await reader.filtered_page(
        "news-1", after=first.position, count=100, log_filter=LogFilter(level="error")
    )
    assert rest is not None
    assert [*first.entries, *rest.entries] == stored[1::2]
    summary = await reader.summary("news-1")
    assert summary is not None
    assert (summary.state, summary.lines) == (LogState.ARCHIVED, 30)
    assert await reader.tail("news-1", count=1) == stored[-1:]
    await objects.close()


async def test_many_writers_lose_no_line(reopen: Callable[[], Redis], logs: RedisRunLogs) -> None:
    """Each service writes to the log of a run by itself."""
    clients = [reopen() for _ in range(4)]

    async def write(number: int) -> None:
        for line in range(25):
            await RedisRunLogs(clients[number]).write([a_line(100 * number + line)])

    await asyncio.gather(*map(write, range(4)))
    for client in clients:
        await client.close()

    events = [line.event for line in await read_all(logs, "news-1")]
    assert sorted(events) == sorted(f"event {100 * n + line}" for n in range(4) for line in range(25))
