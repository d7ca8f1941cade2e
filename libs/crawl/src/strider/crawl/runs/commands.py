"""Commands about runs and hosts: how one is written, and where it cannot apply.

The key on job-commands is derived from what a command is about, so that a later one replaces an earlier one.
Knows nothing of entries, stores or topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.contracts.ids import ADHOC_JOB_ID, command_id

from .control import STATE_COMMANDS, RunControl, RunState

SUBJECT_IS_RUN: Final = frozenset({JobEventKind.CLOSE, JobEventKind.RUN_COMPLETED})
"""Kinds whose subject is the run alone, whatever its job."""

CLOSED: Final = "closed"
"""State of a run that continues without further seeds, until nothing of it is open."""

_IMPOSSIBLE_AFTER: Final[Mapping[RunState, AbstractSet[JobEventKind]]] = {
    RunState.CANCELLED: frozenset({JobEventKind.RESUME, JobEventKind.PAUSE}),
    RunState.DROPPED: frozenset({JobEventKind.RESUME, JobEventKind.PAUSE, JobEventKind.CANCEL}),
    RunState.COMPLETED: frozenset({JobEventKind.RESUME, JobEventKind.PAUSE, JobEventKind.CANCEL}),
}
"""Commands that a state excludes which cannot be undone."""


@dataclass(frozen=True, slots=True)
class ShownState:
    """State of a run as it is shown to people, and who brought it about."""

    state: str
    by: str = ""
    reason: str = ""


def new_command(what: JobEventKind, *, by: str, now_ms: int, **about: Any) -> JobEvent:
    """Return a command as it is published on job-commands."""
    return with_command_id(JobEvent(event_id="", what=what.value, is_wish=True, at_ms=now_ms, by=by, **about))


def with_command_id(event: JobEvent) -> JobEvent:
    """Return a command with the id that is its key on job-commands."""
    return replace(
        event,
        event_id=command_id(
            event.what,
            job_id="" if event.what in SUBJECT_IS_RUN else event.job_id,
            execution_id=event.execution_id,
            crawl_spec_id=event.crawl_spec_id,
            group=event.group,
            url_key=event.url_key,
        ),
    )


def command_record(event: JobEvent) -> JobEvent:
    """Return a command or fact as job-commands keeps it: without start pages, as every scheduler holds all
    records in memory for months.
    """
    return replace(
        with_command_id(event), start_pages=0, start_url_keys=(), start_raw_hashes=(), start_text_hashes=()
    )


def shown_state(control: RunControl, job_id: str, execution_id: str) -> ShownState:
    """Return the state of a run, by all commands about it and its job."""
    directive, closing = control.directive_for(job_id, execution_id), control.closing_of(execution_id)
    if closing is not None and directive.state is RunState.RUNS:
        return ShownState(CLOSED, closing.by, closing.reason)
    return ShownState(run_state_name(directive.state), directive.by, directive.reason)


def run_state_name(state: RunState) -> str:
    """Return the state of a run as it is printed, in tables and in JSON."""
    return "running" if state is RunState.RUNS else state.value


def state_after(what: JobEventKind) -> str:
    """Return the name of the state that a command puts a run into."""
    return CLOSED if what is JobEventKind.CLOSE else run_state_name(STATE_COMMANDS[what])


def excluding_state(what: JobEventKind, states: AbstractSet[str]) -> RunState | None:
    """Return the state that excludes a command about runs that are all in it; None where none does."""
    for final, impossible in _IMPOSSIBLE_AFTER.items():
        if what in impossible and states == {final.value}:
            return final
    return None


def is_shared_run(execution_id: str) -> bool:
    """Whether a run is one of the ad-hoc job, which senders share, so that no sender may close it."""
    return execution_id.startswith(f"{ADHOC_JOB_ID}-")
