"""Slots of jobs and their rebalance, as the API of a running process decides them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpx
import pytest

from strider.jobs.slots import slot_of
from strider.storage.postgres import Postgres
from tests.integration.api.test_service import Start, ready, start, topics

__all__ = ["start", "topics"]

SLOTS: Final = 96
JOBS: Final = "/api/v1/jobs"
PREVIEW: Final = "/api/v1/scheduler/rebalance/preview"

_PLACE: Final = "UPDATE jobs SET phase_at = $2, next_run_at = $2, slot = $3, moved_at = $4 WHERE id = $1"


class Jobs:
    """Jobs of an API."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def add(self, **fields: Any) -> dict[str, Any]:
        response = await self._client.post(JOBS, json={"url": "https://a.test/", **fields})
        assert response.status_code == 201, response.text
        return dict(response.json())

    async def act(self, job: dict[str, Any], action: str) -> dict[str, Any]:
        return dict((await self._client.post(f"{JOBS}/{job['id']}/{action}")).json())

    async def all(self) -> list[dict[str, Any]]:
        return list((await self._client.get(JOBS)).json()["items"])

    async def loads(self) -> list[float]:
        """Return the number of runs of each slot of a day."""
        found = (await self._client.get("/api/v1/scheduler/distribution")).json()
        return [each["runs"] for each in found["slots"]]

    async def post(self, path: str) -> dict[str, Any]:
        return dict((await self._client.post(path)).json())


def quarter_of(job: dict[str, Any]) -> int:
    """Return which quarter of its hour a job runs in."""
    return int(job["next_run_at"][14:16]) // 15


@pytest.mark.req("S1.10.2", "S1.10.3", "S1.1.10")
async def test_new_and_resumed_jobs_have_the_least_loaded_slot(
    topics: str, start: Start, database: str
) -> None:
    """Four hourly jobs fill all quarters; a new one takes the place of a paused one, which gets another."""
    process = start(topics, database)
    async with await ready(process) as client:
        jobs = Jobs(client)
        four = [await jobs.add(interval_minutes=1, interval_type="hours") for _ in range(4)]
        full = await jobs.loads()
        paused = [await jobs.act(job, "pause") for job in four[:2]]
        two_left = await jobs.loads()
        fifth = await jobs.add(interval_minutes=1, interval_type="hours")
        displaced, other = sorted(four[:2], key=lambda job: quarter_of(job) != quarter_of(fifth))
        resumed = await jobs.act(displaced, "resume")
        full_again = await jobs.loads()

    assert sorted(map(quarter_of, four)) == [0, 1, 2, 3]
    assert full == full_again == [1.0] * SLOTS
    assert [job["next_run_at"] for job in paused] == [None, None]
    assert sorted(two_left) == [0.0] * 48 + [1.0] * 48
    assert quarter_of(fifth) == quarter_of(displaced)
    assert quarter_of(resumed) == quarter_of(other)
    assert await asyncio.to_thread(process.stop) == 0


async def place(postgres: Postgres, job: dict[str, Any], *, run_at: datetime, moved_at: datetime) -> None:
    """Let a job run then, and have been moved then, as time would bring it."""
    slot = slot_of(round(run_at.timestamp() * 1000))
    await postgres.fetch(_PLACE, job["id"], run_at, slot, moved_at)


def moved_ids(plan: dict[str, Any]) -> list[str]:
    return sorted(move["job_id"] for move in plan["moves"])


async def crowded(jobs: Jobs) -> list[dict[str, Any]]:
    return [await jobs.add(name=f"crowded {n}", interval_minutes=1, interval_type="days") for n in range(4)]


def states(jobs: Sequence[dict[str, Any]]) -> dict[str, tuple[str, int]]:
    return {job["id"]: (job["next_run_at"], job["version"]) for job in jobs}


@pytest.mark.req("S1.10.5", "S1.10.6", "S1.10.8", "S1.18.4")
async def test_jobs_that_run_soon_or_were_moved_lately_stay(
    topics: str, start: Start, database: str, postgres: Postgres
) -> None:
    """Four daily jobs have one slot, which three of them may leave; then one was moved, and one runs soon."""
    process = start(topics, database)
    async with await ready(process) as client:
        jobs = Jobs(client)
        all_jobs = await crowded(jobs)
        soon, moved, *others = all_jobs
        now = datetime.now(UTC).replace(microsecond=0)
        first = now + timedelta(minutes=29)
        tomorrow, long_ago = first + timedelta(days=1), now - timedelta(hours=2)
        for job in all_jobs:
            await place(postgres, job, run_at=tomorrow, moved_at=long_ago)
        free = moved_ids(await jobs.post(PREVIEW))
        await place(postgres, soon, run_at=first, moved_at=long_ago)
        await place(postgres, moved, run_at=tomorrow, moved_at=now - timedelta(minutes=50))
        before = states(await jobs.all())
        preview = await jobs.post(PREVIEW)
        untouched = states(await jobs.all())
        loads_before = await jobs.loads()
        applied = await jobs.post("/api/v1/scheduler/rebalance")
        after, loads_after = states(await jobs.all()), await jobs.loads()
        repeated = await jobs.post(PREVIEW)

    assert len(free) == 3
    assert set(moved_ids(preview)) <= {job["id"] for job in others}
    assert moved_ids(preview)
    assert (preview["applied"], untouched) == (0, before)
    assert (moved_ids(applied), applied["applied"]) == (moved_ids(preview), len(preview["moves"]))
    assert {name for name in before if before[name] != after[name]} == set(moved_ids(applied))
    assert (max(loads_before), max(loads_after)) == (4.0, 2.0)
    assert repeated["moves"] == []
    assert await asyncio.to_thread(process.stop) == 0
