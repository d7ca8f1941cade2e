"""Commands about runs: their keys, what excludes them, and the states that are shown."""

from __future__ import annotations

from typing import Any

import pytest

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.crawl.runs.commands import (
    excluding_state,
    is_shared_run,
    new_command,
    shown_state,
    state_after,
)
from strider.crawl.runs.control import RunControl, RunState


def a_command(what: str, **about: Any) -> Any:
    return new_command(JobEventKind(what), by="ann", now_ms=5, **({"execution_id": "run"} | about))


def test_a_close_is_about_the_run_whatever_its_job() -> None:
    assert a_command("close", job_id="a").event_id == a_command("close").event_id
    assert a_command("pause", job_id="a").event_id != a_command("pause").event_id
    assert a_command("pause").event_id == a_command("resume").event_id, "the later one replaces the earlier"


@pytest.mark.parametrize(
    ("what", "states", "excluded_by"),
    [
        ("resume", {"cancelled"}, RunState.CANCELLED),
        ("pause", {"completed"}, RunState.COMPLETED),
        ("cancel", {"dropped"}, RunState.DROPPED),
        ("cancel", {"cancelled"}, None),
        ("drop", {"cancelled"}, None),
        ("pause", {"cancelled", "running"}, None),
        ("pause", {"running"}, None),
    ],
)
def test_what_cannot_be_undone_excludes_a_command(
    what: str, states: set[str], excluded_by: RunState | None
) -> None:
    assert excluding_state(JobEventKind(what), states) is excluded_by


@pytest.mark.parametrize(
    ("commands", "state"),
    [
        ([], "running"),
        (["close"], "closed"),
        (["close", "pause"], "paused"),
        (["close", "cancel"], "cancelled"),
        (["pause", "resume"], "running"),
    ],
)
def test_the_state_of_a_run_as_it_is_shown(commands: list[str], state: str) -> None:
    control = RunControl()
    for what in commands:
        control.apply(a_command(what))

    found = shown_state(control, "job", "run")
    assert (found.state, found.by) == (state, "ann" if state != "running" or commands else "")


def test_a_command_names_the_state_that_it_leads_to() -> None:
    commands = ("close", "pause", "resume", "cancel", "drop")

    states = [state_after(JobEventKind(what)) for what in commands]
    assert states == ["closed", "paused", "running", "cancelled", "dropped"]


def test_runs_of_the_standing_job_are_shared() -> None:
    assert is_shared_run("adhoc-1")
    assert not is_shared_run("adhocracy")
