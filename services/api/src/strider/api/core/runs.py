"""Runs as the API shows them, and whether a command about one applies.

Takes the state of all runs by their commands, and what the frontier has of one. Knows neither topics nor
stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.contracts.seed_names import MAX_NAME_CHARS
from strider.crawl.runs.commands import (
    excluding_state,
    is_shared_run,
    new_command,
    shown_state,
    state_after,
)
from strider.crawl.runs.control import RunControl, RunState

ACCEPTED_COUNT: Final = "accepted"
RUN_COMMANDS: Final = (JobEventKind.CLOSE, JobEventKind.PAUSE, JobEventKind.RESUME, JobEventKind.CANCEL)


class RunCommandRefused(Exception):
    """A command that cannot apply to its run; the text is the reason."""


@dataclass(frozen=True, slots=True)
class FrontierRun:
    """Counts of a run in the frontier."""

    job_id: str = ""
    open: int = 0
    accepted: int = 0
    crawl_spec_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as it is shown."""

    execution_id: str
    job_id: str
    state: str
    by: str
    reason: str
    open: int
    accepted: int
    crawl_spec_ids: tuple[str, ...] = ()
    ended_at_ms: int = 0
    """0 while it has not ended; what follows is known at its end."""
    pages: int = 0
    bytes: int = 0
    seconds: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)


def run_id_fault(execution_id: str) -> str:
    """Return why a text cannot be the id of a run; empty where it can."""
    if len(execution_id) > MAX_NAME_CHARS:
        return f"run: has {len(execution_id)} characters, the limit is {MAX_NAME_CHARS}"
    if not execution_id.isprintable() or any(each in "{} " for each in execution_id):
        return "run: contains a blank, a brace or a control character"
    return ""


def is_known(control: RunControl, execution_id: str) -> bool:
    """Whether there is any command about a run, or its end."""
    closing, ended = control.closing_of(execution_id), control.completion_of(execution_id)
    return closing is not None or ended is not None or control.affects([execution_id])


def open_run(execution_id: str, found: FrontierRun, control: RunControl) -> RunRecord:
    """Return a run that has not ended."""
    shown = shown_state(control, found.job_id, execution_id)
    return RunRecord(
        execution_id,
        found.job_id,
        shown.state,
        shown.by,
        shown.reason,
        found.open,
        found.accepted,
        found.crawl_spec_ids,
    )


def ended_run(end: JobEvent) -> RunRecord:
    """Return a run that has ended, by its event."""
    return RunRecord(
        end.execution_id,
        end.job_id,
        end.state_after,
        end.by,
        end.reason,
        open=0,
        accepted=end.counts.get(ACCEPTED_COUNT, 0),
        ended_at_ms=end.at_ms,
        pages=end.pages,
        bytes=end.bytes,
        seconds=end.seconds,
        outcomes={name: count for name, count in end.counts.items() if name != ACCEPTED_COUNT},
    )


def command_about(
    run: RunRecord, what: JobEventKind, *, by: str, reason: str, now_ms: int
) -> JobEvent | None:
    """Return a command about a run; None where it has taken effect already. Raises RunCommandRefused."""
    name = run.execution_id
    if what is JobEventKind.CLOSE:
        if is_shared_run(name):
            raise RunCommandRefused(f"{name} is a run that senders share: name one of your own in its seeds")
        is_closed = run.ended_at_ms or run.state in {RunState.CANCELLED, state_after(what)}
        return None if is_closed else new_command(what, by=by, now_ms=now_ms, execution_id=name)
    if (final := excluding_state(what, {run.state})) is not None:
        raise RunCommandRefused(f"{name} was {final.value}, which cannot be undone: {what.value} is refused")
    # A resume wakes entries that sleep by a pause that the log no longer has: it is never superfluous.
    if run.state == state_after(what) and what is not JobEventKind.RESUME:
        return None
    return new_command(what, by=by, now_ms=now_ms, job_id=run.job_id, execution_id=name, reason=reason)
