"""Jobs of a source that is disabled and enabled again."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from strider.contracts.generated.enums import JobState
from strider.jobs.lifecycle import act_on, finish_job, follow_source
from strider.jobs.models import PAUSED_BY_SOURCE, ExecutionResult, Job
from strider.jobs.states import ExecutionState, JobAction

from .builders import EMPTY, HOUR_MS, MINUTE_MS, NOW_MS, a_job

WAITS = ExecutionResult(
    outcome=ExecutionState.FAILED, error_message="the source is disabled", waits_for_source=True
)


def _follow(job: Job, *, is_enabled: bool) -> Job:
    return follow_source(job, is_enabled=is_enabled, loads=EMPTY, now_ms=NOW_MS)


def _running(**fields: object) -> Job:
    return replace(a_job(**fields), state=JobState.RUNNING, next_run_at_ms=None, lock_token="a")


@pytest.mark.parametrize("minutes", [None, 30])
def test_a_job_that_would_run_is_paused_with_its_source_and_resumed_with_it(minutes: int | None) -> None:
    job = a_job(interval_minutes=minutes)

    paused = _follow(job, is_enabled=False)
    resumed = _follow(paused, is_enabled=True)

    assert (paused.state, paused.is_paused, paused.paused_by) == (JobState.PAUSED, True, PAUSED_BY_SOURCE)
    assert (paused.next_run_at_ms, paused.paused_at_ms) == (None, NOW_MS)
    assert (resumed.state, resumed.is_paused, resumed.paused_by) == (JobState.SCHEDULED, False, "")
    assert resumed.next_run_at_ms is not None
    assert resumed.next_run_at_ms <= NOW_MS + HOUR_MS
    assert _follow(paused, is_enabled=False) is paused
    assert _follow(resumed, is_enabled=True) is resumed


def test_what_a_person_did_stays() -> None:
    paused = act_on(a_job(interval_minutes=30), JobAction.PAUSE, loads=EMPTY, now_ms=NOW_MS)
    cancelled = act_on(a_job(), JobAction.CANCEL, loads=EMPTY, now_ms=NOW_MS)
    by_source = _follow(a_job(interval_minutes=30), is_enabled=False)

    for job in (paused, cancelled):
        assert _follow(_follow(job, is_enabled=False), is_enabled=True) is job
    for action in (JobAction.RESUME, JobAction.CANCEL):
        assert act_on(by_source, action, loads=EMPTY, now_ms=NOW_MS).paused_by == ""


@pytest.mark.parametrize("outcome", [ExecutionState.COMPLETED, ExecutionState.FAILED])
def test_a_run_that_ends_while_its_source_is_disabled_pauses_its_job(outcome: ExecutionState) -> None:
    job = _running(interval_minutes=30)
    assert _follow(job, is_enabled=False) is job

    ended = finish_job(job, ExecutionResult(outcome=outcome), now_ms=NOW_MS, is_source_enabled=False)

    assert (ended.state, ended.paused_by, ended.lock_token) == (JobState.PAUSED, PAUSED_BY_SOURCE, None)
    assert _follow(ended, is_enabled=True).state is JobState.SCHEDULED


def test_a_one_time_job_whose_run_has_ended_is_over() -> None:
    done = ExecutionResult(outcome=ExecutionState.COMPLETED)

    ended = finish_job(_running(), done, now_ms=NOW_MS, is_source_enabled=False)

    assert (ended.state, ended.is_paused) == (JobState.COMPLETED, False)


@pytest.mark.parametrize("known", [None, False])
def test_a_launch_that_a_disabled_source_refused_uses_up_no_retry(known: bool | None) -> None:
    job = _running(max_retries=0)

    ended = finish_job(job, WAITS, now_ms=NOW_MS, is_source_enabled=known)

    assert (ended.state, ended.paused_by, ended.current_retry_count) == (
        JobState.PAUSED,
        PAUSED_BY_SOURCE,
        0,
    )
    assert ended.error_message == "the source is disabled"


def test_a_source_that_is_enabled_again_before_the_refusal_is_stored_delays_its_job_by_one_back_off() -> None:
    """The topic may be behind the record: nothing would resume the job later."""
    ended = finish_job(_running(interval_minutes=30), WAITS, now_ms=NOW_MS, is_source_enabled=True)

    assert (ended.state, ended.next_run_at_ms) == (JobState.SCHEDULED, NOW_MS + MINUTE_MS)


@pytest.mark.parametrize("order", list(permutations(["disable", "end", "enable"])))
def test_in_any_order_the_job_of_an_enabled_source_is_scheduled(order: tuple[str, ...]) -> None:
    """Of the two changes of the source the one that is applied last counts."""
    job, is_enabled = _running(interval_minutes=30), True
    for step in order:
        if step == "end":
            done = ExecutionResult(outcome=ExecutionState.COMPLETED)
            job = finish_job(job, done, now_ms=NOW_MS, is_source_enabled=is_enabled)
        else:
            is_enabled = step == "enable"
            job = _follow(job, is_enabled=is_enabled)

    assert job.state is (JobState.SCHEDULED if is_enabled else JobState.PAUSED)
