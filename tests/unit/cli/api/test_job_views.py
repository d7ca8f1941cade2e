"""Jobs as text."""

from __future__ import annotations

from typing import Any

import pytest

from strider.cli.api.job_views import (
    action_text,
    duration_text,
    execution_row,
    interval_text,
    job_fields,
    progress_text,
    slot_text,
)
from strider.client import RemoteExecution, RemoteJob, RemoteRun


def a_job(**fields: Any) -> RemoteJob:
    document = {
        "id": "j1",
        "url": "https://a.test/",
        "status": "scheduled",
        "version": 3,
        "created_at": "2026-11-20T12:00:00Z",
        "updated_at": "2026-11-20T12:00:00Z",
        "interval_minutes": 6,
        "interval_type": "hours",
        "schedule_enabled": True,
        "current_interval_seconds": 21_600,
    }
    return RemoteJob.model_validate(document | fields)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "6 hours"),
        ({"interval_minutes": 1}, "1 hour (now 6 h)"),
        ({"interval_type": "days", "current_interval_seconds": 518_400}, "6 days"),
        ({"current_interval_seconds": 86_400}, "6 hours (now 24 h)"),
        ({"interval_minutes": None}, "once"),
        ({"schedule_enabled": False}, "once"),
    ],
)
def test_an_interval_is_shown_with_the_one_in_force(fields: dict[str, Any], text: str) -> None:
    assert interval_text(a_job(**fields)) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (90, "90 s"), (1800, "30 min"), (7200, "2 h"), (86_400, "24 h")]
)
def test_a_duration_has_one_unit(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_empty_fields_are_left_out() -> None:
    fields = job_fields(a_job(next_run_at="2026-11-20T18:00:00Z"))

    assert fields["next run"] == "2026-11-20 18:00:00"
    assert fields["source"] == "none: its runs will fail"
    assert "error" not in fields


def test_a_command_shows_the_state_and_the_next_run() -> None:
    assert action_text(a_job()) == "job j1 is scheduled"
    assert (
        action_text(a_job(next_run_at="2026-11-20T18:00:00Z"))
        == "job j1 is scheduled; next run 2026-11-20 18:00:00"
    )


@pytest.mark.parametrize(("slot", "text"), [(0, "00:00"), (5, "01:15"), (95, "23:45")])
def test_a_slot_is_a_time_of_the_day(slot: int, text: str) -> None:
    assert slot_text(slot) == text


def test_a_run_under_way_has_its_progress_instead_of_pages() -> None:
    """Its pages are counted at its end: a 0 would be wrong."""
    document = {"id": "j1-2", "job_id": "j1", "execution_number": 2, "started_at": "2026-11-20T12:00:00Z"}
    running = RemoteExecution.model_validate(document | {"status": "running"})
    ended = RemoteExecution.model_validate(document | {"status": "failed", "error_message": "no page"})
    run = RemoteRun(execution_id="j1-2", state="paused", open=1, accepted=41)

    assert execution_row(running, progress_text(run))[3:] == (
        *("-", "-", "-"),
        "41 URLs accepted, 40 closed, 1 open; paused",
    )
    assert execution_row(ended)[4:] == ("0", "0", "no page")
