"""What the log of a running API has about requests, and what a client has of a fault."""

from __future__ import annotations

import asyncio

import pytest

from strider.api import log_events
from strider.runtime.access_tokens import Role
from strider.storage.postgres import Postgres
from strider.testing.callers import bearer

from .test_service import Start, client_of, ready, start, topics, url_of

__all__ = ["start", "topics"]

JOBS = "/api/v1/jobs"


@pytest.mark.req("S1.2.10")
async def test_requests_are_authorized_and_logged_and_a_fault_ends_no_process(
    topics: str, start: Start, database: str, postgres: Postgres
) -> None:
    """The fault: a row that no version of the API has written. Secrets of a request are in no line."""
    process = start(topics, database)
    async with await ready(process) as client:
        created = await client.post(JOBS, json={"url": "https://a.test/s3cret"})
        path = f"{JOBS}/{created.json()['id']}"
        listed = await client.get(JOBS, params={"limit": 7})
        async with client_of(await url_of(process), {}) as stranger:
            refused = await stranger.get(JOBS, params={"limit": "s3cret"})
        async with client_of(await url_of(process), bearer(Role.USER, subject="eve")) as user:
            forbidden = await user.delete(path)
        await postgres.fetch("ALTER TABLE jobs DROP CONSTRAINT jobs_status_check")
        await postgres.fetch("UPDATE jobs SET status = 'asleep'")
        fault = await client.get(path)
        health = await client.get("/health")

    lines = process.lines_of(log_events.API_REQUEST_HANDLED.text)
    found = [(line["method"], line["path"], line["status"], line["by"]) for line in lines]
    assert [each.status_code for each in (created, listed, refused, forbidden)] == [201, 200, 401, 403]
    assert (fault.status_code, fault.json()["detail"]) == (500, "internal error; see the log of the API")
    assert health.status_code == 200
    assert found == [
        ("POST", JOBS, 201, "tests"),
        ("GET", JOBS, 401, ""),
        ("DELETE", path, 403, "eve"),
        ("GET", path, 500, "tests"),
    ]
    assert process.lines_of(log_events.API_REQUEST_FAILED.text)[0]["path"] == path
    assert "s3cret" not in process.log.read_text()
    assert await asyncio.to_thread(process.stop) == 0
