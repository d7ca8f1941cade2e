"""When jobs of the API run, on a running scheduler: units, once, retries, history."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from strider.contracts.generated.topics import JOB_EVENTS

from .job_client import JobClient, moment
from .old_executions import OFTEN, OFTEN_COUNT, SELDOM, SELDOM_COUNT

WAITS: Final = [60, 120, 240, 480, 960, 1920, 3600, 3600]
"""Seconds before each retry, of 60 (C-13: the formula, with 1920)."""

pytestmark = [pytest.mark.asyncio(loop_scope="package"), pytest.mark.timeout(900)]


UNITS: Final = {
    (45, "minutes"): timedelta(minutes=45),
    (6, "hours"): timedelta(hours=6),
    (1, "days"): timedelta(days=1),
    (7, "days"): timedelta(weeks=1),
    (30, "days"): timedelta(days=30),
}


async def run_when_due(client: JobClient, number: int, unit: str) -> tuple[timedelta, timedelta]:
    """Let the time of a job come, which is written into its row; return how far its runs are planned.

    From its creation to the first one, and from the first one to the second.
    """
    job = await client.add_job(
        client.serve_page(), interval_minutes=number, interval_type=unit, adaptive_scheduling=False
    )
    statement = (
        "UPDATE jobs SET next_run_at = planned, phase_at = planned"
        " FROM date_trunc('milliseconds', now()) AS planned WHERE id = $1 RETURNING next_run_at"
    )
    (due,) = await client.rows(statement, job["id"])
    execution = await client.until_ended(job["id"], 1)
    planned = await client.job(job["id"])

    assert (execution["status"], execution["retry_attempt"]) == ("completed", 0)
    assert (planned["status"], planned["execution_count"]) == ("scheduled", 1)
    first = moment(job["next_run_at"]) - moment(job["created_at"])
    return first, moment(planned["next_run_at"]) - due["next_run_at"]


@pytest.mark.req("S1.4.1", "S1.2.11")
@pytest.mark.req("S4.8.1", part="jobs of a source: daily, weekly, monthly")
async def test_jobs_run_at_intervals_of_their_units(client: JobClient) -> None:
    found = await asyncio.gather(*(run_when_due(client, *unit) for unit in UNITS))

    assert [second for _, second in found] == list(UNITS.values())
    assert all(first <= interval for (first, _), interval in zip(found, UNITS.values(), strict=True))


async def test_a_cron_expression_is_no_schedule(client: JobClient) -> None:
    document = {"url": client.serve_page(), "schedule": "0 */6 * * *"}
    refused = await client.send("POST", "/api/v1/jobs", document, status=422)

    assert "schedule: " in refused["detail"]


@pytest.mark.req("S1.1.5", "S1.4.2", "S1.15.2", "S1.17.2", "S1.2.26", "S4.1.1", "S4.17.1")
async def test_jobs_without_an_interval_run_once_and_at_once(client: JobClient) -> None:
    """PostgreSQL has the state of the job; what is crawled goes over Kafka."""
    bodies: list[dict[str, Any]] = [
        {"schedule_enabled": False},
        {"schedule_enabled": False, "interval_minutes": None},
    ]
    created = [await client.add_job(client.serve_page(), **body) for body in bodies]
    executions = await asyncio.gather(*(client.until_ended(job["id"], 1) for job in created))
    jobs = [await client.job(job["id"]) for job in created]
    events = await client.servers.crawl.events(JOB_EVENTS)
    ends = Counter(each.execution_id for each in events if each.what == "run_completed")

    for job in created:
        assert (job["status"], job["interval_minutes"]) == ("pending", None)
        assert job["next_run_at"] == job["created_at"]
    for job, execution in zip(jobs, executions, strict=True):
        assert (execution["status"], execution["items_crawled"]) == ("completed", 1)
        assert (job["status"], job["next_run_at"], job["allowed_actions"]) == ("completed", None, [])
        assert ends[execution["id"]] == 1


@pytest.mark.req("S1.1.4", "S1.15.2", "S1.17.1", "S4.17.1")
async def test_a_job_with_an_interval_is_planned(client: JobClient) -> None:
    """The payload of the developer guide, of six hours; the source decides its settings."""
    job = await client.add_job(
        client.serve_page(),
        interval_minutes=360,
        interval_type="minutes",
        schedule_enabled=True,
        max_retries=5,
        retry_backoff_seconds=30,
    )

    now = datetime.now(UTC)
    assert (job["status"], job["max_retries"], job["retry_backoff_seconds"]) == ("scheduled", 5, 30)
    assert now < moment(job["next_run_at"]) <= now + timedelta(hours=6)


async def wait_of(client: JobClient, job_id: str, number: int) -> float:
    """Return for how long a job waits after an execution that has failed, in seconds."""
    ended = await client.until_ended(job_id, number)
    assert ended["status"] == "failed"
    waiting = moment((await client.job(job_id))["next_run_at"]) - moment(ended["completed_at"])
    return waiting.total_seconds()


@pytest.mark.req("S1.11.1")
async def test_waits_before_retries_double_up_to_an_hour(client: JobClient) -> None:
    """Each wait is read, and cut short by a forced run, which leaves the count of the retries."""
    document = {"source_id": "nothing", "max_retries": len(WAITS)}
    job = await client.add_job(client.serve_page(), **document)
    waits = []
    for number in range(1, len(WAITS) + 1):
        waits.append(await wait_of(client, job["id"], number))
        await client.act(job["id"], "force-run")
    await client.until_ended(job["id"], len(WAITS) + 1)
    failed = await client.job(job["id"])

    assert waits == WAITS
    assert (failed["status"], failed["next_run_at"]) == ("failed", None)
    assert [each["retry_attempt"] for each in await client.executions(job["id"])] == list(range(9))


@pytest.mark.req("S1.11.2", "S1.1.7")
async def test_a_job_is_tried_again_three_times_and_by_hand(client: JobClient) -> None:
    url = client.serve_page()
    job = await client.add_job(url, source_id="nothing", retry_backoff_seconds=1)
    ends = [await client.until_ended(job["id"], number) for number in range(1, 5)]
    failed = await client.job(job["id"])
    source = await client.add_source(url)
    await client.send("PUT", f"/api/v1/jobs/{job['id']}", {"source_id": source})
    retried = await client.act(job["id"], "retry")
    last = await client.until_ended(job["id"], 5)

    assert job["max_retries"] == 3
    assert [each["status"] for each in ends] == ["failed"] * 4
    assert (failed["status"], failed["current_retry_count"]) == ("failed", 3)
    assert (retried["status"], retried["current_retry_count"]) == ("pending", 0)
    assert (last["status"], last["retry_attempt"]) == ("completed", 0)


@pytest.mark.req("S1.1.6", "S1.1.8", "S1.13.3", "S1.10.4")
async def test_a_forced_run_leaves_the_schedule_and_a_paused_job_has_none(client: JobClient) -> None:
    created = await client.add_job(client.serve_page(), interval_minutes=6, interval_type="hours")
    job = await client.postpone(created["id"], 300)
    run = await client.run_again(job["id"])
    after_run = await client.job(job["id"])
    paused = await client.act(job["id"], "pause")
    refused = await client.send("POST", f"/api/v2/jobs/{job['id']}/force-run", status=409)
    resumed = await client.act(job["id"], "resume")

    assert (run["status"], run["execution_number"]) == ("completed", 1)
    assert moment(run["completed_at"]) < moment(job["next_run_at"])
    assert after_run["next_run_at"] == job["next_run_at"]
    assert (paused["status"], paused["next_run_at"]) == ("paused", None)
    assert "allowed now: resume, cancel" in refused["detail"]
    assert resumed["status"] == "scheduled"


@pytest.mark.req("S1.12.1")
async def test_old_executions_are_deleted(client: JobClient) -> None:
    """C-21: of each job those beyond the newest 100, and those older than 30 days."""

    async def numbers(job_id: str) -> list[int]:
        return [row["execution_number"] for row in await client.execution_rows(job_id)]

    await client.scheduler.until_logged("Executions pruned")
    newest = list(range(OFTEN_COUNT - 99, OFTEN_COUNT + 1))
    of_a_month = list(range(SELDOM_COUNT - 9, SELDOM_COUNT + 1))

    assert await asyncio.gather(numbers(OFTEN), numbers(SELDOM)) == [newest, of_a_month]
