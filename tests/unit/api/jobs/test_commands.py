"""Routes of commands, executions and the schedule."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from strider.contracts.generated.enums import JobState
from strider.jobs.states import ACTIONS, ExecutionState, JobAction, allowed_actions
from tests.unit.api.world import World, client_of, problem_of

from .memory_store import an_execution
from .test_records import created

PATHS = {
    JobAction.PAUSE: "/api/v1/jobs/{}/pause",
    JobAction.RESUME: "/api/v1/jobs/{}/resume",
    JobAction.CANCEL: "/api/v1/jobs/{}/cancel",
    JobAction.RETRY: "/api/v1/jobs/{}/retry",
    JobAction.FORCE_RUN: "/api/v2/jobs/{}/force-run",
}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def client(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(world.parts()) as opened:
        yield opened


async def a_job(world: World, client: httpx.AsyncClient, state: JobState) -> str:
    job_id = str((await created(client))["id"])
    world.jobs.jobs[job_id] = replace(world.jobs.jobs[job_id], state=state)
    return job_id


@pytest.mark.parametrize("state", JobState)
@pytest.mark.parametrize("action", JobAction)
async def test_an_action_is_carried_out_in_its_states_and_refused_in_all_others(
    world: World, client: httpx.AsyncClient, action: JobAction, state: JobState
) -> None:
    """A refusal names the state and what is allowed in it, by the names of the paths."""
    job_id = await a_job(world, client, state)
    origins, target = ACTIONS[action]

    response = await client.post(PATHS[action].format(job_id))

    after = world.jobs.jobs[job_id].state
    if state in origins:
        assert (response.status_code, response.json()["status"], after) == (200, target.value, target)
        assert response.headers["etag"] == f'"{world.jobs.jobs[job_id].version}"'
    else:
        status, detail = problem_of(response)
        allowed = [str(each).replace("_", "-") for each in allowed_actions(state)]
        assert (status, after, response.json()["state"]) == (409, state, state.value)
        assert response.json()["allowed"] == allowed
        assert f"job {job_id} is {state} and cannot" in detail


@pytest.mark.parametrize("state", [ExecutionState.RUNNING, ExecutionState.COMPLETED])
async def test_the_run_of_a_cancelled_job_is_cancelled_at_once(
    world: World, client: httpx.AsyncClient, state: ExecutionState
) -> None:
    """Its latest one alone, and only while it runs."""
    job_id = await a_job(world, client, JobState.RUNNING)
    world.jobs.jobs[job_id] = replace(world.jobs.jobs[job_id], execution_count=2)
    for number in (1, 2):
        run = an_execution(job_id, number, ExecutionState.COMPLETED if number == 1 else state)
        world.jobs.runs[run.execution_id] = run

    assert (await client.post(f"/api/v1/jobs/{job_id}/cancel")).status_code == 200
    assert world.run_commands.cancelled == (
        [(job_id, f"{job_id}-2")] if state is ExecutionState.RUNNING else []
    )


@pytest.mark.parametrize(
    ("actions", "commands"),
    [
        pytest.param(["pause", "resume"], ["pause", "resume"], id="paused"),
        pytest.param(["force-run"], [], id="run-alone"),
        pytest.param(["cancel"], ["cancel"], id="cancelled"),
        pytest.param(["delete"], ["cancel"], id="deleted"),
    ],
)
async def test_the_polling_of_its_feeds_follows_a_job(
    world: World, client: httpx.AsyncClient, actions: list[str], commands: list[str]
) -> None:
    job_id = await a_job(world, client, JobState.SCHEDULED)

    for action in actions:
        path = f"/api/v1/jobs/{job_id}"
        response = await client.delete(path) if action == "delete" else await client.post(f"{path}/{action}")
        assert response.is_success, response.text

    assert world.run_commands.feeds == [(command, job_id) for command in commands]


async def test_a_forced_run_has_two_paths(world: World, client: httpx.AsyncClient) -> None:
    """The guide's is of version 2; clients of version 1 find it too."""
    job_id = await a_job(world, client, JobState.SCHEDULED)

    assert (await client.post(f"/api/v1/jobs/{job_id}/force-run")).status_code == 200


@pytest.mark.parametrize("path", [*PATHS.values(), "/api/v1/jobs/{}/stats", "/api/v1/jobs/{}/executions"])
async def test_a_job_that_does_not_exist_is_named(client: httpx.AsyncClient, path: str) -> None:
    method = "POST" if path in PATHS.values() else "GET"

    status, detail = problem_of(await client.request(method, path.format("none%20such")))

    assert status == 404
    assert "no job 'none such'" in detail


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"", "", 200),
        (b"{}", "application/json", 200),
        (b'{"reason": "x"}', "application/json", 422),
        (b"{}", "text/plain", 415),
        (b" " * 70_000, "application/json", 413),
    ],
)
async def test_a_command_takes_no_fields(
    world: World, client: httpx.AsyncClient, content: bytes, kind: str, status: int
) -> None:
    job_id = await a_job(world, client, JobState.SCHEDULED)

    response = await client.post(
        f"/api/v1/jobs/{job_id}/pause", content=content, headers={"content-type": kind} if kind else {}
    )

    assert response.status_code == status


async def test_executions_of_a_job_are_listed(world: World, client: httpx.AsyncClient) -> None:
    job_id = await a_job(world, client, JobState.SCHEDULED)
    for number, state in enumerate([ExecutionState.COMPLETED, ExecutionState.FAILED], 1):
        run = an_execution(job_id, number, state, error_message="no source" * (number - 1))
        world.jobs.runs[run.execution_id] = run

    listed: dict[str, Any] = (await client.get(f"/api/v1/jobs/{job_id}/executions")).json()
    one = await client.get(f"/api/v1/executions/{job_id}-1")
    stats = (await client.get(f"/api/v1/jobs/{job_id}/stats")).json()

    assert [each["id"] for each in listed["items"]] == [f"{job_id}-2", f"{job_id}-1"]
    assert listed["items"][0]["error_message"] == "no source"
    assert one.json() == listed["items"][1]
    assert (one.json()["started_at"], one.json()["duration_ms"]) == ("2026-11-20T12:00:00.000Z", 1500)
    assert (stats["executions"], stats["completed"], stats["failed"], stats["success_rate"]) == (2, 1, 1, 0.5)


async def test_an_execution_that_does_not_exist_is_named(client: httpx.AsyncClient) -> None:
    status, detail = problem_of(await client.get("/api/v1/executions/none"))

    assert (status, "'none'" in detail) == (404, True)


async def test_metrics_have_the_names_of_the_guide(world: World, client: httpx.AsyncClient) -> None:
    await created(client)

    metrics = (await client.get("/api/v1/scheduler/metrics")).json()

    assert (metrics["executions"]["success_rate"], metrics["stale_locks_cleared"]) == (0.75, 2)
    assert (metrics["jobs"], metrics["due"], metrics["oldest_due_ms"]) == ({"scheduled": 1}, 1, 250)


async def test_the_distribution_has_96_slots_and_a_score(client: httpx.AsyncClient) -> None:
    found = (await client.get("/api/v1/scheduler/distribution")).json()

    assert (found["distribution_score"], len(found["slots"])) == (0.25, 96)
    assert found["slots"][5] == {"slot": 5, "starts_at": "01:15", "jobs": 1, "runs": 4.0}


async def test_a_preview_moves_nothing(world: World, client: httpx.AsyncClient) -> None:
    preview = (await client.post("/api/v1/scheduler/rebalance/preview")).json()
    before = world.jobs.rebalanced
    applied = (await client.post("/api/v1/scheduler/rebalance")).json()

    assert (before, world.jobs.rebalanced) == (0, 1)
    assert (preview["applied"], applied["applied"]) == (0, 1)
    assert preview["moves"] == applied["moves"]
    assert preview["moves"][0]["new_next_run_at"] == "2026-11-20T12:45:00.000Z"
