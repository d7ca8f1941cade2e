"""Claims in PostgreSQL: one execution for each due job, locks that go stale, ends that are stored once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.enums import JobState
from strider.jobs.models import ExecutionResult, Job, NewJob
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.states import ExecutionState, JobAction

NOW_MS = 1_763_640_000_000
MINUTE_MS = 60_000
STALE_MS = 5 * MINUTE_MS
DONE = ExecutionResult(
    outcome=ExecutionState.COMPLETED, items_crawled=9, items_indexed=8, bytes_fetched=7, counts={"fetched": 9}
)
FAILED = ExecutionResult(outcome=ExecutionState.FAILED, error_message="it failed", stack_trace="at line 1")


async def _create(store: PostgresJobStore, **fields: Any) -> Job:
    return await store.create(NewJob(**{"url": "https://example.com/", **fields}), now_ms=NOW_MS)


@pytest.mark.req("S1.6.1", "S1.7.2", "S1.19.7", part="the record")
async def test_a_claim_locks_the_job_and_inserts_its_execution(store: PostgresJobStore) -> None:
    made = await _create(store)

    (launch,) = await store.claim_due(now_ms=NOW_MS, limit=10, token="a")

    assert (launch.job.state, launch.job.lock_token) == (JobState.RUNNING, "a")
    assert launch.execution.execution_id == f"{made.job_id}-1"
    assert launch.execution.state is ExecutionState.RUNNING
    assert launch.execution.scheduled_for_ms == made.next_run_at_ms
    assert await store.get(made.job_id) == launch.job
    assert await store.execution(launch.execution.execution_id) == launch.execution
    assert await store.claim_due(now_ms=NOW_MS + 10**6, limit=10, token="b") == []


@pytest.mark.req("S1.7.1", part="which jobs are claimed")
async def test_only_due_jobs_that_are_pending_or_scheduled_are_claimed(store: PostgresJobStore) -> None:
    due, _later = await _create(store), await _create(store, interval_minutes=1, interval_type="days")
    paused = await _create(store, interval_minutes=1)
    await store.act(paused.job_id, JobAction.PAUSE, now_ms=NOW_MS)
    cancelled = await _create(store)
    await store.act(cancelled.job_id, JobAction.CANCEL, now_ms=NOW_MS)

    claimed = await store.claim_due(now_ms=NOW_MS + 1, limit=10, token="a")

    assert [launch.job.job_id for launch in claimed] == [due.job_id]


async def test_claims_at_once_share_what_is_due(store: PostgresJobStore) -> None:
    for _ in range(60):
        await _create(store)

    claims = await asyncio.gather(
        *(store.claim_due(now_ms=NOW_MS, limit=20, token=f"t{number}") for number in range(4))
    )
    claims += [await store.claim_due(now_ms=NOW_MS, limit=100, token="last")]

    ids = [launch.execution.execution_id for each in claims for launch in each]
    assert len(ids) == len(set(ids)) == 60


@pytest.mark.req("S1.6.4", "S1.6.5", "S1.15.3", part="the record")
@pytest.mark.fault("F29", part="the token of a paused holder of a job's lock is refused")
async def test_a_stale_lock_is_taken_over_and_its_first_holder_refused(store: PostgresJobStore) -> None:
    await _create(store)
    (launch,) = await store.claim_due(now_ms=NOW_MS, limit=10, token="first")
    execution_id = launch.execution.execution_id

    async def unlaunched(now_ms: int, token: str) -> list[str]:
        found = await store.claim_unlaunched(now_ms=now_ms, older_than_ms=STALE_MS, limit=10, token=token)
        return [each.execution.execution_id for each in found]

    assert await unlaunched(NOW_MS + STALE_MS - 1, "second") == []
    assert await unlaunched(NOW_MS + STALE_MS, "second") == [execution_id]
    assert await unlaunched(NOW_MS + STALE_MS, "third") == []
    assert not await store.mark_launched([execution_id], token="first", now_ms=NOW_MS + STALE_MS)
    stopped = await store.finish(execution_id, FAILED, now_ms=NOW_MS + STALE_MS, token="first")
    assert stopped is not None
    assert stopped.state is JobState.RUNNING
    assert await store.mark_launched([execution_id], token="second", now_ms=NOW_MS + STALE_MS)
    assert [each.execution_id for each in await store.running()] == [execution_id]


async def test_a_lock_of_the_future_is_stale(store: PostgresJobStore) -> None:
    """The clock was set back since it was taken."""
    await _create(store)
    await store.claim_due(now_ms=NOW_MS, limit=10, token="first")

    found = await store.claim_unlaunched(
        now_ms=NOW_MS - STALE_MS - 1, older_than_ms=STALE_MS, limit=10, token="second"
    )

    assert len(found) == 1


async def test_launches_are_marked_once_and_a_repeat_is_confirmed(store: PostgresJobStore) -> None:
    await _create(store)
    (first,) = await store.claim_due(now_ms=NOW_MS, limit=10, token="a")
    await _create(store)
    (second,) = await store.claim_due(now_ms=NOW_MS, limit=10, token="a")
    await _create(store)
    (other,) = await store.claim_due(now_ms=NOW_MS, limit=10, token="b")
    names = [each.execution.execution_id for each in (first, second, other)]
    own = set(names[:2])

    assert await store.running() == []
    assert await store.mark_launched(names[:1], token="a", now_ms=NOW_MS + 5) == {names[0]}
    assert await store.mark_launched([*names, "none-1"], token="a", now_ms=NOW_MS + 5) == own
    assert await store.mark_launched(names, token="a", now_ms=NOW_MS + 5) == own
    assert await store.mark_launched(names, token="a", now_ms=NOW_MS + 6) == set()
    assert await store.mark_launched([], token="a", now_ms=NOW_MS + 6) == set()
    running = await store.running()
    assert {each.execution_id: each.launched_at_ms for each in running} == dict.fromkeys(own, NOW_MS + 5)
    assert await store.running(after=max(own)) == []


@pytest.mark.req("S1.7.3", "S1.5.2", "S1.19.8", "S1.19.9", "S1.19.10", part="the record")
async def test_the_end_of_an_execution_is_stored_once(store: PostgresJobStore) -> None:
    made = await _create(store, interval_minutes=30)
    due = NOW_MS + 30 * MINUTE_MS
    (launch,) = await store.claim_due(now_ms=due, limit=10, token="a")
    name = launch.execution.execution_id
    await store.mark_launched([name], token="a", now_ms=due)
    result = replace(DONE, cpu_time_ms=4, memory_peak_mb=5, next_interval_seconds=3600)

    ended = await store.finish(name, result, now_ms=due + MINUTE_MS)
    again = await store.finish(name, FAILED, now_ms=due + 2 * MINUTE_MS)
    stored = await store.execution(name)

    assert ended == again == await store.get(made.job_id)
    assert ended is not None
    assert (ended.state, ended.current_interval_seconds) == (JobState.SCHEDULED, 3600)
    assert stored is not None
    assert (stored.state, stored.duration_ms) == (ExecutionState.COMPLETED, MINUTE_MS)
    assert (stored.items_crawled, stored.items_indexed, stored.bytes_fetched) == (9, 8, 7)
    assert (stored.cpu_time_ms, stored.memory_peak_mb, stored.counts) == (4, 5, {"fetched": 9})
    assert await store.finish("none-1", DONE, now_ms=due) is None


@pytest.mark.req("S1.7.4", "S1.11.2", part="the record")
async def test_a_failed_job_is_tried_again_until_its_retries_are_used_up(store: PostgresJobStore) -> None:
    made = await _create(store, max_retries=2, retry_backoff_seconds=10)
    now, attempts = NOW_MS, list[int]()
    for _ in range(3):
        (launch,) = await store.claim_due(now_ms=now, limit=10, token="a")
        attempts.append(launch.execution.retry_attempt)
        job = await store.finish(launch.execution.execution_id, FAILED, now_ms=now, token="a")
        assert job is not None
        now = job.next_run_at_ms or now
    stats = await store.stats(made.job_id)

    assert attempts == [0, 1, 2]
    assert now == NOW_MS + 30_000
    assert (job.state, job.error_message, job.lock_token) == (JobState.FAILED, "it failed", None)
    assert (stats.executions, stats.failed, stats.success_rate) == (3, 3, 0.0)


@pytest.mark.req("S1.5.5", part="the record: from running")
async def test_a_cancelled_run_is_shown_until_it_has_ended(store: PostgresJobStore) -> None:
    made = await _create(store)
    (launch,) = await store.claim_due(now_ms=NOW_MS, limit=10, token="a")
    name = launch.execution.execution_id
    await store.mark_launched([name], token="a", now_ms=NOW_MS)

    cancelled = await store.act(made.job_id, JobAction.CANCEL, now_ms=NOW_MS + 1)
    (running,) = await store.running()
    await store.finish(name, replace(DONE, outcome=ExecutionState.CANCELLED), now_ms=NOW_MS + 2)
    stored = await store.execution(name)

    assert cancelled.state is JobState.CANCELLED
    assert running.cancel_requested_at_ms == NOW_MS + 1
    assert stored is not None
    assert (stored.state, stored.items_crawled) == (ExecutionState.CANCELLED, 9)
    assert await store.running() == []


async def test_a_cancelled_execution_that_may_be_launched_has_its_run_cancelled(
    store: PostgresJobStore,
) -> None:
    """It is unknown whether the process died before or after it had published the run."""
    made = await _create(store)
    (launch,) = await store.claim_due(now_ms=NOW_MS, limit=10, token="dead")
    await store.act(made.job_id, JobAction.CANCEL, now_ms=NOW_MS)

    later = NOW_MS + STALE_MS
    found = await store.claim_unlaunched(now_ms=later, older_than_ms=STALE_MS, limit=10, token="b")
    stored, job = await store.execution(launch.execution.execution_id), await store.get(made.job_id)

    assert found == []
    assert stored is not None
    assert (stored.state, stored.launched_at_ms) == (ExecutionState.RUNNING, later)
    assert await store.running() == [stored]
    assert stored.cancel_requested_at_ms == NOW_MS
    assert job is not None
    assert (job.state, job.lock_token) == (JobState.CANCELLED, None)
