"""Routes of sources: what is refused, and how; what a change needs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from strider.api.core import (
    InvalidCursorError,
    ListCursor,
    allowed_versions,
    source_position,
    write_cursor,
)
from strider.messaging.errors import Unavailable
from strider.testing.owner import HEADERS_KEY

from .world import AT, JSON, World, client_of

MINIMAL = {"name": "Example", "url": "https://example.org/"}
SOURCES = "/api/v1/sources"


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def client(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(world.parts()) as opened:
        yield opened


def fault_of(answer: httpx.Response) -> tuple[int, str, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    return answer.status_code, document.get("field", ""), document["detail"]


async def test_a_source_is_created_with_an_id_a_location_and_a_version(
    world: World, client: httpx.AsyncClient
) -> None:
    answer = await client.post(SOURCES, json={**MINIMAL, "max_depth": 6, "metadata": {"team": "news"}})
    document = answer.json()

    assert (answer.status_code, answer.headers["location"]) == (201, f"{SOURCES}/{document['id']}")
    assert (answer.headers["etag"], document["version"]) == ('"1"', 1)
    assert (document["url"], document["max_depth"]) == ("https://example.org/", 6)
    assert document["created_at"] == "2023-11-14T22:13:20.000Z"
    assert [text.partition(":")[0] for text in document["warnings"]] == ["max_depth"]
    assert (await client.get(answer.headers["location"])).json() == document
    assert world.sources.published == [True]


@pytest.mark.parametrize(
    ("document", "field", "detail"),
    [
        ({"name": "x"}, "url", "is required"),
        ({**MINIMAL, "url": "nope"}, "url", "no URL that can be crawled"),
        ({**MINIMAL, "url": "http://10.0.0.1/"}, "url", "private_address"),
        ({**MINIMAL, "max_depht": 1}, "max_depht", "did you mean max_depth?"),
        ({**MINIMAL, "max_depth": 11}, "max_depth", "expected 0 to 10"),
        ({**MINIMAL, "id": "mine"}, "id", "cannot be set"),
        ({**MINIMAL, "headers": {"Authorization": "x"}}, "headers", "STRIDER_HEADERS_KEY"),
        ({**MINIMAL, "metadata": {"a": "b" * 100_000}}, "metadata", "limit"),
    ],
)
async def test_a_wrong_field_is_refused_by_its_name(
    world: World, client: httpx.AsyncClient, document: dict[str, Any], field: str, detail: str
) -> None:
    status, named, told = fault_of(await client.post(SOURCES, json=document))

    assert (status, named) == (422, field)
    assert detail in told
    assert not world.sources.saved


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"[]", 422),
        (b"{", 422),
        (b'{"name": "a", "name": "b", "url": "https://a.test/"}', 422),
        (b'{"max_depth": NaN}', 422),
        (b"[" * 50_000, 422),
        (b'{"metadata": {"a": "' + b"b" * 10_000_000 + b'"}}', 413),
    ],
)
async def test_a_body_that_is_no_object_is_refused(
    client: httpx.AsyncClient, body: bytes, status: int
) -> None:
    answer = await client.post(SOURCES, content=body, headers=JSON)

    assert fault_of(answer)[0] == status


async def test_all_faults_are_in_the_response(client: httpx.AsyncClient) -> None:
    answer = await client.post(SOURCES, json={"name": "", "url": "x", "scope": "all"})

    assert [each["field"] for each in answer.json()["errors"]] == ["scope", "name", "url"]


async def test_a_name_is_given_once(client: httpx.AsyncClient) -> None:
    await client.post(SOURCES, json=MINIMAL)
    other = (await client.post(SOURCES, json={**MINIMAL, "name": "Other"})).json()["id"]

    assert fault_of(await client.post(SOURCES, json=MINIMAL))[:2] == (409, "name")
    assert fault_of(await client.patch(f"{SOURCES}/{other}", json={"name": "Example"}))[:2] == (409, "name")


async def test_a_change_of_an_old_version_is_refused(client: httpx.AsyncClient) -> None:
    """With If-Match; without it the latest version is changed."""
    path = (await client.post(SOURCES, json=MINIMAL)).headers["location"]

    first = await client.patch(path, json={"max_depth": 2}, headers={"If-Match": '"1"'})
    late = await client.patch(path, json={"max_depth": 4}, headers={"If-Match": '"1"'})
    any_one = await client.patch(path, json={"max_depth": 5}, headers={"If-Match": "*"})
    free = await client.put(path, json={**MINIMAL, "priority": 3})
    gone = await client.delete(path, headers={"If-Match": '"1", W/"4"'})

    assert (first.status_code, first.headers["etag"], first.json()["max_depth"]) == (200, '"2"', 2)
    assert fault_of(late)[0] == 412
    assert "version 1 was given, 2 is current" in fault_of(late)[2]
    assert (any_one.status_code, any_one.headers["etag"]) == (200, '"3"')
    assert (free.json()["max_depth"], free.json()["priority"], free.headers["etag"]) == (0, 3, '"4"')
    assert fault_of(gone)[0] == 412


async def test_enabling_twice_changes_nothing(world: World, client: httpx.AsyncClient) -> None:
    path = (await client.post(SOURCES, json={**MINIMAL, "enabled": False})).headers["location"]

    answers = [await client.post(f"{path}/enable", json={}) for _ in range(3)]
    off = await client.post(f"{path}/disable", json={})

    assert [answer.json()["version"] for answer in answers] == [2, 2, 2]
    assert (off.json()["enabled"], off.json()["version"]) == (False, 3)
    assert world.sources.aligned == [off.json()["id"]] * 4
    assert fault_of(await client.post(f"{path}/enable", json={"a": 1}))[0] == 422
    assert fault_of(await client.post(f"{path}/enable", content=b"{}"))[0] == 415
    assert (await client.post(f"{path}/enable")).json()["enabled"] is True


async def test_a_source_with_jobs_is_removed_by_force_alone(world: World, client: httpx.AsyncClient) -> None:
    path = (await client.post(SOURCES, json=MINIMAL)).headers["location"]
    world.sources.jobs = {"id-1": 2}

    refused = await client.delete(path)
    forced = await client.delete(path, params={"force": "true"})

    assert fault_of(refused)[0] == 409
    assert "has 2 jobs" in fault_of(refused)[2]
    assert (forced.status_code, (await client.get(path)).status_code) == (204, 404)
    assert fault_of(await client.delete(path, params={"forced": "1"}))[0] == 422


async def test_lists_are_filtered_and_continued(client: httpx.AsyncClient) -> None:
    for number in range(7):
        document = {**MINIMAL, "name": f"Source {number}", "enabled": number % 2 == 0}
        await client.post(SOURCES, json=document)

    names: list[str] = []
    cursor = ""
    while True:
        answer = await client.get(SOURCES, params={"limit": 3} | ({"cursor": cursor} if cursor else {}))
        names += [item["name"] for item in answer.json()["items"]]
        if not (cursor := answer.json()["next"]):
            break
    enabled = await client.get(SOURCES, params={"enabled": "true", "name": "source"})

    assert names == [f"Source {number}" for number in range(7)][::-1]
    assert [item["name"] for item in enabled.json()["items"]] == [f"Source {n}" for n in (6, 4, 2, 0)]
    assert fault_of(await client.get(SOURCES, params={"state": "on"}))[0] == 422
    assert fault_of(await client.get(SOURCES, params={"cursor": "x"}))[0] == 422


async def test_personal_headers_are_encrypted_for_the_origins_of_a_source(world: World) -> None:
    world.sources.headers_key = HEADERS_KEY
    async with client_of(world.parts()) as client:
        document = {**MINIMAL, "headers": {"Authorization": "Bearer secret", "X-One": "1"}}
        path = (await client.post(SOURCES, json=document)).headers["location"]
        again = await client.patch(path, json={"max_depth": 2})
        moved = await client.patch(path, json={"url": "https://other.test/"})

    (stored,) = world.sources.saved.values()
    assert "secret" not in json.dumps(dict(stored.headers))
    assert (stored.headers["X-One"], again.status_code) == ("1", 200)
    assert fault_of(moved)[:2] == (422, "headers")


async def test_a_synchronisation_is_shown_or_applied(world: World, client: httpx.AsyncClient) -> None:
    path = "/api/v1/admin/sync-enabled-sources"

    shown = await client.post(path, json={"dry_run": True})
    applied = [await client.post(path), await client.post(path, json={})]

    assert (shown.status_code, shown.json()["dry_run"]) == (200, True)
    assert [answer.json()["dry_run"] for answer in applied] == [False, False]
    assert world.sources.synced == [True, False, False]
    assert fault_of(await client.post(path, json={"dryrun": True}))[:2] == (422, "dryrun")
    assert fault_of(await client.post(path, json={"dry_run": "no"}))[:2] == (422, "dry_run")


async def test_an_unavailable_database_is_503(world: World, client: httpx.AsyncClient) -> None:
    world.sources.failure = Unavailable("postgres", "no connection")

    answers = [await client.get(SOURCES), await client.get(f"{SOURCES}/x")]

    assert [fault_of(answer)[0] for answer in answers] == [503, 503]


@pytest.mark.parametrize(
    ("condition", "versions"),
    [
        (None, None),
        ("*", None),
        ('"3"', {3}),
        ('"3", "4"', {3, 4}),
        ('W/"3"', set()),
        ("3", set()),
        (f'"{"9" * 50}"', set()),
    ],
)
def test_conditions_name_versions(condition: str | None, versions: set[int] | None) -> None:
    assert allowed_versions(condition) == versions


def test_a_cursor_of_another_list_is_refused() -> None:
    with pytest.raises(InvalidCursorError):
        source_position(write_cursor(ListCursor(AT, "key", "job")))
