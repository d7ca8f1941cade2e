"""What happens to runs, in lines that do not grow with it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from strider.crawl import log_events
from strider.crawl.run_log import FLUSH_SECONDS, MAX_KINDS, MAX_PENDING_EVENTS, RunLog
from strider.messaging.inprocess import EventLoopClock, simulate
from strider.messaging.log_events import LogEvent

REQUESTS_FAILED = LogEvent("Requests failed", "info", "")
URLS_ACCEPTED = LogEvent("URLs accepted", "info", "")
URLS_REFUSED = LogEvent("URLs refused", "info", "")
SEEDS_ACCEPTED = LogEvent("Seeds accepted", "info", "")
SEEDS_REFUSED = LogEvent("Seeds refused", "info", "")


class Lines:
    """A logger that keeps its lines."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def emit(self, event: LogEvent, **fields: Any) -> None:
        self.told.append((event.text, fields))


def test_a_thousand_pages_are_a_line_by_kind() -> None:
    """Two runs, two events: as many lines as there are of both, each with its job's id."""
    lines = Lines()
    journal = RunLog(lines, clock=EventLoopClock())
    for number in range(1_000):
        journal.record(REQUESTS_FAILED, "news", "news-1", "timed_out" if number % 4 else "reset")
    journal.record(REQUESTS_FAILED, "news", "news-2", "reset")
    journal.record(URLS_ACCEPTED, "news", "news-1", count=7)
    journal.record(URLS_ACCEPTED, "", "nobody's", count=7)

    runs = journal.flush()
    first, again = list(lines.told), journal.flush()

    assert runs == [("news", "news-1"), ("news", "news-2")]
    assert first == [
        (
            REQUESTS_FAILED.text,
            {
                "job_id": "news",
                "execution_id": "news-1",
                "count": 1_000,
                "by_kind": {"timed_out": 750, "reset": 250},
                "first_here": True,
            },
        ),
        (
            REQUESTS_FAILED.text,
            {
                "job_id": "news",
                "execution_id": "news-2",
                "count": 1,
                "by_kind": {"reset": 1},
                "first_here": True,
            },
        ),
        (URLS_ACCEPTED.text, {"job_id": "news", "execution_id": "news-1", "count": 7}),
    ]
    assert (again, lines.told) == ([], first)


def test_whatever_is_noted_memory_has_a_bound() -> None:
    """Runs and kinds without end are counted as what they are: too many."""
    lines = Lines()
    journal = RunLog(lines, clock=EventLoopClock())
    for number in range(MAX_PENDING_EVENTS + 5):
        journal.record(URLS_REFUSED, "j", f"run-{number}", "excluded")
    for number in range(100):
        journal.record(URLS_REFUSED, "j", "run-0", f"kind-{number}")
    journal.flush()

    kinds = lines.told[0][1]["by_kind"]
    assert (len(kinds), kinds["other"]) == (MAX_KINDS + 1, 100 - MAX_KINDS + 1)
    assert lines.told[-1] == (log_events.RUN_EVENTS_DROPPED.text, {"count": 5, "most": MAX_PENDING_EVENTS})


def test_it_flushes_at_intervals_and_at_the_end() -> None:
    """A reader who follows a run waits a few seconds; the last counts are not lost with the process."""

    async def scenario() -> list[str]:
        lines, clock = Lines(), EventLoopClock()
        journal = RunLog(lines, clock=clock)
        running = asyncio.create_task(journal.run())
        journal.record(SEEDS_ACCEPTED, "j", "r")
        await clock.sleep(FLUSH_SECONDS + 1)
        seen = [event for event, _ in lines.told]
        journal.record(SEEDS_REFUSED, "j", "r", "bad_url")
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        return [*seen, "|", *(event for event, _ in lines.told)]

    assert simulate(scenario()) == [SEEDS_ACCEPTED.text, "|", SEEDS_ACCEPTED.text, SEEDS_REFUSED.text]
