"""Lives of jobs: creation, actions, changes, and the end of an execution. Pure.

Each function takes a job and returns the job that is stored then; `states.py` refuses what is not legal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from strider.contracts.generated.enums import JobState

from .errors import IllegalTransition
from .intervals import RETRY_CAP_SECONDS, interval_seconds, next_regular_run_ms, retry_wait_seconds
from .models import PAUSED_BY_SOURCE, ExecutionResult, Job, JobChange, NewJob
from .slots import choose_phase_ms, slot_of
from .states import CLAIMABLE, ExecutionState, JobAction, apply_action, transition
from .validation import check_schedule

FARTHEST_RUN_MS: Final = 2 * RETRY_CAP_SECONDS * 1000

_ON_SCHEDULE: Final = frozenset({JobState.PENDING, JobState.SCHEDULED, JobState.RUNNING})


def create_job(new: NewJob, job_id: str, *, loads: Sequence[float], now_ms: int) -> Job:
    """Return a new job: due at once if it runs once, else scheduled in the least loaded slot."""
    job = Job(
        job_id=job_id,
        source_id=new.source_id,
        url=new.url,
        name=new.name,
        state=JobState.PENDING,
        interval_minutes=new.interval_minutes,
        interval_type=new.interval_type,
        schedule_enabled=bool(new.schedule_enabled),
        adaptive_scheduling=new.adaptive_scheduling,
        current_interval_seconds=None,
        next_run_at_ms=now_ms,
        phase_at_ms=None,
        moved_at_ms=None,
        is_paused=False,
        paused_at_ms=None,
        paused_by="",
        cancelled_at_ms=None,
        lock_token=None,
        lock_acquired_at_ms=None,
        max_retries=new.max_retries,
        retry_backoff_seconds=new.retry_backoff_seconds,
        current_retry_count=0,
        execution_count=0,
        last_run_at_ms=None,
        error_message="",
        crawl_settings=new.crawl_settings,
        metadata=new.metadata,
        version=1,
        created_by=new.created_by,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )
    if not job.is_recurring:
        return job
    return _placed(replace(job, state=transition(job_id, job.state, JobState.SCHEDULED)), loads, now_ms)


def own_interval_seconds(job: Job) -> int | None:
    """Return the interval that a job has without adaptation; None for one that runs once."""
    if not job.is_recurring:
        return None
    return interval_seconds(job.interval_minutes, job.interval_type)


def slot_in_use(job: Job) -> int | None:
    """Return the slot of a job on schedule; None for others and for jobs that run once."""
    is_counted = job.state in _ON_SCHEDULE and job.is_recurring and job.phase_at_ms is not None
    return slot_of(job.phase_at_ms) if is_counted and job.phase_at_ms is not None else None


def act_on(job: Job, action: JobAction, *, loads: Sequence[float], now_ms: int) -> Job:
    """Return the job after an action; IllegalTransition where its state does not allow it."""
    state = apply_action(job.job_id, job.state, action)
    changed = replace(job, state=state, version=job.version + 1)
    match action:
        case JobAction.PAUSE:
            return replace(changed, is_paused=True, paused_at_ms=now_ms, next_run_at_ms=None)
        case JobAction.RESUME:
            resumed = replace(
                changed, is_paused=False, paused_at_ms=None, paused_by="", next_run_at_ms=now_ms
            )
            return _placed(resumed, loads, now_ms, keep_interval=True) if job.is_recurring else resumed
        case JobAction.CANCEL:
            return replace(
                changed, is_paused=False, paused_by="", cancelled_at_ms=now_ms, next_run_at_ms=None
            )
        case JobAction.RETRY:
            return replace(changed, current_retry_count=0, next_run_at_ms=now_ms)
        case JobAction.FORCE_RUN:
            return replace(changed, next_run_at_ms=now_ms)


def follow_source(job: Job, *, is_enabled: bool, loads: Sequence[float], now_ms: int) -> Job:
    """Return the job as it is while its source is enabled, or disabled.

    A job that would run is paused with its source, and resumed with it. One that runs, that a person has
    paused, or that has ended, stays as it is.
    """
    if is_enabled:
        is_waiting = job.state is JobState.PAUSED and job.paused_by == PAUSED_BY_SOURCE
        return act_on(job, JobAction.RESUME, loads=loads, now_ms=now_ms) if is_waiting else job
    if job.state not in CLAIMABLE:
        return job
    planned = () if job.state is JobState.SCHEDULED else (JobState.SCHEDULED,)
    return replace(
        job,
        state=transition(job.job_id, job.state, *planned, JobState.PAUSED),
        is_paused=True,
        paused_at_ms=now_ms,
        paused_by=PAUSED_BY_SOURCE,
        next_run_at_ms=None,
        version=job.version + 1,
    )


def change_job(job: Job, change: JobChange, *, loads: Sequence[float], now_ms: int) -> Job:
    """Return the job with changed settings (checked ones); a changed schedule gives it another next run.

    A job without an interval from now on runs once more where it is scheduled.
    """
    if job.state is JobState.CANCELLED:
        raise IllegalTransition(job.job_id, job.state, "change")
    fields: dict[str, Any] = dict(change)
    if "schedule_enabled" not in fields and "interval_minutes" in fields:
        fields["schedule_enabled"] = fields["interval_minutes"] is not None
    if fields.get("schedule_enabled") is False:
        fields.setdefault("interval_minutes", None)
    changed = replace(job, **fields, version=job.version + 1)
    check_schedule(changed.interval_minutes, changed, is_enabled=changed.schedule_enabled)
    if own_interval_seconds(changed) != own_interval_seconds(job):
        return _rescheduled(changed, loads, now_ms)
    if not changed.adaptive_scheduling and job.adaptive_scheduling:
        return _without_adaptation(changed, now_ms)
    return changed


def finish_job(
    job: Job, result: ExecutionResult, *, now_ms: int, is_source_enabled: bool | None = None
) -> Job:
    """Return the job after its latest execution has ended; one that is not running keeps its state.

    `is_source_enabled` is None where nothing is known of its source. A job that would run again is paused
    while that is disabled.
    """
    freed = replace(job, lock_token=None, lock_acquired_at_ms=None)
    if job.state is not JobState.RUNNING:
        return freed
    if is_source_enabled is None:
        is_source_enabled = not result.waits_for_source
    ended = _ended(freed, result, now_ms)
    return ended if is_source_enabled else follow_source(ended, is_enabled=False, loads=(), now_ms=now_ms)


def bring_forward(job: Job, *, now_ms: int) -> Job:
    """Return a job whose next run is further away than any is planned: the clock was set back since.

    A regular run is the next one of its phase, any other one is due now.
    """
    if job.next_run_at_ms is None or job.next_run_at_ms - now_ms <= farthest_run_ms(job):
        return job
    if job.current_interval_seconds is None or job.current_retry_count:
        return replace(job, next_run_at_ms=now_ms)
    return _next_regular(job, job.current_interval_seconds, now_ms)


def farthest_run_ms(job: Job) -> int:
    """Return how far away a next run may be: more than a rebalance or a back-off ever makes it."""
    return max(2 * (job.current_interval_seconds or 0) * 1000, FARTHEST_RUN_MS)


def _placed(job: Job, loads: Sequence[float], now_ms: int, *, keep_interval: bool = False) -> Job:
    """Give a recurring job a new slot."""
    own = own_interval_seconds(job) or 1
    seconds = (job.current_interval_seconds or own) if keep_interval else own
    phase = choose_phase_ms(job.job_id, seconds * 1000, loads=loads, now_ms=now_ms)
    return replace(job, current_interval_seconds=seconds, phase_at_ms=phase, next_run_at_ms=phase)


def _rescheduled(job: Job, loads: Sequence[float], now_ms: int) -> Job:
    if not job.is_recurring:
        return replace(job, current_interval_seconds=None, phase_at_ms=None)
    placed = _placed(job, loads, now_ms)
    if job.state in {JobState.PENDING, JobState.COMPLETED}:
        return replace(placed, state=transition(job.job_id, job.state, JobState.SCHEDULED))
    return placed if job.state is JobState.SCHEDULED else replace(placed, next_run_at_ms=job.next_run_at_ms)


def _without_adaptation(job: Job, now_ms: int) -> Job:
    own = own_interval_seconds(job)
    if own is None or job.phase_at_ms is None:
        return job
    changed = replace(job, current_interval_seconds=own)
    if job.state is not JobState.SCHEDULED or job.next_run_at_ms != job.phase_at_ms:
        return changed
    return _next_regular(changed, own, now_ms)


def _next_regular(job: Job, seconds: int, now_ms: int) -> Job:
    phase = now_ms if job.phase_at_ms is None else job.phase_at_ms
    planned = next_regular_run_ms(phase, seconds * 1000, now_ms=now_ms)
    return replace(job, current_interval_seconds=seconds, phase_at_ms=planned, next_run_at_ms=planned)


def _ended(job: Job, result: ExecutionResult, now_ms: int) -> Job:
    match result.outcome:
        case ExecutionState.COMPLETED:
            return _completed(job, result, now_ms)
        case ExecutionState.FAILED if result.waits_for_source:
            return _waiting(job, result, now_ms)
        case ExecutionState.FAILED:
            return _failed(job, result, now_ms)
        case _:
            return _cancelled(job, result, now_ms)


def _completed(job: Job, result: ExecutionResult, now_ms: int) -> Job:
    own = own_interval_seconds(job)
    ended = replace(job, current_retry_count=0, error_message="", next_run_at_ms=None)
    if own is None:
        return replace(ended, state=transition(job.job_id, job.state, JobState.COMPLETED))
    state = transition(job.job_id, job.state, JobState.COMPLETED, JobState.SCHEDULED)
    adapted = result.next_interval_seconds if job.adaptive_scheduling else None
    return _next_regular(replace(ended, state=state), max(adapted or own, 1), now_ms)


def _failed(job: Job, result: ExecutionResult, now_ms: int) -> Job:
    failed = replace(job, error_message=result.error_message)
    if result.is_permanent and job.is_recurring and job.current_interval_seconds is not None:
        state = transition(job.job_id, job.state, JobState.SCHEDULED)
        return _next_regular(
            replace(failed, state=state, current_retry_count=0), job.current_interval_seconds, now_ms
        )
    if result.is_permanent or job.current_retry_count >= job.max_retries:
        return replace(failed, state=transition(job.job_id, job.state, JobState.FAILED), next_run_at_ms=None)
    attempt = job.current_retry_count + 1
    wait_ms = retry_wait_seconds(job.retry_backoff_seconds, attempt) * 1000
    state = transition(job.job_id, job.state, JobState.SCHEDULED)
    return replace(failed, state=state, current_retry_count=attempt, next_run_at_ms=now_ms + wait_ms)


def _waiting(job: Job, result: ExecutionResult, now_ms: int) -> Job:
    """Return the job that could not run because its source was disabled: due again after one back-off."""
    state = transition(job.job_id, job.state, JobState.SCHEDULED)
    wait_ms = retry_wait_seconds(job.retry_backoff_seconds, 1) * 1000
    return replace(job, state=state, error_message=result.error_message, next_run_at_ms=now_ms + wait_ms)


def _cancelled(job: Job, result: ExecutionResult, now_ms: int) -> Job:
    """Return the job after a person has cancelled this run alone."""
    ended = replace(job, error_message=result.error_message, current_retry_count=0)
    if job.current_interval_seconds is None or not job.is_recurring:
        state = transition(job.job_id, job.state, JobState.CANCELLED)
        return replace(ended, state=state, cancelled_at_ms=now_ms, next_run_at_ms=None)
    state = transition(job.job_id, job.state, JobState.SCHEDULED)
    return _next_regular(replace(ended, state=state), job.current_interval_seconds, now_ms)
