"""Lives of jobs: what follows from a creation, an action, a change and the end of an execution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.generated.enums import JobState
from strider.jobs.errors import IllegalTransition, InvalidJobField
from strider.jobs.lifecycle import act_on, change_job, finish_job, slot_in_use
from strider.jobs.models import ExecutionResult, Job
from strider.jobs.slots import slot_of
from strider.jobs.states import ExecutionState, JobAction

from .builders import EMPTY, HOUR_MS, MINUTE_MS, NOW_MS, a_job

COMPLETED = ExecutionResult(outcome=ExecutionState.COMPLETED)
FAILED = ExecutionResult(outcome=ExecutionState.FAILED, error_message="source news is missing")
CANCELLED = ExecutionResult(outcome=ExecutionState.CANCELLED)


def _running(**fields: Any) -> Job:
    return replace(a_job(**fields), state=JobState.RUNNING, next_run_at_ms=None, execution_count=1)


def _act(job: Job, action: JobAction, *, now_ms: int = NOW_MS) -> Job:
    return act_on(job, action, loads=EMPTY, now_ms=now_ms)


@pytest.mark.req("S1.15.2", part="the new job")
def test_a_new_job_is_due_at_once_or_scheduled() -> None:
    once, recurring = a_job(), a_job(interval_minutes=6, interval_type="hours")

    assert (once.state, once.next_run_at_ms, slot_in_use(once)) == (JobState.PENDING, NOW_MS, None)
    assert recurring.state is JobState.SCHEDULED
    assert recurring.next_run_at_ms == recurring.phase_at_ms is not None
    assert slot_in_use(recurring) == slot_of(recurring.phase_at_ms)


@pytest.mark.req("S1.10.4", part="after a completed run")
def test_a_completed_run_is_followed_by_the_next_of_the_phase() -> None:
    job = _running(interval_minutes=60)

    ended = finish_job(job, COMPLETED, now_ms=NOW_MS + 3 * HOUR_MS)

    assert ended.state is JobState.SCHEDULED
    assert ended.next_run_at_ms is not None
    assert job.phase_at_ms is not None
    assert (ended.next_run_at_ms - job.phase_at_ms) % HOUR_MS == 0
    assert NOW_MS + 3 * HOUR_MS < ended.next_run_at_ms <= NOW_MS + 4 * HOUR_MS


@pytest.mark.req("S0.2.12", "S0.2.14", part="the next run")
def test_the_adaptive_interval_counts_unless_the_job_opts_out() -> None:
    result = replace(COMPLETED, next_interval_seconds=7200)
    adaptive, fixed = _running(interval_minutes=30), _running(interval_minutes=30, adaptive_scheduling=False)

    assert finish_job(adaptive, result, now_ms=NOW_MS).current_interval_seconds == 7200
    assert finish_job(fixed, result, now_ms=NOW_MS).current_interval_seconds == 1800


def test_a_job_without_an_interval_is_completed_for_good() -> None:
    ended = finish_job(_running(), COMPLETED, now_ms=NOW_MS)

    assert (ended.state, ended.next_run_at_ms) == (JobState.COMPLETED, None)


def test_a_permanent_failure_is_not_retried() -> None:
    """A recurring job waits for its next regular run, any other one has failed."""
    permanent = replace(FAILED, is_permanent=True)
    once, recurring = _running(), replace(_running(interval_minutes=60), current_retry_count=2)

    ended = finish_job(once, permanent, now_ms=NOW_MS)
    waiting = finish_job(recurring, permanent, now_ms=NOW_MS + 3 * HOUR_MS)

    assert (ended.state, ended.next_run_at_ms) == (JobState.FAILED, None)
    assert (waiting.state, waiting.current_retry_count) == (JobState.SCHEDULED, 0)
    assert waiting.error_message == FAILED.error_message
    assert waiting.next_run_at_ms is not None
    assert recurring.phase_at_ms is not None
    assert (waiting.next_run_at_ms - recurring.phase_at_ms) % HOUR_MS == 0
    assert NOW_MS + 3 * HOUR_MS < waiting.next_run_at_ms <= NOW_MS + 4 * HOUR_MS


@pytest.mark.req("S1.11.1", "S1.11.2", part="the waits of a job")
def test_failures_are_retried_after_growing_waits_and_then_final() -> None:
    job, waits = _running(interval_minutes=60), []
    for _ in range(job.max_retries):
        job = finish_job(replace(job, state=JobState.RUNNING), FAILED, now_ms=NOW_MS)
        assert job.state is JobState.SCHEDULED
        assert job.next_run_at_ms is not None
        waits.append((job.next_run_at_ms - NOW_MS) // 1000)
    last = finish_job(replace(job, state=JobState.RUNNING), FAILED, now_ms=NOW_MS)

    assert waits == [60, 120, 240]
    assert (last.state, last.next_run_at_ms, last.error_message) == (
        JobState.FAILED,
        None,
        FAILED.error_message,
    )


@pytest.mark.req("S0.2.15", part="the interval of a job")
def test_a_failure_leaves_the_interval_and_the_phase() -> None:
    job = replace(_running(interval_minutes=30), current_interval_seconds=7200)

    failed = finish_job(job, FAILED, now_ms=NOW_MS)

    assert (failed.current_interval_seconds, failed.phase_at_ms) == (7200, job.phase_at_ms)


@pytest.mark.req("S1.11.3", part="the job after a retry")
def test_a_retry_by_hand_begins_again() -> None:
    failed = replace(a_job(), state=JobState.FAILED, current_retry_count=3, next_run_at_ms=None)

    retried = _act(failed, JobAction.RETRY)

    assert (retried.state, retried.current_retry_count, retried.next_run_at_ms) == (
        JobState.PENDING,
        0,
        NOW_MS,
    )


@pytest.mark.req("S1.10.3", part="the choice of the slot")
def test_a_resumed_job_has_a_new_slot() -> None:
    paused = _act(a_job(interval_minutes=1, interval_type="days"), JobAction.PAUSE)
    loads = [1.0] * 96
    loads[7] = 0.0

    resumed = act_on(paused, JobAction.RESUME, loads=loads, now_ms=NOW_MS + HOUR_MS)

    assert (paused.is_paused, paused.next_run_at_ms, slot_in_use(paused)) == (True, None, None)
    assert (resumed.state, slot_in_use(resumed)) == (JobState.SCHEDULED, 7)


@pytest.mark.req("S1.1.8", part="the job after it")
def test_a_forced_run_is_due_now_and_keeps_the_phase() -> None:
    job = a_job(interval_minutes=6, interval_type="hours")

    forced = _act(job, JobAction.FORCE_RUN)
    ended = finish_job(replace(forced, state=JobState.RUNNING), COMPLETED, now_ms=NOW_MS + MINUTE_MS // 2)

    assert (forced.next_run_at_ms, forced.phase_at_ms) == (NOW_MS, job.phase_at_ms)
    assert ended.next_run_at_ms is not None
    assert job.phase_at_ms is not None
    assert (ended.next_run_at_ms - job.phase_at_ms) % (6 * HOUR_MS) == 0


def test_the_end_of_a_cancelled_jobs_run_changes_its_lock_alone() -> None:
    cancelled = _act(replace(_running(interval_minutes=60), lock_token="a"), JobAction.CANCEL)

    ended = finish_job(cancelled, COMPLETED, now_ms=NOW_MS)

    assert ended == replace(cancelled, lock_token=None, lock_acquired_at_ms=None)


def test_a_run_that_was_cancelled_alone_leaves_the_schedule() -> None:
    assert finish_job(_running(interval_minutes=60), CANCELLED, now_ms=NOW_MS).state is JobState.SCHEDULED
    assert finish_job(_running(), CANCELLED, now_ms=NOW_MS).state is JobState.CANCELLED


def test_a_changed_interval_plans_another_next_run() -> None:
    job = a_job(interval_minutes=1, interval_type="days")

    changed = change_job(job, {"interval_minutes": 1, "interval_type": "hours"}, loads=EMPTY, now_ms=NOW_MS)  # type: ignore[typeddict-item]

    assert changed.version == job.version + 1
    assert changed.current_interval_seconds == 3600
    assert changed.next_run_at_ms is not None
    assert NOW_MS <= changed.next_run_at_ms < NOW_MS + HOUR_MS


def test_a_finished_job_that_gets_an_interval_is_scheduled() -> None:
    done = finish_job(_running(), COMPLETED, now_ms=NOW_MS)

    changed = change_job(done, {"interval_minutes": 30}, loads=EMPTY, now_ms=NOW_MS)

    assert changed.state is JobState.SCHEDULED
    assert changed.is_recurring


def test_other_changes_leave_the_next_run() -> None:
    job = a_job(interval_minutes=60)

    changed = change_job(job, {"max_retries": 5}, loads=EMPTY, now_ms=NOW_MS)

    assert changed == replace(job, max_retries=5, version=2)


def test_an_opt_out_returns_to_the_own_interval_at_once() -> None:
    job = a_job(interval_minutes=30)
    slow = finish_job(
        replace(job, state=JobState.RUNNING),
        replace(COMPLETED, next_interval_seconds=86_400),
        now_ms=NOW_MS + HOUR_MS,
    )

    changed = change_job(slow, {"adaptive_scheduling": False}, loads=EMPTY, now_ms=NOW_MS + HOUR_MS)

    assert changed.next_run_at_ms is not None
    assert slow.next_run_at_ms is not None
    assert changed.next_run_at_ms - NOW_MS - HOUR_MS <= 30 * MINUTE_MS
    assert (slow.next_run_at_ms - changed.next_run_at_ms) % (30 * MINUTE_MS) == 0


def test_a_change_that_contradicts_or_is_too_late_is_refused() -> None:
    with pytest.raises(InvalidJobField, match=r"^interval_minutes: "):
        change_job(a_job(), {"schedule_enabled": True}, loads=EMPTY, now_ms=NOW_MS)
    with pytest.raises(IllegalTransition, match="is cancelled and cannot change"):
        change_job(_act(a_job(), JobAction.CANCEL), {"max_retries": 1}, loads=EMPTY, now_ms=NOW_MS)


@given(st.lists(st.sampled_from([*JobAction, *ExecutionState, "claim"]), max_size=30), st.booleans())
def test_no_sequence_of_events_leaves_a_job_that_waits_for_nothing(events: list[str], recurs: bool) -> None:
    """A job that is due some day has a time; one that is not has none."""
    job, now = a_job(interval_minutes=30) if recurs else a_job(), NOW_MS
    for event in events:
        now += MINUTE_MS
        if event in set(JobAction):
            try:
                job = _act(job, JobAction(event), now_ms=now)
            except IllegalTransition:
                continue
        elif event == "claim" and job.next_run_at_ms is not None:
            job = replace(job, state=JobState.RUNNING, next_run_at_ms=None)
        elif event in {"completed", "failed", "cancelled"} and job.state is JobState.RUNNING:
            job = finish_job(job, ExecutionResult(outcome=ExecutionState(event)), now_ms=now)
        waits = job.state in {JobState.PENDING, JobState.SCHEDULED}
        assert (job.next_run_at_ms is not None) == waits
        assert job.is_paused == (job.state is JobState.PAUSED)
        assert (slot_in_use(job) is not None) == (recurs and (waits or job.state is JobState.RUNNING))
