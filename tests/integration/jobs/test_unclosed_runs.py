"""Executions whose runs are not closed are locked again, once each."""

from __future__ import annotations

import asyncio

from strider.jobs.models import ExecutionResult, NewJob
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.states import ExecutionState, JobAction

NOW_MS = 1_763_640_000_000
AGE_MS = 300_000
LATER_MS = NOW_MS + AGE_MS
DONE = ExecutionResult(outcome=ExecutionState.COMPLETED)


async def _launched(store: PostgresJobStore, *names: str) -> list[str]:
    for name in names:
        await store.create(NewJob(url="https://example.com/", job_id=name), now_ms=NOW_MS)
    launches = await store.claim_due(now_ms=NOW_MS, limit=10, token="a")
    for _, execution in launches:
        await store.mark_launched([execution.execution_id], token="a", now_ms=NOW_MS)
    return [execution.execution_id for _, execution in launches]


async def _claim(store: PostgresJobStore, names: list[str], *, token: str, now_ms: int) -> list[str]:
    found = await store.claim_unclosed(names, now_ms=now_ms, older_than_ms=AGE_MS, token=token)
    return [launch.execution.execution_id for launch in found]


async def test_a_launched_execution_is_claimed_again_by_one_process(store: PostgresJobStore) -> None:
    names = await _launched(store, "a", "b", "c")

    early = await _claim(store, names, token="b", now_ms=LATER_MS - 1)
    claims = [_claim(store, names, token=f"t{number}", now_ms=LATER_MS) for number in range(4)]
    claimed = [name for found in await asyncio.gather(*claims) for name in found]
    again = await _claim(store, names, token="c", now_ms=LATER_MS + AGE_MS)

    assert (early, sorted(claimed), again) == ([], sorted(names), [])
    execution = await store.execution("a-1")
    assert execution is not None
    assert (execution.relaunches, execution.launched_at_ms) == (1, NOW_MS)


async def test_a_launch_that_is_published_again_has_a_new_time_and_is_not_a_stale_lock(
    store: PostgresJobStore,
) -> None:
    names = await _launched(store, "a")
    await _claim(store, names, token="b", now_ms=LATER_MS)

    assert await store.mark_launched(["a-1"], token="b", now_ms=LATER_MS)
    execution = await store.execution("a-1")

    assert execution is not None
    assert execution.launched_at_ms == LATER_MS
    assert await _claim(store, names, token="c", now_ms=LATER_MS + 1) == []
    assert (await store.metrics(now_ms=LATER_MS)).stale_locks_cleared == 0


async def test_a_process_that_is_killed_leaves_a_lock_that_another_one_takes_over(
    store: PostgresJobStore,
) -> None:
    names = await _launched(store, "a")
    await _claim(store, names, token="b", now_ms=LATER_MS)
    taken = await store.claim_unlaunched(now_ms=LATER_MS + AGE_MS, older_than_ms=AGE_MS, limit=10, token="c")

    assert [launch.execution.execution_id for launch in taken] == names


async def test_what_has_ended_or_is_cancelled_is_not_claimed(store: PostgresJobStore) -> None:
    names = await _launched(store, "a", "b")
    await store.finish("a-1", DONE, now_ms=NOW_MS)
    await store.act("b", JobAction.CANCEL, now_ms=NOW_MS)

    assert await _claim(store, [*names, "none-1"], token="b", now_ms=LATER_MS) == []
