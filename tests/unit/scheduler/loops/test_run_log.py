"""Run log events of batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from strider.contracts.generated.events import FetchCompleted, PageSettled
from strider.crawl.run_log import RunLog
from strider.frontier.models import RunEntryCounts
from strider.messaging.inprocess import EventLoopClock, simulate
from strider.runtime.observability.log_events import LogEvent
from strider.scheduler import log_events
from strider.scheduler.core.entries.url_decisions import UrlDecision
from strider.scheduler.core.hosts.host_state import new_host_group
from strider.scheduler.loops.run_log import (
    HostWaits,
    RunLogLoop,
    note_decisions,
    note_failed_requests,
    note_settled_pages,
)
from strider.scheduler.ports import NoSchedulerMeter

LINE = UrlDecision("https://a.test/", "k", "closed", "budget", "j", "r", "s", detail="pages")


class Notes(NoSchedulerMeter):
    """A meter that keeps notes."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, str, int]] = []

    def note_run_event(self, event: LogEvent, job_id: str, execution_id: str, kind: str, count: int) -> None:
        """Keep it."""
        assert (job_id, execution_id) == ("j", "r")
        self.kept.append((event.text, kind, count))


def an_outcome(outcome: str, **fields: Any) -> FetchCompleted:
    texts = dict.fromkeys(("url", "url_key", "group", "origin", "lease_id", "crawl_spec_id"), "")
    numbers = dict.fromkeys(("fetch_sequence", "try_number", "completed_at_ms"), 1)
    names = {"job_id": "j", "execution_id": "r", "outcome": outcome, "kind": "page"}
    return FetchCompleted(**{**texts, **numbers, **names, **fields})


def a_page(verdict: str, reason: str = "") -> PageSettled:
    return PageSettled("k", "", "j", "r", 1, verdict, settled_at_ms=1, reason=reason)


def test_a_budget_is_shown_by_name_and_other_ends_by_reason() -> None:
    notes = Notes()
    refused = replace(LINE, decision="refused", reason="too_deep", detail="4 of 3")
    note_decisions(notes, [LINE, LINE, refused, replace(LINE, reason="robots_denied")])

    assert notes.kept == [
        (log_events.BUDGET_EXHAUSTED.text, "pages", 2),
        (log_events.URLS_REFUSED.text, "too_deep", 1),
        (log_events.URLS_CLOSED.text, "robots_denied", 1),
    ]


def test_a_blocked_host_is_noted_once_for_each_block() -> None:
    notes = Notes()
    waits = HostWaits(notes)
    well = new_host_group("a.test", delay_seconds=1)
    blocked = replace(well, back_off=replace(well.back_off, until_ms=1_763_467_200_000, reason="retry_after"))
    again = replace(well, back_off=replace(blocked.back_off, until_ms=1_763_467_260_000))
    for group in (well, blocked, blocked, again):
        waits.note("j", "r", group, now_ms=1_763_467_199_000)
    waits.note("j", "r", replace(blocked, name="b.test"), now_ms=1_763_467_200_000)

    assert notes.kept == [
        (log_events.HOST_WAITS.text, "a.test until 2025-11-18T12:00:00+00:00: retry_after", 1),
        (log_events.HOST_WAITS.text, "a.test until 2025-11-18T12:01:00+00:00: retry_after", 1),
    ]


def test_failures_are_counted_by_kind_and_successes_are_not() -> None:
    notes = Notes()
    note_failed_requests(
        notes,
        [
            an_outcome("timed_out", error_class="read_timeout"),
            an_outcome("not_found"),
            an_outcome("not_found"),
            an_outcome("redirected"),
            an_outcome("fetched", has_page=True),
            an_outcome("not_found", kind="robots"),
        ],
    )

    assert notes.kept == [
        (log_events.REQUESTS_FAILED.text, "read_timeout", 1),
        (log_events.REQUESTS_FAILED.text, "not_found", 2),
    ]


def test_pages_are_counted_as_settled_or_rejected() -> None:
    notes = Notes()
    note_settled_pages(notes, [a_page("valid"), a_page("rejected", "soft_404")])

    assert notes.kept == [
        (log_events.PAGES_SETTLED.text, "", 1),
        (log_events.PAGES_REJECTED.text, "soft_404", 1),
    ]


class Lines:
    """A logger that keeps what it is given."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Mapping[str, Any]]] = []

    def emit(self, event: LogEvent, **fields: Any) -> None:
        """Keep it."""
        self.told.append((event.text, fields))


def test_an_empty_run_is_logged_once_and_only_when_every_shard_reports_it() -> None:
    """A shard that is being rebuilt may have anything open."""
    answers: list[Sequence[Mapping[str, RunEntryCounts] | None]] = [
        [{"r": RunEntryCounts(open=1, accepted=3)}, {}],
        [{"r": RunEntryCounts(open=0, accepted=3)}, None],
        [{"r": RunEntryCounts(open=0, accepted=3)}, {"r": RunEntryCounts(open=0, accepted=4)}],
    ]

    async def scenario() -> list[list[str]]:
        lines, clock, said = Lines(), EventLoopClock(), []
        journal = RunLog(lines, clock=clock)

        async def counts() -> Sequence[Mapping[str, RunEntryCounts] | None]:
            return answers.pop(0)

        closing = RunLogLoop(journal, lines, counts=counts, shards=2, clock=clock)
        journal.record(log_events.URLS_ACCEPTED, "j", "r", "accepted", 3)
        for _ in range(4):
            await closing.run_once()
            said.append([event for event, _ in lines.told])
        assert lines.told[-1][1] == {"job_id": "j", "execution_id": "r", "accepted": 7, "shards": "2 of 2"}
        return said

    taken = [log_events.URLS_ACCEPTED.text]
    assert simulate(scenario()) == [
        taken,
        taken,
        [*taken, log_events.NOTHING_OPEN.text],
        [*taken, log_events.NOTHING_OPEN.text],
    ]
