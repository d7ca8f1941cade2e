"""Jobs in PostgreSQL: created, listed, changed, deleted and commanded."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.enums import JobState
from strider.jobs.errors import (
    DuplicateJob,
    IllegalTransition,
    InvalidJobField,
    StaleVersion,
    UnfinishedRun,
    UnknownJob,
)
from strider.jobs.models import ExecutionResult, Job, JobQuery, NewJob
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.states import ExecutionState, JobAction

NOW_MS = 1_763_640_000_000
MINUTE_MS = 60_000
DONE = ExecutionResult(outcome=ExecutionState.COMPLETED)


async def _create(store: PostgresJobStore, **fields: Any) -> Job:
    return await store.create(NewJob(**{"url": "https://example.com/", **fields}), now_ms=NOW_MS)


@pytest.mark.req(
    "S1.19.1", "S1.19.2", "S1.19.3", "S1.19.4", "S1.19.5", "S1.19.6", "S1.2.13", part="the record"
)
async def test_a_job_is_stored_as_it_was_created(store: PostgresJobStore) -> None:
    made = await _create(
        store,
        name="News ✓",
        source_id="news",
        interval_minutes=6,
        interval_type="hours",
        metadata={"team": "ü", "n": [1, None]},
        crawl_settings={"max_depth": 2},
        created_by="ada",
    )

    assert await store.get(made.job_id) == made
    assert made.adaptive_scheduling
    assert (made.max_retries, made.retry_backoff_seconds) == (3, 60)
    assert await store.get("none") is None


@pytest.mark.req("S1.15.1", part="creation succeeds without a source")
async def test_a_job_of_no_source_is_created(store: PostgresJobStore) -> None:
    assert (await _create(store)).source_id == ""


async def test_a_repeated_creation_is_one_job(store: PostgresJobStore) -> None:
    made = await _create(store, job_id="j1", interval_minutes=30)

    assert await _create(store, job_id="j1", interval_minutes=30) == made
    with pytest.raises(DuplicateJob, match=r"^id: another job has the id 'j1'"):
        await _create(store, job_id="j1", interval_minutes=31)
    assert len((await store.find(JobQuery())).jobs) == 1


async def test_no_two_jobs_have_one_name(store: PostgresJobStore) -> None:
    first, second = await _create(store, name="a"), await _create(store, name="b")

    with pytest.raises(DuplicateJob, match=r"^name: another job has the name 'a'"):
        await _create(store, name="a")
    with pytest.raises(DuplicateJob, match=r"^name: "):
        await store.change(second.job_id, {"name": "a"}, version=None, now_ms=NOW_MS)

    assert (await store.change(first.job_id, {"name": "a"}, version=None, now_ms=NOW_MS)).name == "a"


async def test_pages_list_every_job_once_the_newest_first(store: PostgresJobStore) -> None:
    for number in range(7):
        new = NewJob(url="https://example.com/", source_id=f"s{number % 2}", job_id=f"j{number}")
        await store.create(new, now_ms=NOW_MS + number // 2)
    await store.act("j3", JobAction.CANCEL, now_ms=NOW_MS)

    found, cursor = list[str](), ""
    while True:
        page = await store.find(JobQuery(limit=3, cursor=cursor))
        found += [job.job_id for job in page.jobs]
        if not (cursor := page.next):
            break
    cancelled = await store.find(JobQuery(state=JobState.CANCELLED))
    of_source = await store.find(JobQuery(source_id="s1", state=JobState.PENDING, limit=1))

    assert found == ["j6", "j5", "j4", "j3", "j2", "j1", "j0"]
    assert [job.job_id for job in cancelled.jobs] == ["j3"]
    assert [job.job_id for job in of_source.jobs] == ["j5"]
    assert of_source.next
    assert (await store.status_counts())[JobState.PENDING] == 6


@pytest.mark.parametrize("cursor", ["x", "1", "-1.a", "9" * 30 + ".a", "253402300800000.a", "1.\x00", "²2.a"])
async def test_a_cursor_of_no_page_is_refused(store: PostgresJobStore, cursor: str) -> None:
    with pytest.raises(InvalidJobField, match=r"^cursor: "):
        await store.find(JobQuery(cursor=cursor))


async def test_a_stale_version_changes_nothing(store: PostgresJobStore) -> None:
    made = await _create(store)
    await store.change(made.job_id, {"max_retries": 5}, version=made.version, now_ms=NOW_MS)

    with pytest.raises(StaleVersion, match="version 1 was given, 2 is current"):
        await store.change(made.job_id, {"max_retries": 6}, version=made.version, now_ms=NOW_MS)
    with pytest.raises(UnknownJob, match="there is no job 'none'"):
        await store.change("none", {"max_retries": 6}, version=None, now_ms=NOW_MS)
    stored = await store.get(made.job_id)

    assert stored is not None
    assert stored.max_retries == 5


async def test_of_changes_at_once_with_one_version_one_is_made(store: PostgresJobStore) -> None:
    made = await _create(store)

    done = await asyncio.gather(
        *(
            store.change(made.job_id, {"max_retries": number}, version=1, now_ms=NOW_MS)
            for number in range(8)
        ),
        return_exceptions=True,
    )

    assert sum(isinstance(each, Job) for each in done) == 1
    assert sum(isinstance(each, StaleVersion) for each in done) == 7


@pytest.mark.req("S1.5.4", "S1.5.6", "S1.5.7", "S1.5.12", part="the record")
async def test_actions_change_the_stored_job_or_are_refused(store: PostgresJobStore) -> None:
    made = await _create(store, interval_minutes=30)
    paused = await store.act(made.job_id, JobAction.PAUSE, now_ms=NOW_MS)
    with pytest.raises(IllegalTransition, match="is paused and cannot pause; allowed now: resume, cancel"):
        await store.act(made.job_id, JobAction.PAUSE, now_ms=NOW_MS)
    resumed = await store.act(made.job_id, JobAction.RESUME, now_ms=NOW_MS)

    assert (paused.state, paused.paused_at_ms) == (JobState.PAUSED, NOW_MS)
    assert await store.get(made.job_id) == resumed
    with pytest.raises(UnknownJob):
        await store.act("none", JobAction.PAUSE, now_ms=NOW_MS)


async def test_a_job_is_deleted_when_its_run_has_ended(store: PostgresJobStore) -> None:
    made = await _create(store)
    (launch,) = await store.claim_due(now_ms=NOW_MS, limit=10, token="a")
    await store.mark_launched([launch.execution.execution_id], token="a", now_ms=NOW_MS)
    with pytest.raises(IllegalTransition, match="is running and cannot be deleted; allowed now: cancel"):
        await store.delete(made.job_id, now_ms=NOW_MS)
    await store.act(made.job_id, JobAction.CANCEL, now_ms=NOW_MS)
    with pytest.raises(UnfinishedRun, match=rf"its run {made.job_id}-1 is being cancelled"):
        await store.delete(made.job_id, now_ms=NOW_MS)
    await store.finish(f"{made.job_id}-1", replace(DONE, outcome=ExecutionState.CANCELLED), now_ms=NOW_MS)

    assert await store.delete(made.job_id, now_ms=NOW_MS)
    assert not await store.delete(made.job_id, now_ms=NOW_MS)
    assert await store.execution(f"{made.job_id}-1") is None


async def test_the_clock_is_that_of_the_database(store: PostgresJobStore) -> None:
    first = await store.now_ms()

    assert first > NOW_MS
    assert await store.now_ms() >= first


@pytest.mark.parametrize("text", ["\x00", "\ud800", "x" * 100_000])
async def test_an_id_that_cannot_be_stored_is_unknown(store: PostgresJobStore, text: str) -> None:
    assert await store.get(text) is None
    assert await store.execution(text) is None
    assert not await store.delete(text, now_ms=NOW_MS)
    assert (await store.find(JobQuery(source_id=text))).jobs == ()
    for call in (store.stats(text), store.executions(text), store.act(text, JobAction.PAUSE, now_ms=NOW_MS)):
        with pytest.raises(UnknownJob):
            await call


async def test_an_error_with_any_characters_is_stored(store: PostgresJobStore) -> None:
    made = await _create(store)
    await store.claim_due(now_ms=NOW_MS, limit=1, token="a")
    result = ExecutionResult(outcome=ExecutionState.FAILED, error_message="a\x00b\ud800c")

    await store.finish(f"{made.job_id}-1", result, now_ms=NOW_MS)
    page = await store.executions(made.job_id, limit=1)

    assert [execution.error_message for execution in page.executions] == ["a\N{REPLACEMENT CHARACTER}b?c"]
    assert page.next == ""
