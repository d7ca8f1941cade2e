"""State tables of an entry, and the status derived from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.entry_states import (
    ALLOWED_TRANSITIONS,
    STATE_REASONS,
    TaskState,
    UrlStatus,
    is_allowed_transition,
    task_state,
    url_status,
)
from strider.contracts.generated.enums import EntryReason, EntryState
from strider.contracts.generated.events import EntryRecorded

ENTRY = EntryRecorded(
    job_id="job",
    url_key="key",
    url="http://a.test/",
    group="a.test",
    state="pending",
    execution_id="run",
    crawl_spec_id="spec",
    fetch_sequence=0,
    updated_at_ms=1,
    reason="accepted",
)


def an_entry(state: str, reason: str, **changes: Any) -> EntryRecorded:
    return replace(ENTRY, state=state, reason=reason, **changes)


@pytest.mark.req("S3.5.9")
def test_the_tables_are_whole() -> None:
    """Four states; each has its own list of reasons, and every open state can be closed."""
    assert list(EntryState) == ["pending", "in_progress", "completed", "failed"]
    assert set(ALLOWED_TRANSITIONS) == set(STATE_REASONS) == set(EntryState)
    assert all(STATE_REASONS.values())
    assert frozenset().union(*STATE_REASONS.values()) <= set(EntryReason)
    assert all(
        ALLOWED_TRANSITIONS[state] >= {EntryState.COMPLETED, EntryState.FAILED}
        for state in list(EntryState)[:2]
    )


@pytest.mark.req("S3.5.9")
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(None, ("pending", "accepted"), True, id="accepted"),
        pytest.param(None, ("in_progress", "fetched"), False, id="fetched-before-it-was-accepted"),
        pytest.param(("pending", "accepted"), ("in_progress", "fetched"), True, id="fetched"),
        pytest.param(("pending", "accepted"), ("completed", "settled"), True, id="settled-first"),
        pytest.param(("in_progress", "fetched"), ("pending", "lost_once"), True, id="lost"),
        pytest.param(("completed", "settled"), ("pending", "reopened"), True, id="reopened"),
        pytest.param(("completed", "settled"), ("failed", "not_found"), False, id="closed-twice"),
        pytest.param(("failed", "not_found"), ("failed", "not_found"), True, id="repeated"),
        pytest.param(("failed", "budget"), ("completed", "settled"), False, id="settled-when-closed"),
        pytest.param(("pending", "accepted"), ("pending", "budget"), False, id="reason-of-another-state"),
        pytest.param(("pending", "accepted"), ("failed", "already_seen"), False, id="reason-of-a-link"),
        pytest.param(("pending", "accepted"), ("failed", "no such word"), False, id="no-reason-at-all"),
    ],
)
def test_states_follow_by_the_table(before: Any, after: Any, *, expected: bool) -> None:
    first = None if before is None else an_entry(*before)

    assert is_allowed_transition(first, an_entry(*after)) is expected


@pytest.mark.req("S3.6.3")
@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param(an_entry("pending", "accepted"), UrlStatus.NEVER_CRAWLED, id="new"),
        pytest.param(an_entry("failed", "budget"), UrlStatus.NEVER_CRAWLED, id="untried"),
        pytest.param(an_entry("in_progress", "fetched", fetched_at_ms=1), UrlStatus.FETCHED, id="under-way"),
        pytest.param(an_entry("completed", "settled", fetched_at_ms=1), UrlStatus.FETCHED, id="page"),
        pytest.param(an_entry("completed", "redirected", status=301), UrlStatus.FETCHED, id="redirect"),
        pytest.param(an_entry("pending", "due_again", fetched_at_ms=1), UrlStatus.FETCHED, id="comes-again"),
        pytest.param(an_entry("failed", "not_found", status=404), UrlStatus.FAILED, id="404"),
        pytest.param(an_entry("failed", "retries_exhausted", tries=4), UrlStatus.FAILED, id="tried-in-vain"),
        pytest.param(an_entry("failed", "robots_denied"), UrlStatus.BLOCKED, id="robots"),
        pytest.param(an_entry("failed", "host_blocked"), UrlStatus.BLOCKED, id="host"),
        pytest.param(an_entry("failed", "policy_blocked"), UrlStatus.BLOCKED, id="private-address"),
    ],
)
def test_a_url_has_one_status(entry: EntryRecorded, expected: UrlStatus) -> None:
    assert url_status(entry) is expected


@pytest.mark.req("S4.12.9", "S4.12.10", "S4.12.11", "S4.12.13", "S4.12.14")
@pytest.mark.req("S4.12.15", part="the state of a closed entry")
@pytest.mark.req("S4.12.12", part="the state, without a saved file")
@pytest.mark.parametrize(
    ("state", "place", "is_read", "task"),
    [
        pytest.param("pending", "", False, TaskState.PENDING, id="only in the log"),
        pytest.param("pending", "waiting", False, TaskState.PENDING, id="in a queue"),
        pytest.param("pending", "issued", False, TaskState.QUEUED, id="on the bus"),
        pytest.param("pending", "started", True, TaskState.CRAWLING, id="at a fetcher, again"),
        pytest.param("pending", "in_ring", False, TaskState.DOWNLOADED, id="came, not written down yet"),
        pytest.param("in_progress", "in_ring", False, TaskState.DOWNLOADED, id="came"),
        pytest.param("in_progress", "", True, TaskState.PARSING, id="read"),
        pytest.param("completed", "", True, TaskState.COMPLETED, id="done"),
        pytest.param("completed", "started", False, TaskState.COMPLETED, id="an older look"),
        pytest.param("failed", "", False, TaskState.FAILED, id="in vain"),
    ],
)
def test_how_far_the_work_is_follows_from_what_is_known(
    state: str, place: str, is_read: bool, task: TaskState
) -> None:
    """No event is published for it: record, place and stored page are enough."""
    assert task_state(state, place, is_read=is_read) is task
