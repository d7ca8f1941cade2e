"""States of jobs and executions, and the only legal transitions.

Pure. Everything that changes the state of a job calls `transition` or `apply_action` here, so that a
transition which is not in `TRANSITIONS` cannot be stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from strider.contracts.generated.enums import JobState

from .errors import IllegalTransition

TRANSITIONS: Final[Mapping[JobState, Mapping[JobState, str]]] = {
    JobState.PENDING: {
        JobState.SCHEDULED: "its first run is planned",
        JobState.RUNNING: "a one-time or retried job is due",
        JobState.CANCELLED: "cancel",
    },
    JobState.SCHEDULED: {
        JobState.RUNNING: "it is due",
        JobState.PAUSED: "pause",
        JobState.CANCELLED: "cancel",
    },
    JobState.RUNNING: {
        JobState.COMPLETED: "its run has ended",
        JobState.FAILED: "its run failed, and is not tried again",
        JobState.SCHEDULED: "its run failed and is tried again, or was cancelled alone",
        JobState.CANCELLED: "cancel",
    },
    JobState.PAUSED: {JobState.SCHEDULED: "resume", JobState.CANCELLED: "cancel"},
    JobState.COMPLETED: {JobState.SCHEDULED: "it recurs"},
    JobState.FAILED: {JobState.PENDING: "retry"},
    JobState.CANCELLED: {},
}
"""For each state, the states that a job may enter from it, and when it does."""


class JobAction(StrEnum):
    """Commands of people about a job."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RETRY = "retry"
    FORCE_RUN = "force-run"


class ExecutionState(StrEnum):
    """State of one execution of a job."""

    RUNNING = "running"
    """It was claimed; its run is being launched, or has not ended."""
    COMPLETED = "completed"
    """Its run has ended."""
    FAILED = "failed"
    """It could not be launched, or its run failed."""
    CANCELLED = "cancelled"
    """An operator cancelled it."""


ACTIONS: Final[Mapping[JobAction, tuple[frozenset[JobState], JobState]]] = {
    JobAction.PAUSE: (frozenset({JobState.SCHEDULED}), JobState.PAUSED),
    JobAction.RESUME: (frozenset({JobState.PAUSED}), JobState.SCHEDULED),
    JobAction.CANCEL: (
        frozenset({JobState.SCHEDULED, JobState.RUNNING, JobState.PAUSED, JobState.PENDING}),
        JobState.CANCELLED,
    ),
    JobAction.RETRY: (frozenset({JobState.FAILED}), JobState.PENDING),
    JobAction.FORCE_RUN: (frozenset({JobState.SCHEDULED}), JobState.SCHEDULED),
}
"""For each action, the states that it is allowed in, and the state that follows.

A forced run is due at once and stays scheduled until a scheduler claims it.
"""

CLAIMABLE: Final = frozenset({JobState.PENDING, JobState.SCHEDULED})
"""States in which a job that is due is claimed."""


def allowed_actions(state: JobState) -> tuple[JobAction, ...]:
    """Return the actions that are allowed in a state."""
    return tuple(action for action, (origins, _) in ACTIONS.items() if state in origins)


def apply_action(job_id: str, state: JobState, action: JobAction) -> JobState:
    """Return the state that an action leads to; IllegalTransition where it is not allowed."""
    origins, target = ACTIONS[action]
    if state not in origins:
        raise IllegalTransition(job_id, state, action, allowed=allowed_actions(state))
    return target


def transition(job_id: str, state: JobState, *path: JobState) -> JobState:
    """Return the last state of a path of transitions; IllegalTransition where one is not legal."""
    for target in path:
        if target not in TRANSITIONS[state]:
            raise IllegalTransition(job_id, state, f"become {target}", allowed=TRANSITIONS[state])
        state = target
    return state


def is_final(state: JobState, *, is_recurring: bool) -> bool:
    """Whether a job in this state runs again only by a command, or never."""
    if state is JobState.COMPLETED:
        return not is_recurring
    return state in {JobState.FAILED, JobState.CANCELLED}
