"""Routes of job records: what is created, changed, listed and refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from strider.contracts.generated.enums import JobState
from strider.messaging.errors import Unavailable
from tests.unit.api.world import World, client_of, problem_of

RECURRING = {
    "source_id": "uuid-from-source-manager",
    "url": "https://example.com/news",
    "interval_minutes": 360,
    "interval_type": "minutes",
    "schedule_enabled": True,
    "max_retries": 5,
    "retry_backoff_seconds": 90,
}
ONCE = {"source_id": "s1", "url": "https://example.com", "schedule_enabled": False}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def client(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(world.parts()) as opened:
        yield opened


async def created(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    response = await client.post("/api/v1/jobs", json={**RECURRING, **fields})
    assert response.status_code == 201, response.text
    return dict(response.json())


@pytest.mark.req("S1.15.2", part="recurring, with a computed next run")
async def test_a_recurring_job_is_created(world: World, client: httpx.AsyncClient) -> None:
    """With its next run, its version as ETag, and its place."""
    response = await client.post("/api/v1/jobs", json=RECURRING)

    job = response.json()
    assert (response.status_code, response.headers["location"], response.headers["etag"]) == (
        201,
        f"/api/v1/jobs/{job['id']}",
        '"1"',
    )
    assert {name: job[name] for name in RECURRING} == RECURRING
    assert (job["status"], job["adaptive_scheduling"], job["current_interval_seconds"]) == (
        "scheduled",
        True,
        21_600,
    )
    assert job["next_run_at"].endswith("Z")
    assert job["allowed_actions"] == ["pause", "cancel", "force-run"]
    assert "lock_token" not in job
    assert list(world.jobs.jobs) == [job["id"]]


@pytest.mark.req("S1.4.2")
@pytest.mark.req("S1.15.2", part="without an interval once, at once")
async def test_a_job_without_an_interval_runs_once_and_at_once(client: httpx.AsyncClient) -> None:
    job = (await client.post("/api/v1/jobs", json=ONCE)).json()

    assert (job["status"], job["interval_minutes"], job["next_run_at"]) == (
        "pending",
        None,
        "2026-11-20T12:00:00.000Z",
    )
    assert (job["url"], job["max_retries"], job["retry_backoff_seconds"]) == ("https://example.com/", 3, 60)


@pytest.mark.parametrize("source_id", [None, "", "no-such-source"])
async def test_a_job_without_a_source_is_created(client: httpx.AsyncClient, source_id: str | None) -> None:
    """Its executions fail and name it (S1.15.1)."""
    response = await client.post("/api/v1/jobs", json={"url": "https://a.test/", "source_id": source_id})

    assert response.status_code == 201


LONG = "x" * 300
JSON = "application/json"


@pytest.mark.parametrize(
    ("change", "field", "fault"),
    [
        pytest.param({"interval_minutes": 0}, "interval_minutes", "greater than or equal to 1", id="zero"),
        pytest.param({"interval_minutes": -1}, "interval_minutes", "greater than or equal to 1", id="minus"),
        pytest.param({"interval_minutes": 10**12}, "interval_minutes", "527040", id="a-million-years"),
        pytest.param({"interval_minutes": 1.5}, "interval_minutes", "integer", id="a-fraction"),
        pytest.param({"interval_minutes": "360"}, "interval_minutes", "integer", id="a-text"),
        pytest.param({"interval_type": "weeks"}, "interval_type", "'minutes', 'hours' or 'days'", id="weeks"),
        pytest.param({"interval_minutes": None}, "interval_minutes", "needs an interval", id="no-interval"),
        pytest.param({"url": "example"}, "url", "bad_url: without a scheme", id="no-url"),
        pytest.param({"url": "ftp://a.test/"}, "url", "refused_scheme", id="another-scheme"),
        pytest.param({"url": "http://127.0.0.1/"}, "url", "policy_blocked (private_address)", id="private"),
        pytest.param({"url": "http://169.254.169.254/"}, "url", "metadata_address", id="cloud-metadata"),
        pytest.param({"url": None}, "url", "valid string", id="null-url"),
        pytest.param({"url": ""}, "url", "bad_url", id="empty-url"),
        pytest.param({"schedule_enabled": "yes"}, "schedule_enabled", "boolean", id="yes"),
        pytest.param({"schedule_enabled": False}, "schedule_enabled", "schedule_enabled: true", id="both"),
        pytest.param({"max_retries": -1}, "max_retries", "greater than or equal to 0", id="retries"),
        pytest.param({"max_retries": 10**9}, "max_retries", "100", id="many-retries"),
        pytest.param({"retry_backoff_seconds": 0}, "retry_backoff_seconds", "1", id="no-wait"),
        pytest.param({"metadata": [1]}, "metadata", "dictionary", id="a-list"),
        pytest.param({"metadata": {"a": "\0"}}, "metadata", "NUL", id="nul"),
        pytest.param({"name": LONG}, "name", "at most 200", id="long-name"),
        pytest.param({"source_id": "\ud800"}, "source_id", "surrogate", id="half-a-character"),
        pytest.param({"intervall": 5}, "intervall", "no such field", id="unknown"),
        pytest.param(
            {"interval_minute": 5}, "interval_minute", "did you mean interval_minutes?", id="misspelt"
        ),
        pytest.param({"status": "running"}, "status", "no such field", id="status"),
    ],
)
async def test_a_field_that_cannot_be_is_named(
    world: World, client: httpx.AsyncClient, change: dict[str, Any], field: str, fault: str
) -> None:
    response = await client.post(
        "/api/v1/jobs",
        content=json.dumps({**RECURRING, **change}).encode(),
        headers={"content-type": "application/json"},
    )

    status, detail = problem_of(response)
    assert (status, [each["field"] for each in response.json()["errors"]]) == (422, [field])
    assert detail.startswith(f"{field}: ")
    assert fault in detail
    assert world.jobs.jobs == {}


async def test_all_wrong_fields_are_named_at_once(client: httpx.AsyncClient) -> None:
    body = {"interval_minutes": 0, "interval_type": "weeks", "colour": "red"}

    response = await client.post("/api/v1/jobs", json=body)

    named = [each["field"] for each in response.json()["errors"]]
    assert named == ["interval_minutes", "interval_type", "url", "colour"]


@pytest.mark.parametrize(
    ("content", "kind", "status", "fault"),
    [
        pytest.param(b"{", JSON, 422, "not JSON", id="cut"),
        pytest.param(b"[]", JSON, 422, "one JSON object", id="a-list"),
        pytest.param(b'{"url": "a", "url": "b"}', JSON, 422, "url is given more than", id="twice"),
        pytest.param(b'{"metadata": {"a": NaN}}', JSON, 422, "NaN is not a number", id="nan"),
        pytest.param(b'{"a":' * 5_000, JSON, 422, "not JSON", id="deep"),
        pytest.param(b'{"max_retries": ' + b"9" * 5_000 + b"}", JSON, 422, "digits", id="digits"),
        pytest.param(b"url=https://a.test/", "application/x-www-form-urlencoded", 415, "JSON", id="a-form"),
        pytest.param(
            b'{"metadata": {"a": "' + b"x" * 10_000_000 + b'"}}',
            JSON,
            413,
            "larger than",
            id="ten-megabytes",
        ),
    ],
)
async def test_a_body_that_is_no_job_is_refused(  # noqa: PLR0917  # a case
    world: World, client: httpx.AsyncClient, content: bytes, kind: str, status: int, fault: str
) -> None:
    response = await client.post("/api/v1/jobs", content=content, headers={"content-type": kind})

    found, detail = problem_of(response)
    assert found == status
    assert fault in detail
    assert world.jobs.jobs == {}


async def test_metadata_beyond_its_limit_is_refused_within_a_body_that_is_not(
    client: httpx.AsyncClient,
) -> None:
    response = await client.post("/api/v1/jobs", json={**RECURRING, "metadata": {"a": "x" * 70_000}})

    assert problem_of(response)[0] == 422
    assert "metadata: 70009 bytes as JSON, the limit is 65536" in response.json()["detail"]


async def test_two_jobs_cannot_have_one_name(client: httpx.AsyncClient) -> None:
    await created(client, name="news")

    response = await client.post("/api/v1/jobs", json={**RECURRING, "name": "news"})

    assert problem_of(response)[0] == 409
    assert response.json()["errors"] == [{"field": "name", "detail": "another job has the name 'news'"}]


async def test_a_job_is_read_with_its_version(client: httpx.AsyncClient) -> None:
    job = await created(client)

    response = await client.get(f"/api/v1/jobs/{job['id']}")

    assert (response.status_code, response.json(), response.headers["etag"]) == (200, job, '"1"')


async def test_a_change_leaves_what_it_does_not_name(client: httpx.AsyncClient) -> None:
    job = await created(client, metadata={"team": "a"})

    response = await client.put(
        f"/api/v1/jobs/{job['id']}", json={"interval_minutes": 12, "interval_type": "hours"}
    )

    changed = response.json()
    assert (response.status_code, response.headers["etag"]) == (200, '"2"')
    assert (changed["interval_minutes"], changed["interval_type"]) == (12, "hours")
    assert (changed["current_interval_seconds"], changed["metadata"]) == (43_200, {"team": "a"})


async def test_an_interval_of_null_makes_a_job_of_one_run(client: httpx.AsyncClient) -> None:
    job = await created(client)

    changed = (await client.put(f"/api/v1/jobs/{job['id']}", json={"interval_minutes": None})).json()

    assert (changed["interval_minutes"], changed["schedule_enabled"]) == (None, False)


@pytest.mark.parametrize(("etag", "status"), [('"1"', 200), ('W/"1"', 200), ("*", 200), ('"7"', 412)])
async def test_only_the_named_version_is_changed(client: httpx.AsyncClient, etag: str, status: int) -> None:
    job = await created(client)

    response = await client.put(
        f"/api/v1/jobs/{job['id']}", json={"max_retries": 1}, headers={"If-Match": etag}
    )

    assert response.status_code == status
    after = (await client.get(f"/api/v1/jobs/{job['id']}")).json()
    assert after["max_retries"] == (1 if status == 200 else 5)
    if status == 412:
        assert "version 7 was given, 1 is current" in problem_of(response)[1]


@pytest.mark.parametrize("etag", ["1", '"one"', '"1", "2"', ""])
async def test_what_is_no_version_is_refused(client: httpx.AsyncClient, etag: str) -> None:
    job = await created(client)

    response = await client.put(f"/api/v1/jobs/{job['id']}", json={}, headers={"If-Match": etag})

    assert problem_of(response)[0] == 422
    assert response.json()["errors"][0]["field"] == "If-Match"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": "http://10.0.0.1/"}, "url"),
        ({"interval_minutes": 0}, "interval_minutes"),
        ({"id": "mine"}, "id"),
        ({"interval_minutes": 10**12}, "interval_minutes"),
    ],
)
async def test_a_change_that_cannot_be_changes_nothing(
    client: httpx.AsyncClient, change: dict[str, Any], field: str
) -> None:
    job = await created(client)

    response = await client.put(f"/api/v1/jobs/{job['id']}", json=change)

    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, field)
    assert (await client.get(f"/api/v1/jobs/{job['id']}")).json() == job


PATCH = {"content-type": "application/merge-patch+json"}


async def patched(client: httpx.AsyncClient, job: str, change: Any, **headers: str) -> httpx.Response:
    content = json.dumps(change).encode()
    return await client.patch(f"/api/v1/jobs/{job}", content=content, headers={**PATCH, **headers})


@pytest.mark.parametrize(
    ("change", "settings", "metadata"),
    [
        ({"crawl_settings": {"max_depth": 1}}, {"max_depth": 1, "scope": "host", "labels": {"a": "1"}}, None),
        ({"crawl_settings": {"scope": None}}, {"max_depth": 2, "labels": {"a": "1"}}, None),
        (
            {"crawl_settings": {"labels": {"b": "2"}}},
            {"max_depth": 2, "scope": "host", "labels": {"a": "1", "b": "2"}},
            None,
        ),
        ({"crawl_settings": None}, {}, None),
        ({"metadata": {"team": None, "desk": "b"}}, None, {"desk": "b"}),
        ({"metadata": None, "max_retries": None, "name": None}, None, {}),
        ({}, None, None),
    ],
)
async def test_a_merge_patch_changes_single_members(
    client: httpx.AsyncClient, change: dict[str, Any], settings: dict[str, Any], metadata: dict[str, Any]
) -> None:
    """What it does not name stays; null removes, and stands for the default of a field."""
    before = {"max_depth": 2, "scope": "host", "labels": {"a": "1"}}
    job = await created(client, crawl_settings=before, metadata={"team": "a"}, name="news")

    response = await patched(client, job["id"], change)

    after = response.json()
    assert (response.status_code, response.headers["etag"]) == (200, '"2"')
    assert after["crawl_settings"] == (before if settings is None else settings)
    assert after["metadata"] == ({"team": "a"} if metadata is None else metadata)
    assert after["interval_minutes"] == job["interval_minutes"]
    assert (after["max_retries"], after["name"]) == ((3, "") if "name" in change else (5, "news"))


async def test_a_merge_patch_may_be_about_a_version(client: httpx.AsyncClient) -> None:
    job = (await created(client))["id"]

    current = await patched(client, job, {"metadata": {"a": 1}}, **{"if-match": '"1"'})
    stale = await patched(client, job, {"metadata": {"a": 2}}, **{"if-match": '"1"'})

    assert (current.status_code, stale.status_code, stale.headers["etag"]) == (200, 412, '"2"')
    assert (await client.get(f"/api/v1/jobs/{job}")).json()["metadata"] == {"a": 1}


async def test_merge_patches_at_the_same_time_all_apply(world: World, client: httpx.AsyncClient) -> None:
    """Each reads the job again that another one has changed meanwhile."""
    job = (await created(client))["id"]

    responses = await asyncio.gather(*(patched(client, job, {"metadata": {f"m{n}": n}}) for n in range(5)))

    assert [each.status_code for each in responses] == [200] * 5
    assert world.jobs.jobs[job].metadata == {f"m{n}": n for n in range(5)}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": None}, "url"),
        ({"url": "http://10.0.0.1/"}, "url"),
        ({"colour": "red"}, "colour"),
        ({"crawl_settings": {"max_depht": 1}}, "crawl_settings.max_depht"),
        ({"crawl_settings": "max_depth=1"}, "crawl_settings"),
        ({"metadata": {"b": "x" * 40_000}}, "metadata"),
    ],
)
async def test_a_merge_patch_that_cannot_be_changes_nothing(
    client: httpx.AsyncClient, change: dict[str, Any], field: str
) -> None:
    job = await created(client, metadata={"a": "x" * 40_000})

    response = await patched(client, job["id"], change)

    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, field)
    assert (await client.get(f"/api/v1/jobs/{job['id']}")).json() == job


async def test_a_merge_patch_has_a_content_type(client: httpx.AsyncClient) -> None:
    job = (await created(client))["id"]

    responses = [
        await client.patch(f"/api/v1/jobs/{job}", content=b"{}", headers={"content-type": kind})
        for kind in ("application/merge-patch+json; charset=utf-8", "application/json", "text/plain")
    ]
    created_by_patch = await client.post("/api/v1/jobs", content=b"{}", headers=PATCH)

    assert [each.status_code for each in responses] == [200, 200, 415]
    assert responses[2].headers["accept-patch"] == "application/merge-patch+json, application/json"
    assert created_by_patch.status_code == 415


async def test_a_deleted_job_is_gone(client: httpx.AsyncClient) -> None:
    job = await created(client)

    deleted = await client.delete(f"/api/v1/jobs/{job['id']}")
    again = await client.delete(f"/api/v1/jobs/{job['id']}")

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert problem_of(again) == (404, f"there is no job '{job['id']}'; list them with GET /api/v1/jobs")


async def test_a_running_job_must_be_cancelled_before_it_is_deleted(
    world: World, client: httpx.AsyncClient
) -> None:
    job = await created(client)
    world.jobs.jobs[job["id"]] = replace(world.jobs.jobs[job["id"]], state=JobState.RUNNING)

    response = await client.delete(f"/api/v1/jobs/{job['id']}")

    assert problem_of(response)[0] == 409
    assert (response.json()["state"], response.json()["allowed"]) == ("running", ["cancel"])


async def test_jobs_are_listed_newest_first_by_pages(client: httpx.AsyncClient) -> None:
    ids = [(await created(client, source_id=f"s{number % 2}"))["id"] for number in range(5)]

    first = (await client.get("/api/v1/jobs", params={"limit": 2})).json()
    second = (await client.get("/api/v1/jobs", params={"limit": 2, "cursor": first["next"]})).json()
    third = (await client.get("/api/v1/jobs", params={"limit": 2, "cursor": second["next"]})).json()

    listed = [job["id"] for page in (first, second, third) for job in page["items"]]
    assert (listed, third["next"]) == (ids[::-1], None)
    of_one = (await client.get("/api/v1/jobs", params={"source_id": "s1"})).json()["items"]
    assert [job["id"] for job in of_one] == [ids[3], ids[1]]
    assert (await client.get("/api/v1/jobs", params={"status": "failed"})).json()["items"] == []


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({"status": "sleeping"}, "status"),
        ({"state": "failed"}, "state: no such parameter; did you mean status?"),
        ({"limit": 0}, "limit"),
        ({"limit": 501}, "limit"),
        ({"cursor": "forged"}, "cursor"),
        ({"source_id": "\0"}, "source_id"),
    ],
)
async def test_a_filter_that_cannot_be_is_named(
    client: httpx.AsyncClient, params: dict[str, Any], fault: str
) -> None:
    status, detail = problem_of(await client.get("/api/v1/jobs", params=params))

    assert status == 422
    assert fault in detail


@pytest.mark.req("S1.13.5", part="numbers of jobs by state")
async def test_jobs_are_counted_by_status(client: httpx.AsyncClient) -> None:
    """Every state is there, also those of no job."""
    await created(client)
    await client.post("/api/v1/jobs", json=ONCE)

    counts = (await client.get("/api/v1/jobs/status-counts")).json()

    assert counts == {
        "total": 2,
        "counts": {state.value: 0 for state in JobState} | {"scheduled": 1, "pending": 1},
    }


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/jobs/j1", "/api/v1/scheduler/metrics"])
async def test_a_database_that_is_away_is_reported(
    world: World, client: httpx.AsyncClient, path: str
) -> None:
    world.jobs.failure = Unavailable("postgres", "10.0.0.7 refused")

    response = await client.get(path)

    assert problem_of(response) == (503, "postgres does not respond now")
    assert response.headers["retry-after"] == "5"


async def test_a_path_with_several_methods_names_all_of_them(client: httpx.AsyncClient) -> None:
    response = await client.post("/api/v1/jobs/j1", json={})

    assert (problem_of(response)[0], response.headers["allow"]) == (405, "DELETE, GET, PATCH, PUT")
