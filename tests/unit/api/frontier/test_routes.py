"""URLs of the frontier and discovered links over HTTP: filters, cursors, commands, refusals."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from strider.api.routes.frontier import MAX_CANCELLED_URLS
from strider.contracts.partitioning import shard_of_host
from strider.messaging.errors import Unavailable
from tests.unit.api.world import AT, JSON, KEY, NoRuns, World, client_of, problem_of

FRONTIER = "/api/v1/frontier"
LINKS = "/api/v1/discovered-links"


def an_entry(**changes: Any) -> dict[str, Any]:
    """Return a row of the table `urls`."""
    texts = ("status", "reason", "crawl_spec_id", "referrer", "redirect_target", "error_class")
    numbers = ("http_status", "depth", "priority", "tries", "error_count")
    row: dict[str, Any] = {**dict.fromkeys(texts, ""), **dict.fromkeys(numbers, 0)}
    row |= {"url_key": KEY, "job_id": "news", "url": "https://a.test/x", "host": "a.test", "domain": "a.test"}
    row |= {"state": "pending", "execution_id": "run-1", "discovered_at": AT, "last_crawled_at": None}
    return row | {"next_crawl_at": AT, "closed_at": None, "updated_at": AT} | changes


def a_link(**changes: Any) -> dict[str, Any]:
    """Return a row of the query of discovered links."""
    row: dict[str, Any] = {"id": "d1", "outcome": "refused", "url_key": KEY, "job_id": "news"}
    row |= {"url": "https://a.test/x", "host": "a.test", "domain": "a.test", "execution_id": "run-1"}
    row |= {"page_url": "https://a.test/", "reason": "out_of_scope", "detail": "", "state": "", "depth": -1}
    return row | {"found_at": AT} | changes


async def test_entries_are_listed_by_key_with_state_due_time_and_reason(
    world: World, client: httpx.AsyncClient
) -> None:
    world.records.rows = [an_entry(job_id="a"), an_entry(job_id="b")]

    first = (await client.get(FRONTIER, params={"host": "A.test", "state": "pending", "limit": 1})).json()
    await client.get(FRONTIER, params={"cursor": first["next"], "reason": "retry"})

    (item,) = first["items"]
    assert (item["job_id"], item["state"], item["due_at"]) == ("a", "pending", "2026-11-18T12:00:00.005Z")
    assert (item["open"], item["place"]) == (True, None)
    asked, behind = world.records.asked
    assert "domain = $1 AND host = $2 AND state = $3" in asked.sql
    assert asked.sql.endswith("ORDER BY url_key, job_id LIMIT 2")
    assert behind.arguments == ("retry", KEY, "a")


@pytest.mark.parametrize("path", [FRONTIER, LINKS, "/api/frontier/urls"])
@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "1000000000"}, "limit"),
        ({"cursor": "forged"}, "cursor"),
        ({"cursor": "WzEsMl0"}, "cursor"),
        ({"hots": "a.test"}, "did you mean host?"),
        ({"key": "12"}, "64 hexadecimal digits"),
        ({"url": "mailto:a@b.test"}, "url"),
        ({"reason": "out_of_scop"}, "did you mean out_of_scope?"),
        ({"job": "a\0b"}, "NUL"),
        ({"since": "20260101"}, "since"),
    ],
)
async def test_a_filter_that_cannot_match_is_refused_by_its_name(
    world: World, client: httpx.AsyncClient, path: str, params: dict[str, str], said: str
) -> None:
    answer = await client.get(path, params=params)

    assert problem_of(answer)[0] == 422
    assert said in answer.json()["detail"]
    assert world.records.asked == []


@pytest.mark.parametrize(
    ("path", "params", "said"),
    [
        (FRONTIER, {"state": "waiting"}, "state"),
        (LINKS, {"outcome": "lost"}, "outcome"),
        (LINKS, {"page": "a b"}, "page"),
        (f"{FRONTIER}/none", {}, "64 hexadecimal digits"),
        (f"{FRONTIER}/{KEY}", {"jobs": "x"}, "did you mean job?"),
    ],
)
async def test_a_value_that_is_none_is_refused(
    client: httpx.AsyncClient, path: str, params: dict[str, str], said: str
) -> None:
    answer = await client.get(path, params=params)

    assert problem_of(answer)[0] == 422
    assert said in answer.json()["detail"]


@pytest.mark.parametrize(
    ("where", "place"),
    [(["started"], "started"), ([""], ""), (Unavailable("redis", "gone"), None)],
    ids=["leased", "gone", "no-redis"],
)
async def test_a_url_is_shown_with_all_that_is_stored_of_it(
    world: World, where: Any, place: str | None
) -> None:
    world.runs = NoRuns(where=where)
    world.records.tables = {"urls": [an_entry()]}
    async with client_of(world.parts()) as client:
        shown = (await client.get(f"{FRONTIER}/{KEY.upper()}", params={"job": "news"})).json()

    assert (shown["url"], shown["url_key"], shown["decisions"]) == ("https://a.test/x", KEY, [])
    assert [entry["place"] for entry in shown["entries"]] == [place]
    (names,) = world.records.asked[-1].arguments
    assert "a.test" in names


async def test_a_key_without_anything_is_not_found(client: httpx.AsyncClient) -> None:
    answers = [
        await client.get(f"{FRONTIER}/{KEY}"),
        await client.delete(f"{FRONTIER}/{KEY}"),
        await client.get(f"{LINKS}/{KEY}.news"),
        await client.delete(f"{LINKS}/nothing"),
    ]

    assert {problem_of(answer)[0] for answer in answers} == {404}


@pytest.mark.parametrize("path", [FRONTIER, "/api/frontier/add"])
async def test_a_url_is_submitted_as_a_seed_of_the_caller(
    world: World, client: httpx.AsyncClient, path: str
) -> None:
    """A repeat with the same Idempotency-Key submits nothing."""
    document, key = {"url": "https://a.test/x", "job_id": "news"}, {"idempotency-key": "k"}
    answer = await client.post(path, json=document, headers=key)
    again = await client.post(path, json=document, headers=key)

    (seed,) = world.door.submitted
    assert (answer.status_code, again.headers["idempotent-replayed"]) == (202, "true")
    assert seed.submitted_by not in {"", "api"}
    entry = f"{FRONTIER}/{KEY}?job=news"
    assert (answer.json()["entry"], answer.headers["location"]) == (entry, entry)
    assert answer.json()["decisions"] == f"/api/v1/decisions?key={KEY}&job=news"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "mailto:a@b.test"}, "url"),
        ({"url": "http://127.0.0.1/"}, "url"),
        ({"seeds": ["https://a.test/"]}, "seeds"),
    ],
)
async def test_a_url_that_cannot_be_crawled_is_refused_by_its_field(
    world: World, client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    answer = await client.post(FRONTIER, json=body)

    assert problem_of(answer)[0] == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert world.door.submitted == []


@pytest.mark.parametrize("body", [b"[]", b'"https://a.test/"', b"{", b""])
async def test_a_body_that_is_no_object_is_refused(client: httpx.AsyncClient, body: bytes) -> None:
    assert problem_of(await client.post(FRONTIER, content=body, headers=JSON))[0] == 422


async def test_a_url_is_taken_out_of_the_queue_of_each_of_its_runs(
    world: World, client: httpx.AsyncClient
) -> None:
    """One command for each, to the owner of its shard; a repeat publishes nothing, and says the same."""
    world.records.rows = [
        an_entry(job_id="a"),
        an_entry(job_id="b", execution_id="run-2", state="completed", closed_at=AT),
        an_entry(job_id="c", execution_id="run-3", state="completed", closed_at=AT, next_crawl_at=None),
    ]
    answers = [await client.delete(f"{FRONTIER}/{KEY}", params={"reason": "asked to"}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json() == answers[1].json()
    assert [each["execution_id"] for each in answers[0].json()["cancelled"]] == ["run-1", "run-2"]
    assert isinstance(world.runs, NoRuns)
    first, second = world.runs.commands
    assert (first.what, first.is_wish, first.url_key, first.reason) == ("cancel_url", True, KEY, "asked to")
    assert (first.job_id, first.execution_id, first.shard) == ("a", "run-1", shard_of_host("a.test", 12))
    assert first.event_id != second.event_id


@pytest.mark.parametrize("state", ["in_progress", "completed", "failed"])
async def test_a_url_that_is_not_in_the_queue_is_not_taken_out(
    world: World, client: httpx.AsyncClient, state: str
) -> None:
    """The state is named; a page on its way is processed whatever is commanded."""
    due = AT if state == "in_progress" else None
    world.records.rows = [an_entry(state=state, next_crawl_at=due, closed_at=None if due else AT)]

    answer = await client.delete(f"{FRONTIER}/{KEY}")

    assert (problem_of(answer)[0], answer.json()["state"]) == (409, state)
    assert isinstance(world.runs, NoRuns)
    assert world.runs.commands == []


async def test_the_number_of_cancelled_urls_is_limited(world: World) -> None:
    world.runs = NoRuns(cancelled=MAX_CANCELLED_URLS)
    world.records.rows = [an_entry()]
    async with client_of(world.parts()) as client:
        answer = await client.delete(f"{FRONTIER}/{KEY}")

    assert problem_of(answer)[0] == 409
    assert "10000 URLs" in answer.json()["detail"]


async def test_links_are_listed_by_page_outcome_and_reason(world: World, client: httpx.AsyncClient) -> None:
    world.records.rows = [a_link(), a_link(id="d2", outcome="accepted", depth=2)]

    page = (await client.get(LINKS, params={"page": "HTTPS://A.test/", "limit": 1})).json()
    await client.get(LINKS, params={"outcome": "refused", "cursor": page["next"], "reason": "out_of_scope"})

    assert [(item["id"], item["depth"]) for item in page["items"]] == [("d1", None)]
    both, refused = world.records.asked
    assert (" FROM urls " in both.sql, " FROM url_decisions " in both.sql) == (True, True)
    assert both.arguments == ("https://a.test/", "https://a.test/")
    assert " FROM urls " not in refused.sql
    assert refused.sql.startswith("SELECT * FROM ((SELECT ")
    assert refused.arguments == ("out_of_scope", KEY, KEY, "d1")


async def test_the_record_of_a_refused_link_is_deleted_and_an_accepted_one_is_the_frontiers(
    world: World, client: httpx.AsyncClient
) -> None:
    world.records.rows = [a_link()]
    deleted = await client.delete(f"{LINKS}/d1")
    statement = world.records.asked[-1]
    world.records.rows = [a_link(id=f"{KEY}.news", outcome="accepted")]
    refused = await client.delete(f"{LINKS}/{KEY}.news")

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (statement.sql.startswith("DELETE FROM url_decisions"), statement.arguments) == (True, ("d1",))
    assert problem_of(refused)[0] == 409
    assert refused.json()["outcome"] == "accepted"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_the_path_of_lease_recovery_is_no_key(client: httpx.AsyncClient, method: str) -> None:
    answer = await client.request(method, f"{FRONTIER}/recover", params={"older_than_seconds": 300})

    assert (problem_of(answer)[0], answer.headers["allow"]) == (405, "POST")
