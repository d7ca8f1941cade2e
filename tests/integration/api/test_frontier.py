"""URLs of the frontier, discovered links, sessions and statistics of a running API, on real servers."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from functools import partial
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from strider.cli.app import app
from strider.client import ConflictProblem, NotFoundProblem, StriderClient
from strider.contracts.generated.topics import JOB_COMMANDS
from strider.contracts.partitioning import shard_of_host
from strider.indexer.adapters import PostgresTables
from strider.indexer.core import RowChanges, decision_rows, page_row
from strider.indexer.core.frontier import url_row
from strider.runtime.access_tokens import Role
from strider.storage.postgres import Postgres
from strider.storage.redis import RedisOptions, connect
from strider.testing.callers import access_token
from tests.integration.examples.processes import SHARDS, ServiceProcess
from tests.processes.broker import Broker
from tests.unit.indexer.events import FETCHED_AT_MS, a_decision, a_page, an_entry, key

from .test_service import CODEC, Start, client_of, seeds_at, start, topics, url_of

__all__ = ["start", "topics"]

SESSION = "/api/v1/session"
SESSION_SECRET = "a-secret-of-sessions-of-32-characters"  # of these tests


async def running(start: Start, *servers: str, **environ: str) -> tuple[ServiceProcess, str]:
    process = start(*servers, **environ)
    await asyncio.to_thread(process.wait_for_event, "Service running")
    return process, await url_of(process)


async def commands_about(bootstrap: str, url_key: str) -> list[Any]:
    broker = Broker(bootstrap, shards=SHARDS)
    records = await broker.read(JOB_COMMANDS, {0: 0})
    await broker.close()
    events = [CODEC.decode(JOB_COMMANDS, each.value) for each in records if each.value]
    return [each for each in events if each.url_key == url_key]


async def stored_site(postgres: Postgres) -> str:
    """Store a site of five URLs that wait, one that is closed, and two refused links; returns its host."""
    host = f"www.{uuid.uuid4().hex[:8]}.test"
    home = f"https://{host}/"
    open_entries = [an_entry(f"{home}{number}", referrer=home) for number in range(5)]
    closed = an_entry(f"{home}done", state="completed", reason="settled", closed_at_ms=FETCHED_AT_MS)
    refused = a_decision(f"{home}no", f"{home}never", page_url=home)
    page = a_page(home)
    await PostgresTables(postgres).write(
        RowChanges(
            pages=[page_row(page, page.page.text)],
            urls=[url_row(entry) for entry in (*open_entries, closed)],
            decisions=[*decision_rows(refused)],
        )
    )
    return host


async def answers_of_all_routes(browser: httpx.AsyncClient, csrf: dict[str, str]) -> dict[str, int]:
    """Request each route that reads, deletes, or is for admins by its path; return the status of each."""
    paths = (await browser.get("/openapi.json")).json()["paths"]
    routes = [
        (method.upper(), path)
        for path, operations in paths.items()
        for method in operations
        if (method in {"get", "delete"} or path.startswith(("/api/v1/frontier", "/api/v1/admin/")))
        and not (path == SESSION or path.startswith("/sse/") or "/stream/" in path)
    ]
    headers = {**csrf, "content-type": "application/json"}
    return {
        f"{method} {path}": (
            await browser.request(method, re.sub(r"{\w+}", "none", path), headers=headers)
        ).status_code
        for method, path in routes
    }


@pytest.mark.req("S1.13.8", "S1.13.9", "S1.2.6", "S1.2.7")
@pytest.mark.req("S3.13.5", part="list with filters")
@pytest.mark.req("S3.13.6", part="one URL a request")
async def test_urls_are_listed_shown_submitted_and_taken_out_of_the_queue(
    topics: str, start: Start, database: str, postgres: Postgres, redis_url: str
) -> None:
    """By the client library and the commands; links with their page, their outcome and its reason."""
    host = await stored_site(postgres)
    home, url = f"https://{host}/", f"https://{host}/3"
    _, api = await running(start, topics, database, REDIS_URL=redis_url)
    environment = {"STRIDER_API_URL": api, "STRIDER_API_CLIENT_TOKEN": access_token(), "COLUMNS": "200"}

    async def strider(*words: str) -> Any:
        run = partial(CliRunner().invoke, app, [*words, "--json"], env=environment)
        done = await asyncio.to_thread(run)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    with StriderClient(api, access_token()) as client:
        frontier = client.frontier
        listed = await asyncio.to_thread(lambda: list(frontier.urls(host=host, limit=4)))
        waiting = await strider("frontier", "urls", "--host", host, "--state", "pending")
        shown = await strider("frontier", "show", url)
        links = await strider("frontier", "links", "--page", home)
        accepted = await strider("frontier", "links", "--host", host, "--outcome", "accepted", "--limit", "3")
        dropped = await strider("frontier", "drop", url, "--reason", "asked to", "--yes")
        commands = await commands_about(topics, key(url))
        sent = await asyncio.to_thread(frontier.submit, f"{home}new", job_id="news")
        seed = (await seeds_at(topics))[f"{home}new"]
        refused = [link for link in links if link["outcome"] == "refused"]
        await asyncio.to_thread(frontier.delete_link, refused[0]["id"])
        left = await asyncio.to_thread(lambda: list(frontier.links(page=home)))
        for fault, call in (
            (ConflictProblem, partial(frontier.cancel, key(f"{home}done"))),
            (NotFoundProblem, partial(frontier.get, key(f"{home}unknown"))),
            (NotFoundProblem, partial(frontier.delete_link, refused[0]["id"])),
            (ConflictProblem, partial(frontier.delete_link, f"{key(url)}.{shown['entries'][0]['job_id']}")),
        ):
            with pytest.raises(fault):
                await asyncio.to_thread(call)

    assert [each.url_key for each in listed] == sorted(each.url_key for each in listed)
    assert (len(listed), {each["url"] for each in waiting}) == (4, {f"{home}{number}" for number in range(5)})
    assert (shown["entries"][0]["state"], shown["entries"][0]["reason"]) == ("pending", "accepted")
    assert {(link["url"], link["outcome"]) for link in links} == {
        *((f"{home}{number}", "accepted") for number in range(5)),
        *((f"{home}{name}", "refused") for name in ("no", "never")),
    }
    assert {link["reason"] for link in refused} == {"out_of_scope"}
    assert len(left) == len(links) - 1
    assert [link["outcome"] for link in accepted] == ["accepted"] * 3
    (command,) = commands
    assert (command.what, command.by, command.reason) == ("cancel_url", "tests", "asked to")
    assert (command.execution_id, command.shard) == ("run-1", shard_of_host(host, SHARDS))
    assert dropped["cancelled"] == [{"job_id": command.job_id, "execution_id": "run-1"}]
    assert (sent.url, sent.entry) == (f"{home}new", f"/api/v1/frontier/{key(f'{home}new')}?job={sent.job_id}")
    assert seed.submitted_by == "tests"


@pytest.mark.req("S3.17.12", "S3.17.13")
@pytest.mark.req("S3.17.8", "S3.17.9", "S3.17.10", "S3.17.11", "S3.17.19")
@pytest.mark.req("S3.13.2", part="public figures")
async def test_a_browser_logs_in_with_a_token_and_reads_what_its_role_may(
    topics: str, start: Start, database: str, redis_url: str
) -> None:
    """C-5: one role model for tokens and sessions; C-34: statistics are public."""
    secret = {"SESSION_SECRET": SESSION_SECRET, "SESSION_COOKIE_SECURE": "false"}
    _, api = await running(start, topics, database, REDIS_URL=redis_url, **secret)
    async with client_of(api, {}) as browser:
        public = [await browser.get(path) for path in ("/health", "/api/stats", "/api/v1/stats")]
        nobodys = await browser.get("/api/v1/frontier")
        begun = await browser.post(SESSION, json={"token": access_token(Role.USER)})
        cookie = browser.cookies["strider_session"]
        session_id = cookie.partition(".")[0]
        redis = connect(RedisOptions(redis_url))
        stored = json.loads(await redis.command("GET", f"session:{session_id}"))
        lives = int(await redis.command("TTL", f"session:{session_id}"))
        await redis.close()
        reads = [await browser.get(path) for path in ("/api/v1/frontier", "/api/v1/discovered-links")]
        csrf = {"x-csrf-token": begun.json()["csrf_token"]}
        unsafe = await browser.post("/api/v1/seeds", json=["https://a.test/"])
        refused = await browser.delete(f"/api/v1/frontier/{key()}", headers=csrf)
        answered = await answers_of_all_routes(browser, csrf)
        ended = await browser.delete(SESSION, headers=csrf)
        old = {"cookie": f"strider_session={cookie}"}
        after = await browser.get("/api/v1/frontier", headers=old)
        forged = await browser.get(
            "/api/v1/frontier", headers={"cookie": f"strider_session={cookie[:-4]}AAAA"}
        )

    assert [each.status_code for each in public] == [200, 200, 200]
    assert (public[2].json()["pages"], public[2].json()["fetchers"] is None) == (0, False)
    assert [each.status_code for each in (nobodys, begun, *reads)] == [401, 201, 200, 200]
    admins = {route for route, status in answered.items() if status == 403}
    assert admins == {
        *{route for route in answered if route.startswith("DELETE ")},
        *{route for route in answered if route.startswith(("POST /api/v1/frontier", "POST /api/v1/admin/"))},
    }
    assert len(admins) > 5
    assert 401 not in answered.values()
    header = begun.headers["set-cookie"]
    assert all(part in header for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert (stored["userId"], stored["role"], set(stored)) == (
        "tests",
        "user",
        {"userId", "role", "createdAt", "endsAt"},
    )
    assert 0 < lives <= 86_400
    assert (unsafe.status_code, unsafe.json()["reason"]) == (403, "csrf")
    assert (refused.status_code, refused.json()["needed_role"], ended.status_code) == (403, "admin", 204)
    assert [(each.status_code, each.json()["reason"]) for each in (after, forged)] == [
        (401, "session_ended"),
        (401, "session_invalid"),
    ]
