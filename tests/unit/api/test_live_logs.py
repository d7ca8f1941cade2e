"""Followers of logs, on a log in memory and in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import pytest

from strider.api.adapters.live_logs import (
    HEARTBEAT_SECONDS,
    KEPT_ENTRIES,
    LiveLogs,
    StreamBatch,
    StreamEnd,
)
from strider.api.adapters.snapshot_feeds import INTERVAL_SECONDS, SnapshotFeed
from strider.api.core.server_sent_events import encode_event
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess.virtual_clock import EventLoopClock, simulate
from strider.runtime.observability.job_logs import JobLogLine
from strider.storage.run_logs.models import LogEntry, LogPage, LogState, position_key
from strider.storage.run_logs.reader import RunLogReader

T = TypeVar("T")
RUN = "news-1"


class StoredLog:
    """A log as Redis has it; counts its readers."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.reads = 0
        self.is_away = False

    def add(self, *numbers: int) -> None:
        self.entries += [LogEntry(f"{n}-0", JobLogLine("news", "t", "info", "e", "{}", RUN)) for n in numbers]

    def end(self) -> None:
        last = position_key(self.entries[-1].position)[0]
        line = JobLogLine("news", "t", "", "", "", RUN)
        self.entries.append(LogEntry(f"{last + 1}-0", line, is_end=True))

    async def page(self, run: str, *, after: str, count: int = 500) -> LogPage | None:
        if self.is_away:
            raise Unavailable("redis", "away")
        self.reads += 1
        found = [each for each in self.entries if position_key(each.position) > position_key(after)]
        if not self.entries:
            return None
        state = LogState.ENDED if self.entries[-1].is_end else LogState.LIVE
        chosen = found[:count]
        return LogPage(chosen, chosen[-1].position if chosen else after, len(found) <= count, state)

    async def live_page(self, run: str, *, after: str) -> LogPage | None:
        return await self.page(run, after=after)

    async def last_entry(self, run: str) -> LogEntry | None:
        if self.is_away:
            raise Unavailable("redis", "away")
        return self.entries[-1] if self.entries else None


def play(scenario: Callable[[StoredLog, LiveLogs], Awaitable[T]]) -> T:
    async def run() -> T:
        stored = StoredLog()
        return await scenario(stored, LiveLogs(cast("RunLogReader", stored), clock=EventLoopClock()))

    return simulate(run())


async def take(
    logs: LiveLogs, *, after: str = "0-0", stops_at: int = 0, pause: float = 0
) -> tuple[list[int], StreamEnd | None]:
    """Follow to the end; gives the numbers of the entries, and how it ended. It may stop at one."""
    seen: list[int] = []
    async for batch in logs.follow(RUN, after=after):
        seen += [position_key(entry.position)[0] for entry in batch.entries]
        if batch.end is not None:
            return seen, batch.end
        if seen and seen[-1] == stops_at:
            await asyncio.sleep(pause)
    return seen, None


@pytest.mark.parametrize("after", [0, 1, 60, 199, 250])
def test_a_follower_gets_every_later_line_once(after: int) -> None:
    """Those that are stored, and those that come, wherever it begins."""

    async def scenario(stored: StoredLog, logs: LiveLogs) -> tuple[list[int], StreamEnd | None]:
        stored.add(*range(1, 200))
        following = asyncio.create_task(take(logs, after=f"{after}-0"))
        for number in range(200, 300):
            stored.add(number)
            await asyncio.sleep(0.1)
        stored.end()
        return await following

    assert play(scenario) == (list(range(after + 1, 300)), StreamEnd.ENDED)


def test_a_run_without_a_line_is_waited_for_with_heartbeats() -> None:
    async def scenario(stored: StoredLog, logs: LiveLogs) -> list[StreamBatch]:
        batches = []
        async for batch in logs.follow(RUN):
            batches.append(batch)
            if len(batches) == 3:
                stored.add(1)
            if batch.entries:
                break
        return batches

    batches = play(scenario)
    assert [len(batch.entries) for batch in batches] == [0] * (len(batches) - 1) + [1]
    assert len(batches) >= 4


def test_a_follower_that_is_too_slow_is_dropped_and_may_continue() -> None:
    """The others are not held up, and nothing is lost for it."""

    async def scenario(
        stored: StoredLog, logs: LiveLogs
    ) -> tuple[tuple[list[int], StreamEnd | None], tuple[list[int], StreamEnd | None], list[int]]:
        stored.add(1)
        fast = asyncio.create_task(take(logs))
        slow = asyncio.create_task(take(logs, stops_at=2, pause=200))
        await asyncio.sleep(1)
        stored.add(2)
        await asyncio.sleep(1)
        for number in range(3, KEPT_ENTRIES + 1_000):
            stored.add(number)
            if number % 10 == 0:
                await asyncio.sleep(0.5)
        stored.end()
        ended = await fast
        dropped = await slow
        rest, _ = await take(logs, after=f"{dropped[0][-1]}-0")
        return ended, dropped, rest

    ended, dropped, rest = play(scenario)
    whole = list(range(1, KEPT_ENTRIES + 1_000))
    assert ended == (whole, StreamEnd.ENDED)
    assert dropped[1] is StreamEnd.DROPPED
    assert dropped[0] + rest == whole


def test_many_followers_cost_no_more_reads_than_one() -> None:
    async def reads(stored: StoredLog, logs: LiveLogs, followers: int) -> int:
        stored.entries.clear()
        stored.add(1)
        following = [asyncio.create_task(take(logs)) for _ in range(followers)]
        await asyncio.sleep(1)
        before = stored.reads
        for number in range(2, 100):
            stored.add(number)
            await asyncio.sleep(0.5)
        found = stored.reads - before
        stored.end()
        assert all(seen == list(range(1, 100)) for seen, _ in await asyncio.gather(*following))
        return found

    async def scenario(stored: StoredLog, logs: LiveLogs) -> tuple[int, int]:
        return await reads(stored, logs, 1), await reads(stored, logs, 200)

    one, many = play(scenario)
    assert many <= one + 2


def test_an_outage_is_waited_out_and_a_stop_ends_all() -> None:
    async def scenario(stored: StoredLog, logs: LiveLogs) -> list[tuple[list[int], StreamEnd | None]]:
        stored.add(1)
        following = [asyncio.create_task(take(logs)) for _ in range(3)]
        await asyncio.sleep(1)
        stored.is_away = True
        await asyncio.sleep(60)
        stored.add(2)
        stored.is_away = False
        await asyncio.sleep(10)
        logs.stop()
        return list(await asyncio.gather(*following))

    assert play(scenario) == [([1, 2], StreamEnd.CLOSING)] * 3


def test_a_snapshot_is_read_once_for_all_and_sent_when_it_changes() -> None:
    async def scenario() -> tuple[list[int], int]:
        reads, state = 0, 1

        async def read() -> dict[str, int]:
            nonlocal reads
            reads += 1
            return {"state": state}

        feed = SnapshotFeed(read, clock=EventLoopClock(), only_changes=True)
        seen: list[int] = []

        async def follow() -> None:
            async for snapshot in feed.follow(heartbeat_seconds=HEARTBEAT_SECONDS):
                seen.append(0 if snapshot is None else snapshot[1]["state"])

        followers = [asyncio.create_task(follow()) for _ in range(2)]
        await asyncio.sleep(HEARTBEAT_SECONDS * 1.5)
        state = 2
        await asyncio.sleep(INTERVAL_SECONDS * 2)
        feed.stop()
        await asyncio.gather(*followers)
        return seen, reads

    seen, reads = simulate(scenario())
    assert seen == [1, 1, 0, 0, 2, 2]
    assert reads <= 8


def test_an_event_is_one_line_of_data() -> None:
    """What a line of a log contains can end no event."""
    sent = encode_event("log", {"text": "a\n\nevent: forged\rdata: x"}, event_id="5-0").decode()

    assert sent.splitlines()[:2] == ["id: 5-0", "event: log"]
    assert sent.count("\n") == 4
    assert "\r" not in sent
