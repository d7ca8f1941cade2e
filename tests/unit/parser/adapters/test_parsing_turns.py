"""Turns of pages: few begin at a time, and expensive ones are given up where too many wait."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from strider.parser import log_events
from strider.parser.adapters.metrics import LOG_SECONDS, PAGES_GIVEN_UP, ParserMetrics
from strider.parser.adapters.parsing_turns import (
    MAX_EXPENSIVE_SECONDS,
    MAX_WAITING_BYTES,
    OTHERS_SECONDS,
    ParsingTurn,
    ParsingTurns,
)
from strider.parser.core.parsing_costs import PageSender, page_sender
from strider.parser.topology import MAX_WAITING_PAGES, PAGES_PER_WORKER
from strider.runtime.observability.metrics import Metrics

OWNER = page_sender("crawl-1", "www.owner.test")
RAW = page_sender("adhoc-1", "www.raw.test")
DEADLINE = 2.0


@dataclass
class WorkClock:
    """Time that passes by work alone."""

    seconds: float = 1_000.0

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class Parsing:
    """Turns at one worker, whose time is that of a clock."""

    turns: ParsingTurns
    clock: WorkClock
    metrics: Metrics

    async def parse(self, source: PageSender, seconds: float) -> None:
        """Parse one page alone."""
        turn = await self.turns.begin(source, 1)
        assert turn is not None
        self.clock.seconds += seconds
        self.turns.end(turn, seconds)

    async def wait(
        self, source: PageSender, pages: int, *, size_bytes: int = 1
    ) -> list[asyncio.Task[ParsingTurn | None]]:
        """Let pages wait for their turns."""
        tasks = [asyncio.create_task(self.turns.begin(source, size_bytes)) for _ in range(pages)]
        await settle()
        return tasks


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def results(tasks: list[asyncio.Task[ParsingTurn | None]]) -> list[ParsingTurn | None]:
    return [task.result() for task in tasks if task.done()]


@pytest.fixture
def parsing() -> Parsing:
    clock, metrics = WorkClock(), Metrics(())
    counted = ParserMetrics(metrics, clock=clock).count_given_up
    turns = ParsingTurns(workers=1, page_seconds=DEADLINE, clock=clock, on_given_up=counted)
    return Parsing(turns, clock, metrics)


async def expensive_backlog(
    parsing: Parsing, *, size_bytes: int = 1
) -> list[asyncio.Task[ParsingTurn | None]]:
    """Let the pages of a sender reach the deadline, and many more of his wait."""
    for _ in range(4):
        await parsing.parse(RAW, DEADLINE)
    return await parsing.wait(RAW, MAX_WAITING_PAGES, size_bytes=size_bytes)


async def test_known_cheap_pages_begin_together_and_expensive_ones_alone(parsing: Parsing) -> None:
    for _ in range(4):
        await parsing.parse(OWNER, 0.01)
        await parsing.parse(RAW, DEADLINE)

    cheap = await parsing.wait(OWNER, 2 * PAGES_PER_WORKER)
    assert len(results(cheap)) == PAGES_PER_WORKER
    for turn in results(cheap):
        assert turn is not None
        parsing.turns.end(turn, 0.01)
    await settle()
    for turn in results(cheap[PAGES_PER_WORKER:]):
        assert turn is not None
        parsing.turns.end(turn, 0.01)

    expensive = await parsing.wait(RAW, 3)
    assert len(results(expensive)) == 1


async def test_of_an_unknown_sender_one_page_begins_beside_another(parsing: Parsing) -> None:
    busy = await parsing.wait(OWNER, 1)
    unknown = await parsing.wait(RAW, 5)

    assert (len(results(busy)), len(results(unknown))) == (1, 1)


@pytest.mark.fault("C2", part="pages of expensive senders are given up where too many wait")
@pytest.mark.parametrize(
    ("size_bytes", "most"),
    [
        pytest.param(1, MAX_WAITING_PAGES, id="pages"),
        pytest.param(MAX_WAITING_BYTES // 20, 20, id="bytes"),
    ],
)
async def test_expensive_pages_give_way_where_others_come(
    parsing: Parsing, size_bytes: int, most: int
) -> None:
    await parsing.parse(OWNER, 0.01)
    backlog = await expensive_backlog(parsing, size_bytes=size_bytes)
    (begun,) = (turn for turn in results(backlog) if turn is not None)
    more = await parsing.wait(RAW, 50, size_bytes=size_bytes)

    given_up = [turn for turn in results([*backlog, *more]) if turn is None]
    assert len(given_up) == len(backlog) + len(more) - 1 - most
    others = await parsing.wait(OWNER, 10)
    assert results(others) == []
    parsing.turns.end(begun, DEADLINE)
    await settle()
    assert len(results(others)) == 10
    assert None not in results(others)


async def test_pages_that_are_given_up_are_counted_and_logged_once_a_minute(parsing: Parsing) -> None:
    """An operator sees that parser time is too little, without a line for each page."""
    for _ in range(12):
        await parsing.parse(RAW, DEADLINE)
    with capture_logs() as lines:
        await parsing.parse(OWNER, 0.01)
        pages = await parsing.wait(RAW, MAX_WAITING_PAGES + 50)
        before = results(pages).count(None)
        parsing.clock.seconds += LOG_SECONDS
        pages += await parsing.wait(OWNER, 1)
        pages += await parsing.wait(RAW, 5)

    given_up = results(pages).count(None)
    logged = [line for line in lines if line["event"] == log_events.EXPENSIVE_PAGES_GIVEN_UP.text]
    counts = [parsing.metrics.value(PAGES_GIVEN_UP, senders) for senders in ("owners", "raw")]
    assert given_up > before > 40
    assert counts == [0, given_up]
    assert [line["pages"] for line in logged] == [1, before]
    assert (logged[0]["execution_id"], logged[0]["group"]) == (RAW.execution_id, RAW.group)


async def test_expensive_pages_wait_for_some_seconds_only(parsing: Parsing) -> None:
    """Each holds a place among the entries in flight of its shard."""
    await parsing.parse(OWNER, 0.01)
    first, *backlog = await expensive_backlog(parsing)
    begun = first.result()
    assert begun is not None
    parsing.clock.seconds += MAX_EXPENSIVE_SECONDS + 0.1
    parsing.turns.end(begun, DEADLINE)
    await settle()

    assert [turn is None for turn in results(backlog)] == [False, *[True] * (len(backlog) - 1)]


async def test_expensive_pages_are_kept_where_no_others_come(parsing: Parsing) -> None:
    """An owner's own heavy pages, or one sender alone, wait as long as they need."""
    await parsing.parse(OWNER, 0.01)
    parsing.clock.seconds += OTHERS_SECONDS
    backlog = await expensive_backlog(parsing)
    more = await parsing.wait(RAW, 50)

    assert len(results([*backlog, *more])) == 1


async def test_cheap_pages_are_never_given_up(parsing: Parsing) -> None:
    await parsing.parse(RAW, 0.01)
    await parsing.parse(OWNER, 0.01)

    waiting = [*await parsing.wait(RAW, 2 * MAX_WAITING_PAGES), *await parsing.wait(OWNER, MAX_WAITING_PAGES)]

    assert None not in results(waiting)


async def test_abandoned_turns_block_nothing(parsing: Parsing) -> None:
    """One is cancelled when its turn has just come, the others while they wait."""
    first, second, *others = await parsing.wait(OWNER, 40)
    begun = first.result()
    assert begun is not None
    parsing.turns.end(begun, 0.01)
    for task in (second, *others):
        task.cancel()
    await settle()

    assert all(task.cancelled() for task in (second, *others))
    await parsing.parse(RAW, 0.01)
    await parsing.parse(OWNER, 0.01)
