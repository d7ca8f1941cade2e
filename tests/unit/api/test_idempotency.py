"""Requests with an Idempotency-Key: carried out once, and what a second one gets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from strider.api import log_events
from strider.api.core import RequestRecord, fingerprint_of, kept_response, read_record, scope_of, write_record
from strider.api.core.idempotency import MAX_KEPT_BYTES
from strider.contracts.generated.events import SeedSubmitted
from strider.messaging.errors import Unavailable
from strider.runtime.access_tokens import Role
from strider.testing.callers import bearer

from .world import World, client_of, problem_of

SEED = {"url": "https://a.test/x"}
KEY = {"Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324"}


async def post(client: httpx.AsyncClient, body: Any = None, **more: Any) -> httpx.Response:
    path, headers = more.pop("path", "/api/v1/seeds"), {**KEY, **more.pop("more", {})}
    return await client.post(path, json=SEED if body is None else body, headers=headers, **more)


@pytest.mark.parametrize("second", ["/api/v1/seeds", "/api/seeds"])
async def test_the_same_request_is_carried_out_once(
    world: World, client: httpx.AsyncClient, second: str
) -> None:
    """Under an alias too: it is the same route."""
    first, again = await post(client), await post(client, path=second)

    assert (first.status_code, again.status_code) == (202, 202)
    assert again.content == first.content
    assert again.headers["content-type"] == first.headers["content-type"] == "application/json"
    assert ("idempotent-replayed" in first.headers, again.headers["idempotent-replayed"]) == (False, "true")
    assert again.headers.get_list("content-length") == [str(len(first.content))]
    assert len(world.door.submitted) == 1


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"body": {"url": "https://a.test/y"}}, id="body"),
        pytest.param({"params": {"x": "1"}}, id="query"),
    ],
)
async def test_a_key_is_refused_for_another_request(
    world: World, client: httpx.AsyncClient, changed: dict[str, Any]
) -> None:
    await post(client)

    status, detail = problem_of(await post(client, **changed))

    assert (status, detail.partition(":")[0]) == (422, "Idempotency-Key")
    assert len(world.door.submitted) == 1


async def test_a_key_is_refused_for_another_version_or_resource(
    world: World, client: httpx.AsyncClient
) -> None:
    """Else another If-Match, or another path, would get the response to the first request."""
    new = {"name": "Example", "url": "https://example.org/"}
    place = (await client.post("/api/v1/sources", json=new)).headers["location"]
    first = await post(client, {}, path=f"{place}/disable", more={"If-Match": '"1"'})

    same = await post(client, {}, path=f"{place}/disable", more={"If-Match": '"1"'})
    others = [
        await post(client, {}, path=f"{place}/disable", more={"If-Match": '"2"'}),
        await post(client, {}, path=f"{place}/disable"),
        await post(client, {}, path=f"{place}/enable", more={"If-Match": '"1"'}),
        await post(client, path="/api/v1/seeds"),
    ]

    assert (first.status_code, same.status_code, same.json()) == (200, 200, first.json())
    assert [each.status_code for each in others] == [422] * 4
    assert {each.json()["errors"][0]["field"] for each in others} == {"Idempotency-Key"}
    assert (await client.get(place)).json()["version"] == 2
    assert world.door.submitted == []


async def test_a_key_is_its_callers(world: World, client: httpx.AsyncClient) -> None:
    await post(client)
    async with client_of(world.parts(), bearer(Role.USER, subject="ada")) as other:
        theirs = await post(other, {"url": "https://a.test/theirs"})

    assert theirs.status_code == 202
    assert len(world.door.submitted) == 2


async def test_requests_without_a_key_are_carried_out_each_time(
    world: World, client: httpx.AsyncClient
) -> None:
    """And need no Redis."""
    world.responses.failure = Unavailable("redis", "connection refused")

    answers = [await client.post("/api/v1/seeds", json=SEED) for _ in range(2)]

    assert [each.status_code for each in answers] == [202, 202]
    assert len(world.door.submitted) == 2


async def test_without_redis_a_request_with_a_key_is_refused(world: World, client: httpx.AsyncClient) -> None:
    world.responses.failure = Unavailable("redis", "connection refused")

    answer = await post(client)

    assert (problem_of(answer)[0], answer.json()["part"], "retry-after" in answer.headers) == (
        503,
        "redis",
        True,
    )
    assert world.door.submitted == []


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([b""], id="empty"),
        pytest.param([b"x" * 256], id="long"),
        pytest.param([b"a b"], id="blank"),
        pytest.param(["é".encode()], id="no-ascii"),
        pytest.param([b"a", b"b"], id="two"),
    ],
)
async def test_a_key_that_is_none_is_refused_by_name(
    world: World, client: httpx.AsyncClient, keys: list[bytes]
) -> None:
    answer = await client.post(
        "/api/v1/seeds", json=SEED, headers=[(b"Idempotency-Key", key) for key in keys]
    )

    assert problem_of(answer)[0] == 422
    assert answer.json()["detail"].startswith("Idempotency-Key: send one key of 1 to 255")
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"
    assert world.door.submitted == []


async def test_only_a_caller_with_the_role_stores_anything(world: World) -> None:
    async with client_of(world.parts(), {}) as client:
        answer = await post(client)

    assert (answer.status_code, world.responses.records) == (401, {})


async def test_a_body_is_hashed_up_to_the_limit_alone(world: World, client: httpx.AsyncClient) -> None:
    answer = await post(client, ["x" * 3_000])

    assert (answer.status_code, world.responses.records) == (413, {})


async def test_a_request_that_was_refused_has_its_key_free_again(
    world: World, client: httpx.AsyncClient
) -> None:
    """It has changed nothing; the reason may pass, and a mistake may be corrected."""
    mistaken = await post(client, {"url": "a.test"})
    world.door.failure = Unavailable("kafka", "")
    failed = await post(client)
    world.door.failure = RuntimeError("a fault")
    faulty = await post(client)
    world.door.failure = None
    done = await post(client)

    assert [each.status_code for each in (mistaken, failed, faulty, done)] == [422, 503, 500, 202]
    assert len(world.door.submitted) == 1


@dataclass
class HeldDoor:
    """Accepts seeds when it is opened."""

    entered: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    submitted: list[SeedSubmitted] = field(default_factory=list)

    async def publish(self, seeds: Sequence[SeedSubmitted]) -> None:
        self.entered.set()
        await self.opened.wait()
        self.submitted += seeds


async def test_a_request_is_refused_while_the_same_one_is_in_progress(world: World) -> None:
    held = HeldDoor()
    world.door = held  # type: ignore[assignment]  # the same port
    async with client_of(world.parts()) as client:
        first = asyncio.create_task(post(client))
        await held.entered.wait()
        second = await post(client)
        other = await post(client, {"url": "https://a.test/y"})
        held.opened.set()
        done, again = await first, await post(client)

    assert (second.status_code, second.headers["retry-after"]) == (409, "1")
    assert "in progress" in second.json()["detail"]
    assert other.status_code == 422
    assert (done.status_code, again.json()) == (202, done.json())
    assert len(held.submitted) == 1


async def test_a_request_that_takes_too_long_ends_before_its_record_does() -> None:
    """Else a second one would be carried out beside it."""
    world = World(handling_seconds=0.05)
    world.door = HeldDoor()  # type: ignore[assignment]  # the same port
    async with client_of(world.parts()) as client:
        answer = await post(client)

    assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
    assert world.responses.records == {}


@pytest.mark.parametrize("body", [SEED, {"url": "a.test"}], ids=["done", "refused"])
async def test_redis_that_goes_away_meanwhile_changes_no_response(
    world: World, client: httpx.AsyncClient, body: dict[str, str]
) -> None:
    world.responses.failure_at_the_end = Unavailable("redis", "connection refused")

    with capture_logs() as lines:
        answer = await post(client, body)

    assert answer.status_code == (202 if body is SEED else 422)
    assert [line["event"] for line in lines] == [
        log_events.RESPONSE_NOT_KEPT.text,
        log_events.API_REQUEST_HANDLED.text,
    ]


async def test_a_response_that_is_too_large_to_keep_is_not_carried_out_again(
    world: World, client: httpx.AsyncClient
) -> None:
    """The second request gets to know that the first one was carried out."""
    await post(client)
    (scope,) = world.responses.records
    record = read_record(world.responses.records[scope])
    large = kept_response(202, (), json.dumps([f"{n}{hash(str(n))}" for n in range(20_000)]).encode())
    world.responses.records[scope] = write_record(RequestRecord(record.fingerprint, record.token, large))

    status, detail = problem_of(await post(client))

    assert large.body is None
    assert (status, "carried out, with status 202" in detail) == (409, True)
    assert len(world.responses.records[scope]) < MAX_KEPT_BYTES
    assert len(world.door.submitted) == 1


async def test_the_description_has_the_header_and_what_it_leads_to(client: httpx.AsyncClient) -> None:
    paths = (await client.get("/openapi.json")).json()["paths"]
    (header,) = paths["/api/v1/seeds"]["post"]["parameters"]

    assert (header["name"], header["in"], header["required"]) == ("Idempotency-Key", "header", False)
    assert {"409", "422", "503"} <= paths["/api/v1/seeds"]["post"]["responses"].keys()


Parts = tuple[str, str, bytes, list[tuple[str, str]], bytes]
HEADER = st.tuples(st.sampled_from(["if-match", "content-type"]), st.text(max_size=5))
PARTS = st.tuples(
    st.text(max_size=5),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.lists(HEADER, max_size=2).map(sorted),
    st.binary(),
)


@given(PARTS, PARTS)
def test_two_requests_have_one_hash_if_they_are_the_same(one: Parts, other: Parts) -> None:
    """Whatever stands at the borders of their parts."""
    assert (fingerprint_of(*one) == fingerprint_of(*other)) is (one == other)
    assert (scope_of(*one[:2]) == scope_of(*other[:2])) is (one[:2] == other[:2])


def test_headers_that_change_nothing_are_not_hashed() -> None:
    """A proxy, or another version of a client, may send others with the same request."""
    one = [("If-Match", '"3"'), ("user-agent", "a"), ("accept", "*/*")]
    other = [("accept-encoding", "gzip"), ("if-match", '"3"')]

    assert fingerprint_of("POST", "/", b"", one, b"") == fingerprint_of("POST", "/", b"", other, b"")


@given(st.binary(max_size=500), st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=3))
def test_a_record_is_read_as_it_was_written(body: bytes, headers: list[tuple[str, str]]) -> None:
    begun = RequestRecord("f", "t")
    done = RequestRecord("f", "t", kept_response(201, headers, body))

    assert [read_record(write_record(each)) for each in (begun, done)] == [begun, done]
