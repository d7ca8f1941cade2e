"""Sources with more start pages than are listed one by one: a page that failed changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import AdaptiveRecorded, JobEvent, SourceSaved
from strider.scheduler.core.jobs.adaptive import compare_run
from strider.scheduler.core.jobs.results import compared_run
from strider.scheduler.core.runs.start_pages import MAX_LISTED, StartPage, StartPages, StartPageTally
from tests.unit.jobs.builders import a_job

NOW_MS = 1_800_000_000_000
HALF_HOUR = 1800


def start_pages(count: int, *, failed: Collection[int] = (), texts: Mapping[int, str] = {}) -> StartPages:
    tally = StartPageTally()
    for number in range(count):
        if number not in failed:
            text = texts.get(number, "same")
            tally.add(StartPage(f"{number:064x}", f"raw {text}", text))
    return tally.total()


def play(count: int, *runs: StartPages) -> list[AdaptiveRecorded]:
    """Return the states of a source with so many start pages after each of these runs."""
    url, *others = (f"https://example.com/{number}" for number in range(count))
    source = SourceSaved("source", "Example", url, start_urls=tuple(others))
    job = a_job(url=url, source_id="source", interval_minutes=30)
    states: list[AdaptiveRecorded] = []
    for number, pages in enumerate(runs, start=1):
        what = JobEventKind.RUN_COMPLETED.value
        name = f"job-1-{number}"
        end = JobEvent("", what, False, NOW_MS + number, "scheduler", execution_id=name)
        state = compare_run(states[-1] if states else None, compared_run(job, end, pages, source=source))
        assert state is not None
        states.append(state)
    return states


@pytest.mark.req("S0.2.15", part="of more than 64 start pages")
@pytest.mark.parametrize("failed", [{0}, {3, 5}, set(range(10))], ids=["one", "two", "so that few are left"])
def test_pages_that_failed_are_neither_penalty_nor_reward(failed: set[int]) -> None:
    count = MAX_LISTED + 6
    whole, partial = start_pages(count), start_pages(count, failed=failed)

    states = play(count, whole, whole, partial, partial, whole)

    assert [state.unchanged_count for state in states] == [0, 1, 1, 1, 2]
    assert [state.current_interval_seconds for state in states] == [
        HALF_HOUR * factor for factor in (1, 2, 2, 2, 4)
    ]
    assert {state.last_change_at_ms for state in states} == {NOW_MS + 1}


def test_a_change_counts_beside_the_same_page_that_fails_again() -> None:
    count = MAX_LISTED + 6
    partial = start_pages(count, failed={3})
    changed = start_pages(count, failed={3}, texts={7: "other"})

    states = play(count, start_pages(count), start_pages(count), partial, changed)

    assert [state.unchanged_count for state in states] == [0, 1, 1, 0]


def test_a_change_counts_and_so_does_a_new_start_page() -> None:
    count = MAX_LISTED + 6
    whole, changed = start_pages(count), start_pages(count, texts={7: "other"})

    assert [state.unchanged_count for state in play(count, whole, whole, changed)] == [0, 1, 0]
    assert play(count + 1, whole, whole, start_pages(count + 1))[-1].unchanged_count == 0
