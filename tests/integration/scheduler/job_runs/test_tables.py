"""The tables of jobs by column, as a job of the API is locked, runs, fails, is paused and cancelled."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from tests.processes.waiting import until

from .job_client import RUN_SECONDS, JobClient, moment

pytestmark = [pytest.mark.asyncio(loop_scope="package"), pytest.mark.timeout(900)]


@pytest.mark.req("S1.19.1", "S1.19.2", "S1.19.3", "S1.19.6")
@pytest.mark.req("S1.2.13", part="jobs and executions")
async def test_a_job_of_the_api_is_a_row(client: JobClient) -> None:
    url = client.serve_page()
    source = await client.add_source(url)
    job = await client.add_job(
        url,
        source_id=source,
        interval_minutes=12,
        interval_type="hours",
        max_retries=7,
        retry_backoff_seconds=20,
        metadata={"team": "news", "ids": [1, 2]},
    )
    row = await client.job_row(job["id"])
    (default,) = await client.rows(
        "SELECT column_default FROM information_schema.columns"
        " WHERE table_name = 'jobs' AND column_name = 'adaptive_scheduling'"
    )

    assert (row["source_id"], row["url"], row["status"]) == (source, url, "scheduled")
    assert (row["interval_minutes"], row["interval_type"]) == (12, "hours")
    assert row["next_run_at"] == moment(job["next_run_at"])
    assert (row["adaptive_scheduling"], default["column_default"]) == (True, "true")
    assert (row["max_retries"], row["retry_backoff_seconds"], row["current_retry_count"]) == (7, 20, 0)
    assert json.loads(row["metadata"]) == {"team": "news", "ids": [1, 2]}


@pytest.mark.req("S1.19.4")
async def test_pauses_and_cancellations_have_their_times(client: JobClient) -> None:
    job = await client.add_job(client.serve_page(), interval_minutes=120)
    await client.postpone(job["id"], 60)
    rows = [await client.job_row(job["id"])]
    for action in ("pause", "resume", "cancel"):
        await client.act(job["id"], action)
        rows.append(await client.job_row(job["id"]))

    states = ["scheduled", "paused", "scheduled", "cancelled"]
    assert [row["status"] for row in rows] == states
    assert [row["is_paused"] for row in rows] == [False, True, False, False]
    assert [isinstance(row["paused_at"], datetime) for row in rows] == [False, True, False, False]
    assert [isinstance(row["cancelled_at"], datetime) for row in rows] == [False, False, False, True]


@pytest.mark.req("S1.19.5", "S1.7.2")
async def test_the_lock_is_held_while_a_run_is_launched_and_no_longer(client: JobClient) -> None:
    """Each change of the lock is noted by a trigger of the database, since a launch takes milliseconds."""
    await client.rows("CREATE TABLE seen_locks (job text, token text, at timestamptz, status text)")
    await client.rows(
        "CREATE FUNCTION note_lock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen_locks"
        " VALUES (NEW.id, NEW.lock_token, NEW.lock_acquired_at, NEW.status); RETURN NEW; END $$"
    )
    await client.rows(
        "CREATE TRIGGER note_locks AFTER UPDATE OF lock_token ON jobs"
        " FOR EACH ROW WHEN (OLD.lock_token IS DISTINCT FROM NEW.lock_token) EXECUTE FUNCTION note_lock()"
    )
    job = await client.add_job(client.serve_page())
    execution = await client.until_ended(job["id"], 1)
    await client.rows("DROP TRIGGER note_locks ON jobs")
    row = await client.job_row(job["id"])
    held, released = await client.rows("SELECT * FROM seen_locks WHERE job = $1", job["id"])

    assert len(held["token"]) == 32
    assert (held["status"], held["at"]) == ("running", moment(execution["started_at"]))
    assert (released["token"], released["at"], released["status"]) == (None, None, "running")
    assert (row["status"], row["lock_token"], row["lock_acquired_at"]) == ("completed", None, None)


@pytest.mark.req("S1.19.7", "S1.19.8", "S1.13.5")
@pytest.mark.req("S1.19.9", part="pages and errors; no part of a run raises, so no trace is stored")
@pytest.mark.req(
    "S1.19.10", part="retries; time and memory of a run, which all processes share, are not measured"
)
@pytest.mark.req("S1.2.13", part="jobs and executions")
async def test_executions_are_rows_with_their_results(client: JobClient) -> None:
    """The first run fails, its retry has a page."""
    url = client.serve_page("missing")
    job = await client.add_job(url, retry_backoff_seconds=1)
    await client.until_ended(job["id"], 1)
    client.change_page(url)
    await client.until_ended(job["id"], 2)
    first, second = await client.execution_rows(job["id"])
    stats = await client.send("GET", f"/api/v1/jobs/{job['id']}/stats")
    counts = await client.send("GET", "/api/v1/jobs/status-counts")
    (states,) = await client.rows("SELECT count(*) FILTER (WHERE status = 'completed') AS n FROM jobs")

    names = ("id", "job_id", "execution_number", "status", "retry_attempt", "items_crawled", "items_indexed")
    run = f"{job['id']}-"
    assert [first[name] for name in names] == [f"{run}1", job["id"], 1, "failed", 0, 0, 0]
    assert [second[name] for name in names] == [f"{run}2", job["id"], 2, "completed", 1, 1, 1]
    for row in (first, second):
        assert row["started_at"] <= row["launched_at"] <= row["completed_at"]
        assert row["duration_ms"] >= 0
    assert "not_found" in first["error_message"]
    assert (second["error_message"], json.loads(second["metadata"])) == ("", {})
    assert (stats["executions"], stats["completed"], stats["failed"]) == (2, 1, 1)
    assert (stats["success_rate"], stats["items_crawled"], stats["items_indexed"]) == (0.5, 1, 1)
    assert counts["counts"]["completed"] == states["n"] >= 1
    assert counts["total"] == sum(counts["counts"].values())


@pytest.mark.req("S1.19.7", "S1.5.8")
async def test_the_execution_of_a_cancelled_job_is_cancelled(client: JobClient) -> None:
    url = client.serve_page("shut")  # it says: come again in a day
    job = await client.add_job(url)

    async def is_launched() -> bool:
        rows = await client.execution_rows(job["id"])
        return any(row["launched_at"] for row in rows)

    await until(is_launched, what="the run is launched", seconds=RUN_SECONDS)
    running: dict[str, Any] = await client.job_row(job["id"])
    await client.act(job["id"], "cancel")
    execution = await client.until_ended(job["id"], 1)
    (row,) = await client.execution_rows(job["id"])

    assert running["status"] == "running"
    assert (execution["status"], (await client.job(job["id"]))["status"]) == ("cancelled", "cancelled")
    assert row["cancel_requested_at"] <= row["completed_at"]
