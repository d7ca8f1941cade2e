"""Slots, distribution and rebalance, as the record has them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strider.jobs.models import ExecutionResult, JobQuery, NewJob
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.slots import slot_of
from strider.jobs.states import ExecutionState, JobAction
from strider.storage.postgres import Postgres

NOW_MS = 1_763_640_000_000
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAILY = NewJob(url="https://example.com/", interval_minutes=1, interval_type="days")  # type: ignore[arg-type]

CROWD = """
    UPDATE jobs SET phase_at = phase.at, next_run_at = phase.at, slot = 60
      FROM (SELECT to_timestamp(1763640000) + interval '3 hours 5 minutes' AS at) AS phase
"""


@pytest.mark.req("S1.10.2", "S1.10.7", part="the record")
async def test_new_jobs_have_slots_of_their_own(store: PostgresJobStore) -> None:
    for _ in range(96):
        await store.create(DAILY, now_ms=NOW_MS)

    found = await store.distribution(now_ms=NOW_MS)

    assert [slot.jobs for slot in found.slots] == [1] * 96
    assert (found.score, found.jobs) == (1.0, 96)


@pytest.mark.req("S1.10.3", part="the record")
async def test_a_paused_job_leaves_its_slot_and_a_resumed_one_has_the_least_loaded(
    store: PostgresJobStore,
) -> None:
    jobs = [await store.create(DAILY, now_ms=NOW_MS) for _ in range(96)]
    await store.act(jobs[3].job_id, JobAction.PAUSE, now_ms=NOW_MS)
    paused = await store.distribution(now_ms=NOW_MS)
    resumed = await store.act(jobs[3].job_id, JobAction.RESUME, now_ms=NOW_MS)

    empty = [slot.slot for slot in paused.slots if not slot.jobs]
    assert len(empty) == 1
    assert resumed.phase_at_ms is not None
    assert slot_of(resumed.phase_at_ms) == empty[0]


@pytest.mark.req("S1.10.4", part="the record")
async def test_a_run_leaves_the_slot(store: PostgresJobStore) -> None:
    job = await store.create(replace(DAILY, interval_minutes=30, interval_type="minutes"), now_ms=NOW_MS)  # type: ignore[arg-type]
    before = await store.distribution(now_ms=NOW_MS)
    (launch,) = await store.claim_due(now_ms=NOW_MS + HOUR_MS, limit=1, token="a")
    running = await store.distribution(now_ms=NOW_MS)
    done = ExecutionResult(outcome=ExecutionState.COMPLETED)
    after = await store.finish(launch.execution.execution_id, done, now_ms=NOW_MS + 5 * HOUR_MS)

    assert before.jobs == running.jobs == 1
    assert after is not None
    assert job.phase_at_ms is not None
    assert after.next_run_at_ms is not None
    assert (after.next_run_at_ms - job.phase_at_ms) % (30 * MINUTE_MS) == 0


async def test_after_a_clock_that_was_a_year_ahead_jobs_keep_their_phase(store: PostgresJobStore) -> None:
    ahead = NOW_MS + 365 * 24 * HOUR_MS
    daily = await store.create(DAILY, now_ms=ahead)
    once = await store.create(NewJob(url="https://example.com/"), now_ms=ahead)
    weekly = replace(DAILY, interval_minutes=7)
    right = [await store.create(weekly, now_ms=NOW_MS), await store.create(DAILY, now_ms=NOW_MS)]

    assert await store.bring_forward(now_ms=NOW_MS) == 2
    assert await store.bring_forward(now_ms=NOW_MS) == 0
    found = {job.job_id: job for job in (await store.find(JobQuery())).jobs}

    due = found[daily.job_id].next_run_at_ms
    assert due is not None
    assert daily.phase_at_ms is not None
    assert NOW_MS < due <= NOW_MS + 24 * HOUR_MS
    assert (due - daily.phase_at_ms) % (24 * HOUR_MS) == 0
    assert found[once.job_id].next_run_at_ms == NOW_MS
    assert [found[job.job_id] for job in right] == right


@pytest.mark.req("S1.10.8", "S1.18.4", part="the record")
async def test_a_preview_is_the_plan_of_the_rebalance_that_follows(
    postgres: Postgres, store: PostgresJobStore
) -> None:
    for _ in range(24):
        await store.create(DAILY, now_ms=NOW_MS)
    await postgres.run(lambda connection: connection.execute(CROWD))
    before = await store.distribution(now_ms=NOW_MS)

    preview = await store.rebalance_preview(now_ms=NOW_MS)
    unchanged = await store.distribution(now_ms=NOW_MS)
    done = await store.rebalance(now_ms=NOW_MS)
    after = await store.distribution(now_ms=NOW_MS)

    assert before == unchanged
    assert preview.applied == 0
    assert done == replace(preview, applied=23)
    assert max(slot.jobs for slot in after.slots) == 1
    assert after.score == pytest.approx(done.score_after)


@pytest.mark.req("S1.10.5", "S1.10.6", part="the record")
async def test_jobs_that_run_soon_or_were_moved_stay(postgres: Postgres, store: PostgresJobStore) -> None:
    for _ in range(3):
        await store.create(DAILY, now_ms=NOW_MS)
    await postgres.run(lambda connection: connection.execute(CROWD))
    soon = NOW_MS + 3 * HOUR_MS - 25 * MINUTE_MS

    assert (await store.rebalance(now_ms=soon)).moves == ()
    first = await store.rebalance(now_ms=NOW_MS)
    await postgres.run(lambda connection: connection.execute(CROWD))
    within_an_hour = await store.rebalance_preview(now_ms=NOW_MS + HOUR_MS - 1)
    after_an_hour = await store.rebalance_preview(now_ms=NOW_MS + HOUR_MS)

    moved = {move.job_id for move in first.moves}
    assert len(moved) == 2
    assert moved.isdisjoint(move.job_id for move in within_an_hour.moves)
    assert len(after_an_hour.moves) == 2
    page = await store.find(JobQuery())
    assert {job.job_id for job in page.jobs if job.moved_at_ms == NOW_MS} == moved
