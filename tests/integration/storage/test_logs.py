"""Dead letters in their table, and job logs in their streams."""

from __future__ import annotations

import asyncio

import pytest

from strider.contracts.generated.events import DeadLetter
from strider.runtime.clocks import SystemClock
from strider.runtime.observability.job_logs import JobLogCapture, JobLogLine
from strider.storage import error_logs
from strider.storage.job_logs import (
    MAX_TEXT_CHARACTERS,
    RAW_STREAMS,
    RedisJobLogs,
    StoredLogLine,
    stream_of,
)
from strider.storage.keys import JOB_LOG
from strider.storage.migrations import upgrade
from strider.storage.postgres import Postgres
from strider.storage.redis import Redis


def _letter(offset: int, **more: object) -> DeadLetter:
    values = {
        "service": "parser",
        "group": "parser",
        "topic": "pages-fetched",
        "partition": 0,
        "offset": offset,
        "reason": "truncated",
        "category": "decode",
        "occurred_at_ms": 1_795_000_000_000,
    }
    return DeadLetter(**(values | more))  # type: ignore[arg-type]


@pytest.mark.req("S4.6.3", "S4.6.4")
async def test_a_dead_letter_is_one_row_however_often_it_comes(postgres: Postgres, postgres_dsn: str) -> None:
    """Published twice, read again, replayed from the beginning: one row. Another group's is another row."""
    await upgrade(postgres_dsn)
    letters = [_letter(1, error_message="a\x00b \ud800"), _letter(2), _letter(2), _letter(2, group="archive")]

    stored = [
        await postgres.upsert(error_logs.UPSERT, map(error_logs.error_log_row, letters)) for _ in range(2)
    ]

    assert stored == [3, 0]
    rows = await postgres.fetch(
        'SELECT "offset", consumer_group, category, message FROM error_logs ORDER BY "offset", consumer_group'
    )
    assert [tuple(row) for row in rows] == [
        (1, "parser", "decode", "a\ufffdb \ufffd"),
        (2, "archive", "decode", ""),
        (2, "parser", "decode", ""),
    ]


async def test_lines_of_a_job_that_cannot_exist_cost_no_other_line(redis: Redis) -> None:
    """A refused seed names any job; blanks and braces cannot stand in a key."""
    logs = RedisJobLogs(redis, clock=SystemClock())

    await logs.write([_line(1), *(_line(2, job) for job in ("a b", "", "{x}", "a\n")), _line(3)])

    assert [stored.line.event for stored in await logs.read("job-1")] == ["event 1", "event 3"]


def _line(number: int, job: str = "job-1") -> JobLogLine:
    return JobLogLine(
        job_id=job, ts=f"t{number}", level="info", event=f"event {number}", text=f'{{"n":{number}}}'
    )


def _lines(stored: list[StoredLogLine]) -> list[JobLogLine]:
    return [each.line for each in stored]


@pytest.mark.req("S1.2.27")
async def test_a_jobs_lines_are_read_in_their_order(redis: Redis) -> None:
    """Each job sees its own, page by page, and the last ones at once."""
    logs = RedisJobLogs(redis, clock=SystemClock())
    await logs.write([_line(1), _line(2, job="job-2"), _line(3)])
    await logs.write([_line(4)])
    first = await logs.read("job-1", count=2)

    assert _lines(first) == [_line(1), _line(3)]
    assert _lines(await logs.read("job-1", after=first[-1].position)) == [_line(4)]
    assert _lines(await logs.tail("job-1", count=2)) == [_line(3), _line(4)]
    assert await logs.read("nobody") == []


@pytest.mark.req("S1.2.27")
async def test_a_follower_sees_what_comes(redis: Redis) -> None:
    """Streaming, as the API shows it."""
    logs = RedisJobLogs(redis, clock=SystemClock())
    capture = JobLogCapture(clock=SystemClock())
    await logs.write([_line(1)])
    seen: list[str] = []

    async def follow() -> None:
        async for stored in logs.follow("job-1"):
            seen.append(stored.line.event)
            if len(seen) == 3:
                return

    following = asyncio.create_task(follow())
    capture({"job_id": "job-1", "event": "second", "level": "info", "ts": "t"})
    assert await capture.drain(logs)
    capture({"job_id": "job-1", "event": "third", "level": "info", "ts": "t"})
    assert await capture.drain(logs)
    await asyncio.wait_for(following, 10)

    assert seen == ["event 1", "second", "third"]


async def test_a_log_is_capped_in_lines_length_and_time(redis: Redis) -> None:
    """A chatty job must not push the working set out of memory."""
    logs = RedisJobLogs(redis, clock=SystemClock(), kept_lines=100)
    for start in range(0, 1000, 250):
        await logs.write([_line(number) for number in range(start, start + 250)])
    await logs.write([JobLogLine("job-1", "t", "info", "long", "x" * 100_000)])
    last = (await logs.tail("job-1", count=1))[0].line

    # The cap is approximate: the server drops whole nodes of a hundred lines.
    assert 100 <= await redis.command("XLEN", JOB_LOG("job-1")) <= 300
    assert last.text == "x" * MAX_TEXT_CHARACTERS + "…"
    assert 0 < await redis.command("TTL", JOB_LOG("job-1")) <= JOB_LOG.lifetime_seconds


@pytest.mark.fault("B5", part="job logs of made-up jobs")
async def test_jobs_of_raw_seeds_share_a_number_of_streams(redis: Redis) -> None:
    """However many names a sender makes up; each job reads its own lines, also behind those of others."""
    logs = RedisJobLogs(redis, clock=SystemClock())
    for first in range(0, 2_000, 500):
        await logs.write([_line(number, f"raw.{number}") for number in range(first, first + 500)])
    name = "raw.7"
    others = (f"raw.{number}" for number in range(100_000))
    beside = [other for other in others if stream_of(other) == stream_of(name) and other != name][:600]
    await logs.write([_line(number, other) for number, other in enumerate(beside)])
    await logs.write([_line(8, name)])

    assert await redis.command("DBSIZE") <= RAW_STREAMS
    assert _lines(await logs.read(name)) == [_line(7, name), _line(8, name)]
    assert _lines(await logs.tail(name, count=2)) == [_line(7, name), _line(8, name)]
    assert _lines(await logs.tail(name, count=1)) == [_line(8, name)]
