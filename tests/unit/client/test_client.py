"""The client on the routes of the API: every method, and what the API refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import get_type_hints

import httpx
import pytest

from strider.api.routes import build_app
from strider.api.routes.jobs.requests import JobDocument
from strider.api.routes.jobs.responses import (
    DistributionResponse,
    ExecutionResponse,
    JobResponse,
    JobStatsResponse,
    RebalanceResponse,
    SchedulerMetricsResponse,
)
from strider.client import (
    ClientOptions,
    ConflictProblem,
    NotFoundProblem,
    RemoteDistribution,
    RemoteExecution,
    RemoteJob,
    RemoteJobStats,
    RemoteMetrics,
    RemoteRebalance,
    RequestProblem,
    StriderClient,
    TransitionProblem,
    UnexpectedResponse,
    VersionProblem,
)
from strider.client.jobs import JobChanges
from strider.contracts.generated.enums import JobState
from strider.jobs.states import ExecutionState
from strider.testing.callers import access_token
from tests.unit.api.jobs.in_process import InProcessTransport
from tests.unit.api.jobs.memory_store import an_execution
from tests.unit.api.world import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def client(world: World) -> Iterator[StriderClient]:
    transport = InProcessTransport(build_app(world.parts()))
    with StriderClient(
        "", options=ClientOptions("http://127.0.0.1:8060", access_token(), transport=transport)
    ) as opened:
        yield opened


def test_a_job_is_created_read_changed_and_deleted(client: StriderClient) -> None:
    job = client.jobs.create(
        url="https://example.org/", source_id="s1", interval_minutes=6, interval_type="hours", name="news"
    )
    changed = client.jobs.change(job.id, etag=job.etag, metadata={"team": "a"}, interval_minutes=12)

    assert (job.status, job.current_interval_seconds, job.next_run_at is not None) == (
        "scheduled",
        21_600,
        True,
    )
    assert (changed.version, changed.metadata, changed.current_interval_seconds) == (2, {"team": "a"}, 43_200)
    assert client.jobs.get(job.id) == changed
    assert [each.id for each in client.jobs.list(name="news")] == [job.id]
    assert [each.id for each in client.jobs.list(id_prefix=job.id[:6])] == [job.id]
    assert list(client.jobs.list(id_prefix="no such id")) == []
    merged = client.jobs.patch(job.id, etag=changed.etag, metadata={"desk": "b"}, max_retries=1)
    assert (merged.version, merged.metadata) == (3, {"team": "a", "desk": "b"})
    with pytest.raises(VersionProblem):
        client.jobs.patch(job.id, etag=changed.etag, max_retries=2)
    client.jobs.delete(job.id)
    with pytest.raises(NotFoundProblem):
        client.jobs.get(job.id)


def test_a_document_is_what_the_api_sent(client: StriderClient) -> None:
    """Times too, which the client reads as times."""
    document = client.jobs.create(url="https://example.org/", interval_minutes=30).document()

    assert list(document) == list(JobResponse.model_fields)
    assert re.fullmatch(r"[\d-]+T[\d:]+\.\d{3}Z", document["created_at"])


def test_commands_change_the_state_of_a_job(world: World, client: StriderClient) -> None:
    job = client.jobs.create(url="https://example.org/", interval_minutes=30)

    assert client.jobs.pause(job.id).status == "paused"
    assert client.jobs.resume(job.id).status == "scheduled"
    assert client.jobs.force_run(job.id).status == "scheduled"
    world.jobs.jobs[job.id] = replace(world.jobs.jobs[job.id], state=JobState.FAILED)
    assert client.jobs.retry(job.id).status == "pending"
    assert client.jobs.cancel(job.id).status == "cancelled"


def test_a_refused_command_names_what_is_allowed(client: StriderClient) -> None:
    job = client.jobs.create(url="https://example.org/", interval_minutes=30)

    with pytest.raises(TransitionProblem) as failure:
        client.jobs.resume(job.id)

    assert (failure.value.state, failure.value.allowed) == ("scheduled", ("pause", "cancel", "force-run"))


def test_a_change_of_another_version_is_refused(client: StriderClient) -> None:
    job = client.jobs.create(url="https://example.org/")
    client.jobs.change(job.id, max_retries=1)

    with pytest.raises(VersionProblem, match="version 1 was given, 2 is current"):
        client.jobs.change(job.id, etag=job.etag, max_retries=2)


def test_wrong_fields_are_named(client: StriderClient) -> None:
    with pytest.raises(RequestProblem) as failure:
        client.jobs.create(url="https://example.org/", interval_minutes=0, interval_type="weeks")

    assert [fault.field for fault in failure.value.faults] == ["interval_minutes", "interval_type"]


def test_a_name_that_is_taken_is_a_conflict(client: StriderClient) -> None:
    client.jobs.create(url="https://example.org/", name="news")

    with pytest.raises(ConflictProblem, match="another job has the name 'news'") as failure:
        client.jobs.create(url="https://example.org/", name="news")

    assert not isinstance(failure.value, TransitionProblem)


def test_lists_are_followed_through_their_pages(world: World, client: StriderClient) -> None:
    """250 jobs are two requests of 200."""
    for _ in range(250):
        client.jobs.create(url="https://example.org/")
    job_id = next(iter(world.jobs.jobs))
    for number in range(1, 4):
        run = an_execution(job_id, number, ExecutionState.COMPLETED)
        world.jobs.runs[run.execution_id] = run

    assert len({job.id for job in client.jobs.list()}) == 250
    assert len(list(client.jobs.list(limit=3))) == 3
    assert list(client.jobs.list(status="failed")) == []
    assert [run.execution_number for run in client.jobs.executions(job_id)] == [3, 2, 1]
    assert client.jobs.execution(f"{job_id}-2").has_ended
    assert client.jobs.stats(job_id).success_rate == 1.0
    assert client.jobs.status_counts()["pending"] == 250


def test_the_schedule_is_read_and_rebalanced(world: World, client: StriderClient) -> None:
    assert client.scheduler.metrics().executions.success_rate == 0.75
    assert len(client.scheduler.distribution().slots) == 96
    assert client.scheduler.rebalance_preview().applied == 0
    assert world.jobs.rebalanced == 0
    assert (client.scheduler.rebalance().applied, world.jobs.rebalanced) == (1, 1)


def test_an_id_is_one_segment_of_a_path(client: StriderClient) -> None:
    """No id reaches another route."""
    with pytest.raises(NotFoundProblem, match="there is no job"):
        client.jobs.get("a/executions")


def test_fields_of_a_newer_api_are_kept() -> None:
    document = {
        "id": "j1",
        "url": "https://a.test/",
        "status": "asleep",
        "version": 1,
        "created_at": "2026-11-20T12:00:00Z",
        "updated_at": "2026-11-20T12:00:00Z",
        "colour": "red",
    }
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, json=document))
    client = StriderClient("", options=ClientOptions("http://api.test", transport=transport))

    job = client.jobs.get("j1")

    assert (job.status, job.document()["colour"]) == ("asleep", "red")


def test_a_document_without_a_field_is_no_job() -> None:
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, json={"id": "j1"}))
    client = StriderClient("", options=ClientOptions("http://api.test", transport=transport))

    with pytest.raises(UnexpectedResponse, match="the API returned no job: url: "):
        client.jobs.get("j1")


def test_the_client_knows_the_fields_of_the_api() -> None:
    """A field that is added to one side alone would never be sent, or never be seen."""
    shown = {name for name in JobResponse.model_fields if name not in {"is_paused", "lock_acquired_at"}}

    assert set(RemoteJob.model_fields) == shown
    assert set(get_type_hints(JobChanges)) == set(JobDocument.model_fields)
    assert set(RemoteExecution.model_fields) <= set(ExecutionResponse.model_fields)
    assert set(RemoteJobStats.model_fields) <= set(JobStatsResponse.model_fields)
    assert set(RemoteMetrics.model_fields) == set(SchedulerMetricsResponse.model_fields)
    assert set(RemoteDistribution.model_fields) == set(DistributionResponse.model_fields)
    assert set(RemoteRebalance.model_fields) == set(RebalanceResponse.model_fields)
