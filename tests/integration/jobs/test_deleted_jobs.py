"""A job that is deleted and created again with its id: no id of a run is used twice."""

from __future__ import annotations

from strider.jobs.models import ExecutionResult, NewJob
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.states import ExecutionState
from strider.storage.postgres import Postgres

NOW_MS = 1_763_640_000_000
DAY_MS = 86_400_000
NEW = NewJob(url="https://example.com/", job_id="news")
DONE = ExecutionResult(outcome=ExecutionState.COMPLETED)


async def _run(store: PostgresJobStore, now_ms: int = NOW_MS) -> str:
    (launch,) = await store.claim_due(now_ms=now_ms, limit=1, token="a")
    await store.finish(launch.execution.execution_id, DONE, now_ms=now_ms, token="a")
    return launch.execution.execution_id


async def test_a_job_that_is_created_again_continues_the_numbers(store: PostgresJobStore) -> None:
    found = []
    for _ in range(3):
        await store.create(NEW, now_ms=NOW_MS)
        found.append(await _run(store))
        assert await store.delete("news", now_ms=NOW_MS)

    assert found == ["news-1", "news-2", "news-3"]


async def test_the_count_is_kept_when_its_executions_were_pruned(store: PostgresJobStore) -> None:
    await store.create(NEW, now_ms=NOW_MS)
    await _run(store)
    later = NOW_MS + 40 * DAY_MS
    assert await store.prune(now_ms=later) == 1
    await store.delete("news", now_ms=later)
    await store.prune(now_ms=later + 400 * DAY_MS)

    made = await store.create(NEW, now_ms=later)
    repeated = await store.create(NEW, now_ms=later)

    assert made.execution_count == 1
    assert repeated == made
    assert await _run(store, later) == "news-2"


async def test_a_deleted_job_that_never_ran_leaves_nothing(
    store: PostgresJobStore, postgres: Postgres
) -> None:
    await store.create(NEW, now_ms=NOW_MS)
    await store.delete("news", now_ms=NOW_MS)

    assert await postgres.fetch("SELECT * FROM deleted_jobs") == []
    assert (await store.create(NEW, now_ms=NOW_MS)).execution_count == 0


async def test_an_older_count_is_not_forgotten_by_a_job_that_never_ran(store: PostgresJobStore) -> None:
    await store.create(NEW, now_ms=NOW_MS)
    await _run(store)
    for _ in range(2):
        await store.delete("news", now_ms=NOW_MS)
        await store.create(NEW, now_ms=NOW_MS)

    assert await _run(store) == "news-2"
