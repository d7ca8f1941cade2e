"""The HTTP contract, on the routes themselves and fakes of their ports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import fields
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from strider.api.core import DECISION_COLUMNS
from strider.contracts import EncodeError
from strider.contracts.generated.events import SeedSubmitted
from strider.contracts.owner_signature import SenderRole
from strider.messaging.errors import Unavailable
from strider.storage.encryption import HeaderCipher
from strider.storage.rows.columns import ApiView, columns_shown
from strider.storage.rows.pages import PAGE_COLUMNS
from strider.testing.owner import HEADERS_KEY

from .world import AT, JSON, KEY, NOW_MS, World, client_of, problem_of

LISTED = [column.name for column in columns_shown(PAGE_COLUMNS, ApiView.LIST)]


def a_page_row(**fields: Any) -> dict[str, Any]:
    kinds: dict[str, Any] = {
        "fetch_sequence": 1,
        "status_code": 200,
        "content_length": 5,
        "depth": 0,
        "text_length": 3,
        "word_count": 1,
        "links_count": 2,
        "crawl_duration_ms": 7,
        "truncated": False,
        "redirect_chain": "[]",
        "warnings": "[]",
        "metadata": '{"a": "b"}',
        "crawled_at": AT,
        "first_crawled_at": AT,
        "changed_at": AT,
        "url": "https://a.test/x",
        "url_key": KEY,
        "job_id": "adhoc",
    }
    return {name: kinds.get(name, "") for name in LISTED} | fields


def a_decision_row(**fields: Any) -> dict[str, Any]:
    kinds: dict[str, Any] = {
        "depth": -1,
        "status_code": 0,
        "decided_at": AT,
        "id": "d1",
        "reason": "excluded",
    }
    return {name: kinds.get(name, "") for name in DECISION_COLUMNS} | fields


@pytest.mark.req("S3.17.11", part="/health")
@pytest.mark.parametrize("path", ["/health", "/api/v1/health"])
async def test_health_needs_no_token(world: World, path: str) -> None:
    """And it shows no internal details."""
    async with client_of(world.parts(), {}) as client:
        fine = await client.get(path)
        world.condition.is_ready = False
        poor = await client.get(path)

    assert (fine.status_code, fine.json()) == (
        200,
        {"status": "ok", "service": "api", "version": "1.2.3", "dependencies": {"kafka": True}},
    )
    assert (poor.status_code, poor.json()["status"], poor.json()["dependencies"]) == (
        503,
        "degraded",
        {"kafka": False},
    )
    assert "secret" not in poor.text


async def test_one_seed_is_accepted(world: World, client: httpx.AsyncClient) -> None:
    """202 says that the broker has it."""
    answer = await client.post(
        "/api/v1/seeds", json={"url": "https://a.test/x#top", "priority": "low", "max_depth": 1}
    )

    assert (answer.status_code, answer.json()) == (
        202,
        {
            "accepted": 1,
            "refused": 0,
            "seeds": [
                {
                    "url": "https://a.test/x",
                    "accepted": True,
                    "url_key": KEY,
                    "job_id": "adhoc",
                    "reason": "",
                    "detail": "",
                }
            ],
        },
    )
    assert world.door.submitted == [
        SeedSubmitted(
            "https://a.test/x#top", max_depth=1, priority=1, submitted_by="api", submitted_at_ms=NOW_MS
        )
    ]


@pytest.mark.fault("A7", part="encrypted by the API")
async def test_personal_headers_are_published_encrypted_for_the_origin_of_the_seed() -> None:
    world = World(headers_key=HEADERS_KEY)
    headers = {"Accept": "text/html", "Authorization": "Bearer of-the-owner"}
    async with client_of(world.parts()) as client:
        answer = await client.post("/api/v1/seeds", json={"url": "https://a.test:443/x", "headers": headers})

    (seed,) = world.door.submitted
    clear = HeaderCipher(HEADERS_KEY).decrypt(
        "Authorization", seed.headers["Authorization"], origin="https://a.test"
    )
    assert (answer.status_code, clear, seed.headers["Accept"]) == (202, "Bearer of-the-owner", "text/html")
    assert "of-the-owner" not in repr(seed) + answer.text


@pytest.mark.parametrize(
    ("world", "headers", "detail"),
    [
        pytest.param(World(), {"Authorization": "Bearer x7"}, "STRIDER_HEADERS_KEY is not set", id="no-key"),
        pytest.param(
            World(headers_key=HEADERS_KEY, sender=SenderRole.RAW),
            {"Authorization": "Bearer x7"},
            "headers: Authorization is a personal header, which only an owner may set",
            id="raw",
        ),
        pytest.param(
            World(headers_key=HEADERS_KEY),
            {"Authorization": "Bearer x7\nHost: b"},
            "headers: the value of Authorization contains a character",
            id="two-lines",
        ),
    ],
)
async def test_personal_headers_that_cannot_be_encrypted_are_refused(
    world: World, headers: dict[str, str], detail: str
) -> None:
    async with client_of(world.parts()) as client:
        answer = await client.post("/api/v1/seeds", json={"url": "https://a.test/", "headers": headers})

    assert (answer.status_code, world.door.submitted) == (422, [])
    assert detail in answer.json()["seeds"][0]["detail"]
    assert "x7" not in answer.text


async def test_each_seed_of_many_has_its_result(world: World, client: httpx.AsyncClient) -> None:
    """Those that can be crawled are submitted, the others say why not, all in their order."""
    seeds = ["https://a.test/x", {"url": "https://b.test/", "max_dept": 3}, "mailto:a@b.test"]

    answer = await client.post("/api/v1/seeds", json=seeds)

    assert (answer.status_code, answer.json()["accepted"], answer.json()["refused"]) == (202, 1, 2)
    assert [(one["url"], one["reason"], one["detail"]) for one in answer.json()["seeds"]] == [
        ("https://a.test/x", "", ""),
        ("https://b.test/", "unknown_field", "'max_dept'; did you mean 'max_depth'?"),
        ("mailto:a@b.test", "refused_scheme", "no_page"),
    ]
    assert [seed.url for seed in world.door.submitted] == ["https://a.test/x"]


async def test_a_run_is_not_closed_by_the_way(world: World, client: httpx.AsyncClient) -> None:
    """Its other seeds may not be on the topic yet: the refusal names the route that closes a run."""
    answer = await client.post("/api/v1/seeds", json=[{"run": "spring", "close": True}])

    assert answer.status_code == 422
    assert "POST /api/v1/runs/{id}/close" in answer.json()["seeds"][0]["detail"]
    assert world.door.submitted == []


@pytest.mark.req("S4.1.5")
async def test_urls_of_one_batch_may_have_different_priorities(
    world: World, client: httpx.AsyncClient
) -> None:
    """By words or by numbers; what is no priority is that seed's own mistake."""
    wanted = ["low", 3, "urgent"]
    seeds = [{"url": f"https://a.test/{n}", "priority": each} for n, each in enumerate(wanted)]

    answer = await client.post("/api/v1/seeds", json=seeds)

    assert (answer.status_code, answer.json()["accepted"], answer.json()["refused"]) == (202, 2, 1)
    assert [(seed.url[-1], seed.priority) for seed in world.door.submitted] == [
        ("0", 1),
        ("1", 3),
    ]


async def test_sender_and_time_may_be_set(world: World, client: httpx.AsyncClient) -> None:
    await client.post(
        "/api/v1/seeds", json={"url": "https://a.test/", "submitted_by": "us", "submitted_at_ms": 5}
    )

    assert [(seed.submitted_by, seed.submitted_at_ms) for seed in world.door.submitted] == [("us", 5)]


async def test_no_seed_that_can_be_crawled_is_the_callers_mistake(
    world: World, client: httpx.AsyncClient
) -> None:
    """And still each seed says why."""
    answer = await client.post("/api/v1/seeds", json=["a.test"])

    status, detail = problem_of(answer)
    assert (status, detail) == (
        422,
        "no seed can be crawled: bad_url without a scheme; did you mean https://a.test/?",
    )
    assert [one["reason"] for one in answer.json()["seeds"]] == ["bad_url"]
    assert world.door.submitted == []


@pytest.mark.parametrize(
    ("content", "headers", "status", "why"),
    [
        pytest.param(b"{", JSON, 422, "not JSON", id="no-json"),
        pytest.param(b'["1","2","3","4"]', JSON, 422, "the limit is 3", id="too-many"),
        pytest.param(b" " * 2_001, JSON, 413, "larger than 2000 bytes", id="too-large"),
        pytest.param(b'{"url": "https://a.test/"}', {}, 415, "Content-Type", id="no-type"),
        pytest.param(
            b'{"url": "https://a.test/"}', {"content-type": "text/plain"}, 415, "send JSON", id="a-web-form"
        ),
    ],
)
async def test_a_refused_body_has_a_reason(
    world: World, content: bytes, headers: dict[str, str], status: int, why: str
) -> None:
    async with client_of(world.parts()) as client:
        found, detail = problem_of(await client.post("/api/v1/seeds", content=content, headers=headers))

    assert found == status
    assert why in detail
    assert world.door.submitted == []


async def test_a_body_is_not_read_beyond_the_limit(client: httpx.AsyncClient) -> None:
    """No client fills the memory, whatever length is announced."""
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 100:
            sent += 1
            yield b" " * 1_000

    answer = await client.post("/api/v1/seeds", content=endless(), headers=JSON)

    assert answer.status_code == 413
    assert sent < 100


async def test_an_unavailable_broker_is_reported_with_the_time(
    world: World, client: httpx.AsyncClient
) -> None:
    """Never a 202 for what is nowhere."""
    world.door.failure = Unavailable("kafka", "10.0.0.7:9092 refused")

    answer = await client.post("/api/v1/seeds", json={"url": "https://a.test/"})

    assert problem_of(answer) == (503, "kafka does not respond now")
    assert (answer.headers["retry-after"], "10.0.0.7" in answer.text) == ("5", False)


async def test_a_seed_that_is_too_large_to_travel_is_the_callers(
    world: World, client: httpx.AsyncClient
) -> None:
    world.door.failure = EncodeError("seeds-submitted: 70000 bytes, the limit is 65536")

    answer = await client.post("/api/v1/seeds", json={"url": "https://a.test/"})

    assert answer.status_code == 422


async def test_pages_are_listed(world: World, client: httpx.AsyncClient) -> None:
    """Times in ISO 8601, JSON as what it says."""
    world.records.rows = [a_page_row()]

    answer = await client.get("/api/v1/pages", params={"host": "A.test", "status": 200, "limit": 10})

    document = answer.json()
    assert (answer.status_code, document["next"], len(document["items"])) == (200, None, 1)
    page = document["items"][0]
    assert set(page) == set(LISTED)
    assert (page["url"], page["metadata"], page["crawled_at"]) == (
        "https://a.test/x",
        {"a": "b"},
        "2026-11-18T12:00:00.005Z",
    )
    assert world.records.asked[0].arguments == ("a.test", "a.test", 200)


async def test_a_list_continues_where_it_ended(world: World, client: httpx.AsyncClient) -> None:
    """One row more than was asked for tells that there is more, and is not shown."""
    world.records.rows = [a_page_row(url_key=f"k{number}") for number in range(3)]

    first = (await client.get("/api/v1/pages", params={"limit": 2})).json()
    await client.get("/api/v1/pages", params={"limit": 2, "cursor": first["next"]})

    assert [page["url_key"] for page in first["items"]] == ["k0", "k1"]
    assert world.records.asked[1].arguments == (AT, "k1", "adhoc")


async def test_one_page_is_given_with_its_text(world: World, client: httpx.AsyncClient) -> None:
    world.records.rows = [a_page_row(text="all of it")]

    answer = await client.get(f"/api/v1/pages/{KEY}", params={"job": "adhoc"})

    assert (answer.status_code, answer.json()["text"]) == (200, "all of it")
    assert world.records.asked[0].arguments == (KEY, "adhoc")


async def test_a_page_that_is_not_stored_points_to_its_decisions(client: httpx.AsyncClient) -> None:
    status, detail = problem_of(await client.get(f"/api/v1/pages/{KEY}"))

    assert (status, "decisions" in detail) == (404, True)


async def test_decisions_are_listed(world: World, client: httpx.AsyncClient) -> None:
    """What plays no part is null, not a number that means something else."""
    world.records.rows = [a_decision_row(), a_decision_row(id="d2", depth=2, status_code=404)]

    answer = await client.get(
        "/api/v1/decisions", params={"url": "https://a.test/x", "reason": "excluded", "limit": 1}
    )

    document = answer.json()
    assert [(item["id"], item["depth"], item["status_code"]) for item in document["items"]] == [
        ("d1", None, None)
    ]
    assert document["next"]
    assert world.records.asked[0].arguments == (KEY, "excluded")


async def test_a_time_without_a_zone_is_utc(world: World, client: httpx.AsyncClient) -> None:
    """The same for every caller and every path."""
    await client.get(
        "/api/v1/pages", params={"since": "2026-11-18T12:00:00.005", "until": "2026-11-18T14:00+02:00"}
    )

    since, until = world.records.asked[0].arguments
    assert since == AT
    assert until == AT.replace(microsecond=0)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        pytest.param("/api/v1/pages?limit=0", "limit: should be greater", id="limit"),
        pytest.param("/api/v1/pages?limit=501", "limit: ", id="limit-too-large"),
        pytest.param("/api/v1/pages?status=abc", "status: ", id="status"),
        pytest.param("/api/v1/pages?since=yesterday", "since: ", id="since"),
        pytest.param("/api/v1/pages?since=0001-01-01T00:00:00%2B23:59", "since: in UTC", id="too-early"),
        pytest.param("/api/v1/decisions?until=9999-12-31T23:59:59-23:59", "until: in UTC", id="too-late"),
        pytest.param("/api/v1/pages?url=a.test", "url: bad_url", id="url"),
        pytest.param("/api/v1/pages?host=a/b", "host: ", id="host"),
        pytest.param("/api/v1/pages?domain=", "domain: ", id="domain"),
        pytest.param("/api/v1/pages?key=abc", "key: ", id="key"),
        pytest.param("/api/v1/pages?job=%00", "job: ", id="nul"),
        pytest.param("/api/v1/pages?cursor=abc", "cursor: ", id="cursor"),
        pytest.param("/api/v1/pages/abc", "key: ", id="key-in-path"),
        pytest.param("/api/v1/decisions?reason=%00", "reason: ", id="reason"),
        pytest.param("/api/v1/pages?hots=a.test", "hots: no such parameter; did you mean host", id="typo"),
        pytest.param("/api/v1/pages?reason=excluded", "reason: no such parameter", id="of-another-list"),
        pytest.param(f"/api/v1/pages?{'x' * 70}=1", f"{'x' * 60}…: no such parameter; known", id="endless"),
        pytest.param("/api/v1/pages?host=a.test&host=b.test", "host: it is given more than once", id="twice"),
        pytest.param(f"/api/v1/pages/{KEY}?execution=x", "execution: no such parameter", id="of-a-list"),
        pytest.param("/api/v1/decisions?limits=1", "limits: no such parameter; did you mean", id="near"),
    ],
)
async def test_a_filter_that_makes_no_sense_is_named(
    world: World, client: httpx.AsyncClient, path: str, why: str
) -> None:
    """Before a database is asked."""
    status, detail = problem_of(await client.get(path))

    assert status == 422
    assert why in detail
    assert world.records.asked == []


@pytest.mark.parametrize("path", ["/api/v1/pages", "/api/v1/pages/{key}", "/api/v1/decisions"])
async def test_every_parameter_that_is_described_is_taken(client: httpx.AsyncClient, path: str) -> None:
    """What is refused as unknown, and what the description names, must not drift apart."""
    values = {"key": KEY, "url": "https://a.test/", "host": "a.test", "domain": "a.test", "status": "200"}
    values |= {"since": "2026-11-18", "until": "2026-11-19", "limit": "1"}
    described = (await client.get("/openapi.json")).json()["paths"][path]["get"]["parameters"]
    names = [one["name"] for one in described if one["in"] == "query" and one["name"] != "cursor"]

    answers = {
        name: await client.get(path.format(key=KEY), params={name: values.get(name, "x")}) for name in names
    }

    assert names
    assert [name for name, answer in answers.items() if answer.status_code == 422] == []


async def test_an_unavailable_database_is_reported_with_the_time(
    world: World, client: httpx.AsyncClient
) -> None:
    world.records.failure = Unavailable("postgres", "at 10.0.0.7")

    answer = await client.get("/api/v1/pages")

    assert problem_of(answer) == (503, "postgres does not respond now")
    assert (answer.headers["retry-after"], "10.0.0.7" in answer.text) == ("5", False)


@pytest.mark.req("S1.2.10", part="a fault is logged and answered with 500")
async def test_an_internal_error_discloses_nothing_internal(world: World, client: httpx.AsyncClient) -> None:
    world.records.failure = RuntimeError("the secret")

    with capture_logs() as lines:
        answer = await client.get("/api/v1/pages")

    assert problem_of(answer) == (500, "internal error; see the log of the API")
    assert "secret" not in answer.text
    assert [line["exc_info"] for line in lines if "exc_info" in line] == [world.records.failure]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/nowhere", 404, id="no-such-path"),
        pytest.param("DELETE", "/api/v1/pages", 405, id="no-such-method"),
    ],
)
async def test_what_is_not_there_is_a_problem_too(
    client: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    assert problem_of(await client.request(method, path))[0] == status


async def test_the_contract_describes_itself(client: httpx.AsyncClient) -> None:
    """With every field of a seed, made from the contracts."""
    document = (await client.get("/openapi.json")).json()

    assert set(document["paths"]) == {
        "/api/v1/health",
        "/api/v1/seeds",
        "/api/v1/pages",
        "/api/v1/pages/{key}",
        "/api/v1/decisions",
        "/api/v1/frontier/recover",
        *(f"/api/v1/{name}" for name in ("frontier", "frontier/{key}", "session", "stats")),
        *(f"/api/v1/discovered-links{name}" for name in ("", "/{link_id}")),
        "/api/v1/runs/{execution_id}",
        *(f"/api/v1/runs/{{execution_id}}/{what}" for what in ("close", "pause", "resume", "cancel")),
        "/api/v1/sources",
        "/api/v1/sources/{source_id}",
        "/api/v1/sources/{source_id}/enable",
        "/api/v1/sources/{source_id}/disable",
        "/api/v1/admin/sync-enabled-sources",
        "/api/v1/jobs",
        "/api/v1/jobs/status-counts",
        "/api/v1/jobs/{job_id}",
        *(f"/api/v1/jobs/{{job_id}}/{name}" for name in ("pause", "resume", "cancel", "retry")),
        "/api/v2/jobs/{job_id}/force-run",
        *("/api/v1/jobs/{job_id}/executions", "/api/v1/jobs/{job_id}/stats"),
        "/api/v1/executions/{execution_id}",
        *("/api/v1/scheduler/metrics", "/api/v1/scheduler/distribution"),
        *("/api/v1/scheduler/rebalance", "/api/v1/scheduler/rebalance/preview"),
    }
    body = document["paths"]["/api/v1/seeds"]["post"]["requestBody"]["content"]["application/json"]
    seed = body["schema"]["anyOf"][0]
    assert set(seed["properties"]) == {field.name for field in fields(SeedSubmitted)}
    assert seed["required"] == ["url"]
    assert seed["properties"]["include"]["anyOf"][0] == {"type": "array", "items": {"type": "string"}}
    assert seed["properties"]["headers"]["anyOf"][0]["type"] == "object"
    assert seed["properties"]["delay"] == {"anyOf": [{"type": "number"}, {"type": "null"}]}
    assert json.dumps(document)


async def test_nothing_is_loaded_from_elsewhere(client: httpx.AsyncClient) -> None:
    """A page of documentation would run scripts of another host with this API's rights."""
    assert [(await client.get(path)).status_code for path in ("/docs", "/redoc")] == [404, 404]


@pytest.mark.req("S3.13.8")
@pytest.mark.parametrize("path", ["/api/v1/frontier/recover", "/api/frontier/recover"])
@pytest.mark.parametrize(("query", "seconds"), [("", 300), ("?older_than_seconds=60", 60)])
async def test_stale_requests_are_given_back(
    world: World, client: httpx.AsyncClient, path: str, query: str, seconds: int
) -> None:
    answer = await client.post(f"{path}{query}", headers=JSON)

    assert (answer.status_code, answer.json()) == (200, {"recovered": 7})
    assert world.leases.asked == [seconds]


async def test_without_redis_no_request_is_given_back(world: World, client: httpx.AsyncClient) -> None:
    world.leases.failure = Unavailable("redis", "connection refused")

    answer = await client.post("/api/v1/frontier/recover", headers=JSON)

    assert (answer.status_code, answer.json()["part"]) == (503, "redis")


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        pytest.param("?older_than_seconds=0", JSON, 422, id="no-time"),
        pytest.param("?older_than_seconds=x", JSON, 422, id="no-number"),
        pytest.param("", {}, 415, id="no-json"),
    ],
)
async def test_who_does_not_mean_it_gives_nothing_back(
    world: World, client: httpx.AsyncClient, query: str, headers: dict[str, str], status: int
) -> None:
    answer = await client.post(f"/api/v1/frontier/recover{query}", headers=headers)

    assert (answer.status_code, world.leases.asked) == (status, [])


@pytest.mark.parametrize("moment", ["0.5", "20260101", "-1", "+1700000000"])
async def test_a_number_is_no_time(client: httpx.AsyncClient, moment: str) -> None:
    """It would be read as seconds since 1970, and the list would be empty, or whole."""
    answer = await client.get("/api/v1/pages", params={"since": moment})

    assert answer.status_code == 422
    assert "write a date, such as 2026-05-01T12:00Z" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status"), [(b"", 200), (b" {} ", 200), (b'{"all":true}', 422), (b"[]", 422)]
)
async def test_recovery_takes_no_fields(client: httpx.AsyncClient, body: bytes, status: int) -> None:
    headers = {"content-type": "application/json"}
    answer = await client.post("/api/v1/frontier/recover", content=body, headers=headers)

    assert answer.status_code == status


async def test_the_description_admits_what_seeds_admit(client: httpx.AsyncClient) -> None:
    """Clients are generated from it: null for a default, names of priorities, numbers in metadata."""
    document = (await client.get("/openapi.json")).json()
    body = document["paths"]["/api/v1/seeds"]["post"]["requestBody"]["content"]["application/json"]
    fields = body["schema"]["anyOf"][0]["properties"]

    assert {"type": "string"} in fields["priority"]["anyOf"]
    assert fields["metadata"]["anyOf"][0]["additionalProperties"]["type"] == [
        *("string", "number", "boolean", "null")
    ]
    assert {"type": "string"} in fields["include"]["anyOf"]
    assert all({"type": "null"} in field["anyOf"] for name, field in fields.items() if name != "url")


async def test_a_seed_takes_settings_of_its_crawl_spec() -> None:
    """Personal headers among them are encrypted like those of the seed."""
    world = World(headers_key=HEADERS_KEY)
    spec = {"use_cookies": True, "headers": {"Cookie": "a=1"}}

    async with client_of(world.parts()) as client:
        answer = await client.post("/api/v1/seeds", json={"url": "https://a.test/", "spec": spec})

    (seed,) = world.door.submitted
    assert (answer.status_code, seed.spec) == (202, '{"use_cookies":true}')
    clear = HeaderCipher(HEADERS_KEY).decrypt("Cookie", seed.headers["Cookie"], origin="https://a.test")
    assert clear == "a=1"
    assert "a=1" not in repr(seed)


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"spec": {"max_dept": 1}}, "spec.max_dept: unknown; did you mean 'max_depth'?"),
        ({"spec": {"max_depth": 11}}, "spec.max_depth is 11, expected 0 to 10"),
        ({"spec": {"hosts": ["B.test"]}}, "spec.hosts is 'B.test', expected 'b.test'"),
        ({"spec": {"domains": ["www.b.test"]}}, "spec.domains is 'www.b.test', expected a registrable"),
        ({"spec": {"insecure_tls_hosts": ["b.test:1"]}}, "spec.insecure_tls_hosts is 'b.test:1', expected"),
        ({"spec": {"include": ["re:("]}}, "spec.include: "),
        ({"spec": {"rendering": "always"}}, "spec.rendering is 'always': there is no renderer yet"),
        ({"spec": {"recrawl_seconds": 60}}, "spec.recrawl_seconds has no effect unless continuous is true"),
        ({"spec": {"use_feeds": True}, "crawl_spec_id": "a"}, "spec: the seed names a crawl spec by"),
        ({"spec": "{}"}, "spec is a text, expected an object"),
    ],
)
async def test_an_invalid_setting_is_refused_by_its_field(
    client: httpx.AsyncClient, fields: dict[str, Any], detail: str
) -> None:
    answer = await client.post("/api/v1/seeds", json={"url": "https://a.test/", **fields})

    status, text = problem_of(answer)
    assert status == 422
    assert detail in text
