"""The API as a real process, on a real broker and a real database."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest

from strider.api import log_events
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import (
    JOB_COMMANDS,
    JOB_EVENTS,
    SCHEMAS,
    SEEDS_OWNED,
    SEEDS_SUBMITTED,
)
from strider.contracts.owner_signature import identify_sender
from strider.indexer.adapters import PostgresTables
from strider.indexer.core import RowChanges, decision_rows, page_row
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.messaging.topics import apply_topics
from strider.runtime.clocks import SystemClock
from strider.storage.postgres import Postgres
from strider.storage.redis import RedisOptions, connect
from strider.testing.faulty_tcp_proxy import faulty_tcp_proxy
from strider.testing.owner import OWNER_KEY
from strider.testing.stack import ServerStack
from tests.integration.examples.processes import SHARDS, ServiceProcess
from tests.integration.examples.test_telemetry import closed_port
from tests.integration.frontier.shards import EPOCH, LEASE_MS, SHARD, accepted, opened
from tests.processes.broker import Broker
from tests.unit.indexer.events import FETCHED_AT_MS, a_decision, a_page, key

CODEC = Codec(SchemaStore.bundled())
DEADLINE_SECONDS = 60.0

Start = Callable[..., ServiceProcess]


@pytest.fixture
async def topics(stack: ServerStack) -> str:
    """Apply the topics; gives the broker's address."""
    connection = KafkaConnection((stack.kafka.address,))
    await apply_topics(
        connection, [SEEDS_OWNED, SEEDS_SUBMITTED, SCHEMAS, JOB_COMMANDS, JOB_EVENTS], shards=SHARDS
    )
    return stack.kafka.address


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[ServiceProcess] = []

    def launch(bootstrap: str, dsn: str, **environ: str) -> ServiceProcess:
        log = tmp_path / f"api-{len(running)}.log"
        nobody = {"REDIS_URL": "redis://127.0.0.1:1"}
        variables = {"POSTGRES_DSN": dsn, "STRIDER_API_PORT": "0", **nobody, **environ}
        running.append(ServiceProcess("api", bootstrap, log, variables))
        return running[-1]

    yield launch
    for process in running:
        process.close()


async def url_of(process: ServiceProcess) -> str:
    said = await asyncio.to_thread(process.wait_for_event, log_events.API_LISTENING.text)
    return str(said["url"])


async def ready(process: ServiceProcess) -> httpx.AsyncClient:
    await asyncio.to_thread(process.wait_for_event, "Service running")
    return httpx.AsyncClient(base_url=await url_of(process), trust_env=False, timeout=30)


async def until(question: Callable[[], Any]) -> Any:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not (answer := await question()):
            await asyncio.sleep(0.1)
    return answer


async def seeds_at(bootstrap: str) -> dict[str, Any]:
    """Read every seed that the broker has, by its URL."""
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    found: dict[str, Any] = {}

    def note(_key: bytes | None, value: bytes | None) -> None:
        seed = CODEC.decode(SEEDS_SUBMITTED, value)
        found[seed.url] = seed

    try:
        partitions = [TopicPartition(SEEDS_SUBMITTED.name, number) for number in range(SHARDS)]
        await CompactedTableReader(bus, clock=SystemClock()).read(partitions, note)
    finally:
        await bus.close()
    return found


@pytest.mark.req("S3.13.1", "S3.13.9", "S4.1.5")
@pytest.mark.req("S1.3.8", part="the routes of seeds, pages, decisions and health")
@pytest.mark.req("S3.4.2", part="seed injection and stored pages")
@pytest.mark.req("S3.19.32", part="the API, without any other service")
@pytest.mark.req("S5.2.5", part="by the API: decisions about a URL")
async def test_seeds_go_in_and_pages_come_out(
    topics: str, start: Start, database: str, postgres: Postgres
) -> None:
    """202 means that the broker has it; what is stored is found by every filter. Without Redis, too."""
    site = f"https://www.{uuid.uuid4().hex[:8]}.test"
    pages = [
        a_page(f"{site}/{number}", fetched_at_ms=FETCHED_AT_MS + number // 3, status=200 + number % 2)
        for number in range(25)
    ]
    await PostgresTables(postgres).write(
        RowChanges(
            pages=[page_row(page, page.page.text) for page in pages],
            decisions=[*decision_rows(a_decision(f"{site}/no", reasons=("excluded",)))],
        )
    )
    process = start(topics, database)
    async with await ready(process) as client:
        answer = await client.post(
            "/api/v1/seeds",
            json=[
                f"{site}/seed",
                {"url": f"{site}/deep", "max_depth": 7, "priority": "low"},
                "mailto:a@b.test",
            ],
        )
        seen = await seeds_at(topics)
        listed = await _all_of(client, {"host": site.removeprefix("https://"), "limit": "4"})
        odd = (await client.get("/api/pages", params={"status": 201, "limit": 500})).json()["items"]
        since = (await client.get("/api/v1/pages", params={"since": listed[6]["crawled_at"]})).json()["items"]
        one = (await client.get(f"/api/v1/pages/{key(f'{site}/3')}")).json()
        decided = (await client.get("/api/v1/decisions", params={"url": f"{site}/no#x"})).json()["items"]
        health = await client.get("/health")

    assert (answer.status_code, answer.json()["accepted"], answer.json()["refused"]) == (202, 2, 1)
    assert (seen[f"{site}/deep"].max_depth, seen[f"{site}/seed"].submitted_by) == (7, "api")
    assert (seen[f"{site}/deep"].priority, seen[f"{site}/seed"].priority) == (1, 3)
    assert sorted(page["url"] for page in listed) == sorted(page.page.url for page in pages)
    moments = [page["crawled_at"] for page in listed]
    assert moments == sorted(moments, reverse=True)
    assert len(odd) == 12
    assert {page["url"] for page in since} >= {page["url"] for page in listed[:7]}
    assert (one["url"], one["text"]) == (f"{site}/3", "some words")
    assert [(item["url"], item["reason"], item["decided_by"]) for item in decided] == [
        (f"{site}/no", "excluded", "link-ingestion")
    ]
    assert (health.status_code, health.json()["status"]) == (200, "ok")
    assert health.json()["dependencies"] == {"kafka": True, "postgres": True, "redis": False}
    assert await asyncio.to_thread(process.stop) == 0


@pytest.mark.parametrize(
    ("owner_key", "job_id"), [(OWNER_KEY, "news"), ("", "raw.news")], ids=["key", "none"]
)
async def test_seeds_of_the_api_are_signed_where_it_has_the_key(
    topics: str, start: Start, database: str, owner_key: str, job_id: str
) -> None:
    """Without one they are raw seeds, and the response has the job that link-ingestion will give them."""
    url = f"https://{uuid.uuid4().hex[:8]}.test/"
    process = start(topics, database, STRIDER_OWNER_KEY=owner_key)
    async with await ready(process) as client:
        answer = await client.post("/api/v1/seeds", json={"url": url, "job_id": "news"})
        reserved = await client.post("/api/v1/seeds", json={"url": url, "job_id": ".robots"})
    broker = Broker(topics, shards=SHARDS)
    everything = [
        (topic, await broker.read(topic, dict.fromkeys(range(SHARDS), 0)))
        for topic in (SEEDS_OWNED, SEEDS_SUBMITTED)
    ]
    await broker.close()
    ((topic, sent),) = (
        (topic, each)
        for topic, records in everything
        for each in records
        if CODEC.decode(topic, each.value).url == url
    )

    assert (answer.status_code, answer.json()["seeds"][0]["job_id"]) == (202, job_id)
    assert identify_sender(sent.value, sent.headers, key=OWNER_KEY) == ("owner" if owner_key else "raw")
    assert topic is (SEEDS_OWNED if owner_key else SEEDS_SUBMITTED)
    assert (reserved.status_code, reserved.json()["seeds"][0]["reason"]) == (422, "bad_seed")
    assert "job_id is '.robots'" in reserved.json()["seeds"][0]["detail"]


async def _all_of(client: httpx.AsyncClient, params: dict[str, str]) -> list[dict[str, Any]]:
    """Follow the cursors to the end; no row comes twice."""
    items: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        document = (await client.get("/api/v1/pages", params=params | cursor)).json()
        items += document["items"]
        if document["next"] is None:
            break
        cursor = {"cursor": document["next"]}
    assert len({item["url_key"] for item in items}) == len(items)
    return items


async def test_pages_are_served_before_the_broker_is_reachable(
    stack: ServerStack, start: Start, database: str
) -> None:
    """S3.19.32: people see what there is, whatever else is down; 503 says when to come again."""
    lonely = start(f"127.0.0.1:{closed_port()}", database)
    async with httpx.AsyncClient(base_url=await url_of(lonely), trust_env=False, timeout=30) as client:
        refused = await client.post("/api/v1/seeds", json={"url": "https://a.test/"})
        pages = await client.get("/api/v1/pages")
        health = await client.get("/health")

    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert (pages.status_code, health.status_code) == (200, 503)
    assert await asyncio.to_thread(lonely.stop) == 0


async def test_a_broker_that_falls_silent_costs_no_promise(
    stack: ServerStack, topics: str, start: Start, database: str
) -> None:
    """No 202 without its acknowledgement, and it continues by itself."""
    if not stack.kafka.is_ours:
        pytest.skip("this broker is somebody else's")
    process = start(topics, database, STRIDER_API_PUBLISH_TIMEOUT_SECONDS="1s")
    seed = {"url": f"https://{uuid.uuid4().hex[:8]}.test/"}
    async with await ready(process) as client:
        first = await client.post("/api/v1/seeds", json=seed)
        stack.kafka.freeze()
        try:
            silent = await client.post("/api/v1/seeds", json=seed)
        finally:
            stack.kafka.thaw()
        await until(lambda: _is_accepted(client, seed))

    assert (first.status_code, silent.status_code) == (202, 503)


async def _is_accepted(client: httpx.AsyncClient, seed: dict[str, str]) -> bool:
    return (await client.post("/api/v1/seeds", json=seed)).status_code == 202


async def test_a_database_that_is_away_costs_no_seed(topics: str, start: Start, database: str) -> None:
    """Pages wait, seeds are accepted."""
    address = urlsplit(database)
    async with faulty_tcp_proxy(address.hostname or "", address.port or 5432) as (wire, port):
        near = urlunsplit(address._replace(netloc=address.netloc.replace(str(address.port), str(port))))
        process = start(topics, near)
        async with await ready(process) as client:
            wire.hold()
            wire.cut()
            pages = await client.get("/api/v1/pages")
            seeds = await client.post("/api/v1/seeds", json={"url": "https://a.test/"})
            wire.release()
            await until(lambda: _lists(client))

    assert (pages.status_code, seeds.status_code) == (503, 202)


async def _lists(client: httpx.AsyncClient) -> bool:
    return (await client.get("/api/v1/pages")).status_code == 200


async def test_requests_under_way_are_finished(topics: str, start: Start, database: str) -> None:
    """SIGTERM in the middle of an upload: the answer still comes, and the exit is in order."""
    process = start(topics, database)
    body = b'{"url": "https://a.test/"}'
    async with await ready(process) as client:
        sending = asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            yield body[:5]
            sending.set()
            await asyncio.to_thread(process.wait_for_event, "Service stopping")
            yield body[5:]

        headers = {"content-type": "application/json"}
        answering = asyncio.create_task(client.post("/api/v1/seeds", content=slowly(), headers=headers))
        await sending.wait()
        stopping = asyncio.create_task(asyncio.to_thread(process.stop, signal.SIGTERM))
        answer = await answering

    assert answer.status_code == 202
    assert await stopping == 0


@pytest.mark.parametrize(
    ("environ", "code", "why"),
    [
        pytest.param({"STRIDER_API_HOST": "0.0.0.0"}, 4, "set STRIDER_API_TOKEN", id="open-to-all"),
        pytest.param(
            {"STRIDER_API_HOST": "192.0.2.1", "STRIDER_API_TOKEN": "0123456789abcdef"},
            4,
            "is not available",
            id="not-ours",
        ),
        pytest.param({"STRIDER_API_PORT": "taken"}, 4, "is not available", id="taken"),
    ],
)
async def test_an_address_that_must_not_be_is_refused(
    start: Start, environ: dict[str, str], code: int, why: str
) -> None:
    """One line, and no supervisor tries again for ever."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        if environ.get("STRIDER_API_PORT") == "taken":
            environ = {"STRIDER_API_PORT": str(taken.getsockname()[1])}
        process = start("127.0.0.1:1", "postgresql://localhost:1/none", **environ)
        ended = await asyncio.to_thread(process.code)

    assert ended == code
    assert why in process.lines_of("Startup refused")[0]["why"]


async def test_with_a_token_any_address_will_do(topics: str, start: Start, database: str) -> None:
    """And the token is asked for."""
    process = start(topics, database, STRIDER_API_HOST="0.0.0.0", STRIDER_API_TOKEN="s3cret-token-of-16")
    async with await ready(process) as client:
        port = client.base_url.port
        near = f"http://127.0.0.1:{port}/api/v1/pages"
        refused = await client.get(near)
        let_in = await client.get(near, headers={"authorization": "Bearer s3cret-token-of-16"})

    assert (refused.status_code, let_in.status_code) == (401, 200)
    assert "s3cret-token-of-16" not in process.log.read_text()


@pytest.mark.req("S1.1.2")
@pytest.mark.req("S1.1.3", part="one bearer token from the settings; no JWT")
@pytest.mark.req("S1.2.10", part="the token is asked for")
@pytest.mark.req("S3.17.11", part="/health")
@pytest.mark.req("S3.17.19", part="401 without the token; no sessions and no roles")
async def test_health_is_public_and_the_port_is_8060_where_nothing_else_is_set(
    topics: str, start: Start, database: str
) -> None:
    """A load balancer has no token; and people find the API where the documents say it is."""
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("STRIDER_", "POSTGRES_"))
    }
    printing = asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "strider.api", "--print-config"],
        env=environ | {"POSTGRES_DSN": database},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    printed = (await printing).stdout
    process = start(topics, database, STRIDER_API_TOKEN="s3cret-token-of-16")
    async with await ready(process) as client:
        health = await client.get("/health")
        pages = [await client.get(path) for path in ("/api/v1/pages", "/api/pages")]
        named = await client.get("/api/v1/pages", headers={"authorization": "Bearer s3cret-token-of-16"})

    assert "STRIDER_API_PORT=8060 " in printed
    assert (health.status_code, [each.status_code for each in pages]) == (200, [401, 401])
    assert named.status_code == 200


@pytest.mark.req("S3.13.8")
async def test_requests_that_no_fetcher_started_are_given_back(
    topics: str, start: Start, database: str, redis_url: str
) -> None:
    """Only those that have waited long enough: five minutes where the request does not say."""
    redis = connect(RedisOptions(redis_url))
    frontier = await opened(redis)
    await frontier.accept(SHARD, EPOCH, [accepted(1)])
    [lease] = (await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)).leases
    path, as_json = "/api/frontier/recover", {"Content-Type": "application/json"}
    async with await ready(start(topics, database, REDIS_URL=redis_url)) as client:

        async def recovered() -> int:
            answer = await client.post(f"{path}?older_than_seconds=1", headers=as_json)
            return int(answer.json()["recovered"])

        early = await client.post(path, headers=as_json)
        later = await until(recovered)
    release = await frontier.release(SHARD, EPOCH, limit=9, lease_ms=LEASE_MS)
    await redis.close()

    assert (early.status_code, early.json(), later) == (200, {"recovered": 0}, 1)
    assert [given.lease_id for given in release.expired] == [lease.lease_id]


@pytest.mark.req("S4.11.3")
async def test_responses_have_the_fields_of_the_schema_and_not_those_of_the_table(
    topics: str, start: Start, database: str, postgres: Postgres
) -> None:
    """A column reaches a client only where its declaration names the view that shows it."""
    url = f"https://{uuid.uuid4().hex[:8]}.test/"
    page = a_page(url)
    await PostgresTables(postgres).write(RowChanges(pages=[page_row(page, page.page.text)]))
    named = "SELECT column_name FROM information_schema.columns WHERE table_name = 'crawled_pages'"
    columns = {str(row[0]) for row in await postgres.fetch(named)}
    async with await ready(start(topics, database)) as client:
        answer = (await client.get(f"/api/v1/pages/{key(url)}")).json()
        declared = (await client.get("/openapi.json")).json()["components"]["schemas"]["PageDetail"]

    assert answer["url"] == url
    assert answer.keys() == declared["properties"].keys()
    assert columns - answer.keys()
