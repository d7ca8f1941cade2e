"""The log of one job: handed over in order, never waited for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from strider.messaging.errors import Unavailable
from strider.messaging.inprocess.virtual_clock import EventLoopClock, simulate
from strider.runtime.observability.job_logs import (
    BATCH_LINES,
    MAX_RUN_LINES,
    SINK_RETRY_SECONDS,
    JobLogCapture,
    JobLogLine,
)


class Shelf:
    """A sink that keeps what it is given, unless it is down."""

    def __init__(self) -> None:
        self.batches: list[list[JobLogLine]] = []
        self.is_down = False

    async def write(self, lines: Sequence[JobLogLine]) -> None:
        if self.is_down:
            raise Unavailable("redis", "down")
        self.batches.append(list(lines))


def line(number: int) -> dict[str, object]:
    return {"job_id": "j", "ts": "t", "level": "info", "event": f"E{number}", "n": number}


@pytest.mark.req("S1.2.27")
def test_lines_reach_the_sink_in_order_and_whole() -> None:
    async def scenario() -> list[JobLogLine]:
        shelf, capture = Shelf(), JobLogCapture(clock=EventLoopClock())
        running = asyncio.create_task(capture.run(shelf))
        for number in range(3):
            capture(line(number))
        await asyncio.sleep(1)
        running.cancel()
        return [kept for batch in shelf.batches for kept in batch]

    assert simulate(scenario()) == [
        JobLogLine("j", "t", "info", f"E{number}", json.dumps(line(number))) for number in range(3)
    ]


def test_a_full_queue_drops_and_counts() -> None:
    """Telling must never hold up doing."""
    dropped: list[int] = []
    capture = JobLogCapture(clock=EventLoopClock(), on_dropped=dropped.append, capacity=2)

    for number in range(5):
        capture(line(number))

    assert sum(dropped) == 3


def test_a_sink_that_is_down_costs_its_lines_and_comes_back() -> None:
    async def scenario() -> tuple[int, list[str]]:
        dropped: list[int] = []
        shelf = Shelf()
        shelf.is_down = True
        capture = JobLogCapture(clock=EventLoopClock(), on_dropped=dropped.append)
        running = asyncio.create_task(capture.run(shelf))
        capture(line(1))
        await asyncio.sleep(1)
        shelf.is_down = False
        capture(line(2))
        await asyncio.sleep(SINK_RETRY_SECONDS + 1)
        running.cancel()
        return sum(dropped), [kept.event for batch in shelf.batches for kept in batch]

    assert simulate(scenario()) == (1, ["E2"])


async def test_a_long_queue_goes_out_in_batches() -> None:
    shelf, capture = Shelf(), JobLogCapture(clock=EventLoopClock())
    for number in range(BATCH_LINES + 1):
        capture(line(number) | {"execution_id": str(number)})

    assert await capture.drain(shelf)

    assert [len(batch) for batch in shelf.batches] == [BATCH_LINES, 1]


async def test_a_run_of_many_lines_costs_no_line_of_another_run() -> None:
    dropped: list[int] = []
    shelf, capture = Shelf(), JobLogCapture(clock=EventLoopClock(), on_dropped=dropped.append)
    for number in range(MAX_RUN_LINES + 5):
        capture(line(number) | {"execution_id": "loud"})
    capture(line(1) | {"execution_id": "quiet"})
    assert await capture.drain(shelf)
    capture(line(2) | {"execution_id": "loud"})
    assert await capture.drain(shelf)

    runs = [kept.run for batch in shelf.batches for kept in batch]
    assert (runs.count("loud"), runs.count("quiet"), sum(dropped)) == (MAX_RUN_LINES + 1, 1, 5)
