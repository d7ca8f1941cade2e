"""What happens to runs, in lines that do not grow with it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from strider.crawl.run_log import FLUSH_SECONDS, MAX_KINDS, MAX_PENDING_EVENTS, RunLog
from strider.messaging.inprocess import EventLoopClock, simulate


class Lines:
    """A logger that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def info(self, event: str, **fields: Any) -> None:
        """Keep it."""
        self.told.append((event, fields))

    warning = info


@pytest.mark.req("S1.2.27")
def test_a_thousand_pages_are_a_line_by_kind() -> None:
    """Two runs, two events: as many lines as there are of both, each with its job's id."""
    lines = Lines()
    journal = RunLog(lines, clock=EventLoopClock())
    for number in range(1_000):
        journal.record("Requests Failed", "news", "news-1", "timed_out" if number % 4 else "reset")
    journal.record("Requests Failed", "news", "news-2", "reset")
    journal.record("URLs Taken", "news", "news-1", count=7)
    journal.record("URLs Taken", "", "nobody's", count=7)

    runs = journal.flush()
    first, again = list(lines.told), journal.flush()

    assert runs == [("news", "news-1"), ("news", "news-2")]
    assert first == [
        (
            "Requests Failed",
            {
                "job_id": "news",
                "execution_id": "news-1",
                "count": 1_000,
                "by_kind": {"timed_out": 750, "reset": 250},
                "first_here": True,
            },
        ),
        (
            "Requests Failed",
            {
                "job_id": "news",
                "execution_id": "news-2",
                "count": 1,
                "by_kind": {"reset": 1},
                "first_here": True,
            },
        ),
        ("URLs Taken", {"job_id": "news", "execution_id": "news-1", "count": 7}),
    ]
    assert (again, lines.told) == ([], first)


def test_whatever_is_noted_memory_has_a_bound() -> None:
    """Runs and kinds without end are counted as what they are: too many."""
    lines = Lines()
    journal = RunLog(lines, clock=EventLoopClock())
    for number in range(MAX_PENDING_EVENTS + 5):
        journal.record("URLs Refused", "j", f"run-{number}", "excluded")
    for number in range(100):
        journal.record("URLs Refused", "j", "run-0", f"kind-{number}")
    journal.flush()

    kinds = lines.told[0][1]["by_kind"]
    assert (len(kinds), kinds["other"]) == (MAX_KINDS + 1, 100 - MAX_KINDS + 1)
    assert lines.told[-1] == ("Run events dropped", {"count": 5, "most": MAX_PENDING_EVENTS})


def test_it_tells_now_and_then_and_at_the_end() -> None:
    """Whoever follows a run waits a few seconds; what was noted last is not lost with the process."""

    async def scenario() -> list[str]:
        lines, clock = Lines(), EventLoopClock()
        journal = RunLog(lines, clock=clock)
        running = asyncio.create_task(journal.run())
        journal.record("Seeds Taken", "j", "r")
        await clock.sleep(FLUSH_SECONDS + 1)
        seen = [event for event, _ in lines.told]
        journal.record("Seeds Refused", "j", "r", "bad_url")
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        return [*seen, "|", *(event for event, _ in lines.told)]

    assert simulate(scenario()) == ["Seeds Taken", "|", "Seeds Taken", "Seeds Refused"]
