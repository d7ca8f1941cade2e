"""A transaction is committed and its response lost: the repeat returns what the first attempt did."""

from __future__ import annotations

from typing import Any

import pytest

from strider.contracts.generated.enums import JobState
from strider.jobs.models import ExecutionResult, NewJob
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.states import ExecutionState, JobAction
from strider.storage.postgres import Postgres, translate_errors

NOW_MS = 1_763_640_000_000
ONCE = NewJob(url="https://example.com/", job_id="once")
HOURLY = NewJob(url="https://example.com/", interval_minutes=60, job_id="hourly")


class LossyPostgres(Postgres):
    """Loses the response of the next transaction."""

    losses: list[str]

    async def _once(self, work: Any) -> Any:
        done = await super()._once(work)
        async with translate_errors():
            if self.losses:
                raise ConnectionResetError(self.losses.pop())
        return done


@pytest.fixture
async def lossy(postgres: Postgres) -> LossyPostgres:
    opened = LossyPostgres(postgres._options)
    opened.losses = []
    return opened


@pytest.fixture
def losing(lossy: LossyPostgres) -> PostgresJobStore:
    return PostgresJobStore(lossy)


async def test_a_claim(lossy: LossyPostgres, losing: PostgresJobStore) -> None:
    await losing.create(ONCE, now_ms=NOW_MS)
    await losing.create(NewJob(url="https://example.com/"), now_ms=NOW_MS)

    lossy.losses = ["lost"]
    claimed = await losing.claim_due(now_ms=NOW_MS, limit=1, token="a")

    assert lossy.losses == []
    assert len(claimed) == 1
    assert len(await losing.claim_due(now_ms=NOW_MS, limit=10, token="b")) == 1
    await lossy.close()


async def test_what_people_do(lossy: LossyPostgres, losing: PostgresJobStore) -> None:
    lossy.losses = ["lost"]
    made = await losing.create(HOURLY, now_ms=NOW_MS)
    lossy.losses = ["lost"]
    changed = await losing.change("hourly", {"max_retries": 7}, version=made.version, now_ms=NOW_MS + 1)
    lossy.losses = ["lost"]
    paused = await losing.act("hourly", JobAction.PAUSE, now_ms=NOW_MS + 2)
    lossy.losses = ["lost"]
    deleted = await losing.delete("hourly", now_ms=NOW_MS + 3)

    assert lossy.losses == []
    assert (changed.max_retries, changed.version) == (7, made.version + 1)
    assert (paused.state, paused.version) == (JobState.PAUSED, made.version + 2)
    assert deleted
    assert await losing.get("hourly") is None
    await lossy.close()


async def test_an_end(lossy: LossyPostgres, losing: PostgresJobStore) -> None:
    await losing.create(ONCE, now_ms=NOW_MS)
    await losing.claim_due(now_ms=NOW_MS, limit=1, token="a")

    lossy.losses = ["lost"]
    failed = await losing.finish(
        "once-1", ExecutionResult(outcome=ExecutionState.FAILED), now_ms=NOW_MS, token="a"
    )

    assert failed is not None
    assert (failed.state, failed.current_retry_count) == (JobState.SCHEDULED, 1)
    await lossy.close()
