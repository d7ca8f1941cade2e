"""States and transitions: exactly those of the design, and a sentence for every other."""

from __future__ import annotations

from itertools import product

import pytest

from strider.contracts.generated.enums import JobState
from strider.jobs.errors import IllegalTransition
from strider.jobs.states import (
    ACTIONS,
    TRANSITIONS,
    JobAction,
    allowed_actions,
    apply_action,
    is_final,
    transition,
)

LEGAL = {
    *(("pending", each) for each in ("scheduled", "running", "cancelled")),
    *(("scheduled", each) for each in ("running", "paused", "cancelled")),
    *(("running", each) for each in ("completed", "failed", "scheduled", "cancelled")),
    *(("paused", each) for each in ("scheduled", "cancelled")),
    ("completed", "scheduled"),
    ("failed", "pending"),
}
ALLOWED = {
    "pause": {"scheduled"},
    "resume": {"paused"},
    "cancel": {"scheduled", "running", "paused", "pending"},
    "retry": {"failed"},
    "force-run": {"scheduled"},
}


@pytest.mark.req("S1.5.1", "S1.2.14", "S1.16.1")
def test_there_are_seven_states_each_with_its_transitions() -> None:
    assert set(TRANSITIONS) == set(JobState)
    assert len(JobState) == 7


@pytest.mark.req("S1.16.1", "S1.5.12")
@pytest.mark.parametrize(("before", "after"), list(product(JobState, JobState)))
def test_a_transition_is_legal_or_refused_with_what_is_allowed(before: JobState, after: JobState) -> None:
    if (before, after) in LEGAL:
        assert transition("job-1", before, after) is after
        return
    with pytest.raises(IllegalTransition) as refused:
        transition("job-1", before, after)

    assert set(refused.value.allowed) == {legal for origin, legal in LEGAL if origin == before}
    assert f"job job-1 is {before} and cannot become {after}; allowed now: " in str(refused.value)


@pytest.mark.parametrize(("state", "action"), list(product(JobState, JobAction)))
def test_an_action_is_allowed_in_its_states_alone(state: JobState, action: JobAction) -> None:
    if state in ALLOWED[action]:
        assert apply_action("job-1", state, action) is ACTIONS[action][1]
        return
    with pytest.raises(IllegalTransition, match=f"job job-1 is {state} and cannot {action}") as refused:
        apply_action("job-1", state, action)

    assert set(refused.value.allowed) == {each for each, states in ALLOWED.items() if state in states}


def test_every_action_but_a_forced_run_follows_a_transition() -> None:
    for action, (origins, target) in ACTIONS.items():
        if action is not JobAction.FORCE_RUN:
            assert all(target in TRANSITIONS[origin] for origin in origins), action


def test_the_sentence_of_a_final_state_names_no_action() -> None:
    with pytest.raises(IllegalTransition, match="allowed now: nothing: this state is final"):
        apply_action("job-1", JobState.CANCELLED, JobAction.PAUSE)

    assert allowed_actions(JobState.CANCELLED) == ()


@pytest.mark.req("S1.5.11")
def test_final_states() -> None:
    once = {state for state in JobState if is_final(state, is_recurring=False)}
    recurring = {state for state in JobState if is_final(state, is_recurring=True)}

    assert once == {"completed", "failed", "cancelled"}
    assert recurring == {"failed", "cancelled"}
