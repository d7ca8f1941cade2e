"""A source that is disabled and enabled again, and its jobs, in PostgreSQL."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from strider.contracts.generated.enums import JobState
from strider.contracts.generated.events import SourceSaved
from strider.jobs.models import ExecutionResult, Job, JobQuery, NewJob
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.sources.store import PostgresSourceStore
from strider.jobs.sources.sync import SourceSync
from strider.jobs.states import ExecutionState, JobAction
from strider.storage.postgres import Postgres

SOURCE = SourceSaved("s", "Example", "https://a.test/", version=1)
DONE = ExecutionResult(outcome=ExecutionState.COMPLETED)
REFUSED = ExecutionResult(outcome=ExecutionState.FAILED, error_message="disabled", waits_for_source=True)


class Record:
    """Sources and jobs in one database."""

    def __init__(self, postgres: Postgres) -> None:
        self.jobs = PostgresJobStore(postgres)
        self.sources = PostgresSourceStore(postgres)

    async def begin(self) -> None:
        await self.sources.add(SOURCE)
        new = NewJob(job_id="j", source_id="s", url=SOURCE.url, interval_minutes=1, max_retries=0)
        await self.jobs.create(new, now_ms=await self.jobs.now_ms())

    async def switch(self, *, is_enabled: bool) -> None:
        stored = await self.sources.get("s")
        assert stored is not None
        await self.sources.save(replace(stored, enabled=is_enabled), version=stored.version)

    async def claim(self) -> str:
        """Claim the job, an hour later than it is now."""
        now_ms = await self.jobs.now_ms() + 3_600_000
        (launch,) = await self.jobs.claim_due(now_ms=now_ms, limit=1, token="a")
        return launch.execution.execution_id

    async def finish(self, execution_id: str, result: ExecutionResult) -> None:
        await self.jobs.finish(execution_id, result, now_ms=await self.jobs.now_ms(), token="a")

    async def job(self) -> Job:
        found = await self.jobs.get("j")
        assert found is not None
        return found


@pytest.fixture
async def record(postgres: Postgres) -> Record:
    made = Record(postgres)
    await made.begin()
    return made


async def test_a_source_that_is_saved_changes_its_jobs_at_once(record: Record) -> None:
    await record.switch(is_enabled=False)
    paused = await record.job()
    await record.switch(is_enabled=True)

    assert (paused.state, paused.paused_by) == (JobState.PAUSED, "source")
    assert (await record.job()).state is JobState.SCHEDULED


async def test_a_job_whose_source_is_disabled_during_its_run_is_paused_and_scheduled_again(
    record: Record,
) -> None:
    run = await record.claim()
    await record.switch(is_enabled=False)
    during = await record.job()
    await record.finish(run, DONE)
    after = await record.job()
    await record.switch(is_enabled=True)

    assert during.state is JobState.RUNNING
    assert (after.state, after.paused_by) == (JobState.PAUSED, "source")
    assert (await record.job()).state is JobState.SCHEDULED


async def test_a_launch_that_found_the_source_disabled_pauses_the_job(record: Record) -> None:
    run = await record.claim()
    await record.switch(is_enabled=False)
    await record.finish(run, REFUSED)
    paused = await record.job()
    await record.switch(is_enabled=True)
    execution = await record.jobs.execution(run)

    assert (paused.state, paused.current_retry_count) == (JobState.PAUSED, 0)
    assert (await record.job()).state is JobState.SCHEDULED
    assert execution is not None
    assert (execution.state, execution.error_message) == (ExecutionState.FAILED, "disabled")


async def test_a_job_that_a_person_resumed_is_compared_by_a_synchronisation(record: Record) -> None:
    sync = SourceSync(record.sources, record.jobs)
    await record.switch(is_enabled=False)
    await record.jobs.act("j", JobAction.RESUME, now_ms=await record.jobs.now_ms())
    steps = [step.action for step in await sync.align("s")]
    again = await sync.align("s")

    assert steps == ["pause"]
    assert again == []
    assert (await record.job()).paused_by == "source"


async def test_a_job_that_gets_an_enabled_source_is_scheduled(record: Record) -> None:
    await record.sources.add(replace(SOURCE, source_id="other", name="Other"))
    await record.switch(is_enabled=False)
    moved = await record.jobs.change(
        "j", {"source_id": "other"}, version=None, now_ms=await record.jobs.now_ms()
    )
    back = await record.jobs.change("j", {"source_id": "s"}, version=None, now_ms=await record.jobs.now_ms())

    assert (moved.state, back.state) == (JobState.SCHEDULED, JobState.PAUSED)


@pytest.mark.parametrize("seed", range(4))
async def test_at_the_same_time_the_last_state_of_the_source_counts(record: Record, seed: int) -> None:
    """Runs end and begin while the source is switched: whichever waits for the other one sees it."""
    chance = random.Random(seed)

    async def switch() -> None:
        for is_enabled in (False, True) * 5:
            await record.switch(is_enabled=is_enabled)
            await asyncio.sleep(chance.uniform(0, 0.003))

    async def run() -> None:
        for _ in range(15):
            now_ms = await record.jobs.now_ms() + 3_600_000
            for launch in await record.jobs.claim_due(now_ms=now_ms, limit=1, token="a"):
                await record.finish(launch.execution.execution_id, chance.choice([DONE, REFUSED]))

    await asyncio.gather(switch(), run(), run())

    assert (await record.jobs.find(JobQuery())).jobs[0].state is JobState.SCHEDULED
    await record.switch(is_enabled=False)
    assert (await record.job()).state is JobState.PAUSED
