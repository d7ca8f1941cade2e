"""Locks of schedulers that stopped while they launched a run, as the metrics count them."""

from __future__ import annotations

import pytest

from strider.jobs.models import NewJob
from strider.jobs.postgres import PostgresJobStore
from strider.storage.postgres import Postgres

STALE_MS = 300_000


@pytest.mark.req("S1.18.2", part="the number of a day")
async def test_runs_that_another_scheduler_launched_are_counted(postgres: Postgres) -> None:
    """Of two jobs one is launched by the scheduler that claimed it."""
    store = PostgresJobStore(postgres)
    now_ms = await store.now_ms()
    for _ in range(2):
        await store.create(NewJob(url="https://example.org/"), now_ms=now_ms)
    prompt, late = await store.claim_due(now_ms=now_ms, limit=10, token="first")
    await store.mark_launched([prompt.execution.execution_id], token="first", now_ms=now_ms + 1_000)
    then_ms = now_ms + STALE_MS + 1_000
    (again,) = await store.claim_unlaunched(now_ms=then_ms, older_than_ms=STALE_MS, limit=10, token="second")
    before = await store.metrics(now_ms=then_ms)

    await store.mark_launched([again.execution.execution_id], token="second", now_ms=then_ms)

    assert again.execution.execution_id == late.execution.execution_id
    assert (before.stale_locks_cleared, (await store.metrics(now_ms=then_ms)).stale_locks_cleared) == (0, 1)
