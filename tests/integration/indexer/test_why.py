"""`strider why` on real tables and a real log, present or missing."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import EntryRecorded, HostRecorded
from strider.contracts.generated.topics import FRONTIER, HOSTS, LINK_INGESTION_DLQ, SCHEMAS
from strider.contracts.partitioning import shard_of_host
from strider.indexer.adapters import PostgresTables
from strider.indexer.core import RowChanges, decision_rows, failure_row, page_row
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import OutgoingMessage
from strider.messaging.topics import apply_topics
from strider.storage.postgres import Postgres
from strider.testing.stack import ServerStack
from strider.urls import host_of
from tests.integration.examples.processes import SHARDS
from tests.integration.examples.test_telemetry import closed_port
from tests.unit.indexer.events import FETCHED_AT_MS, a_completion, a_decision, a_letter, a_page, key

CODEC = Codec(SchemaStore.bundled())

Ask = Callable[..., Awaitable["subprocess.CompletedProcess[str]"]]


@pytest.fixture
async def bootstrap(stack: ServerStack) -> str:
    address = stack.kafka.address
    await apply_topics(
        KafkaConnection((address,)), [FRONTIER, HOSTS, SCHEMAS, LINK_INGESTION_DLQ], shards=SHARDS
    )
    return address


@pytest.fixture
def why(bootstrap: str, database: str, tmp_path: Path) -> Ask:
    """Run the command outside of a stack, configured by environment variables."""

    async def ask(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        kept = {
            name: text for name, text in os.environ.items() if not name.startswith(("KAFKA_", "STRIDER_"))
        }
        named = {"KAFKA_BOOTSTRAP_SERVERS": bootstrap, "POSTGRES_DSN": database}
        return await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "strider.cli", "why", *arguments],
            env=kept | named | environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return ask


async def write(bootstrap: str, topic: Topic[Any], url: str, *events: Any) -> None:
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    producer = await bus.producer()
    for event in events:
        encoded = CODEC.encode(topic, event)
        shard = shard_of_host(host_of(url), SHARDS)
        await producer.send(
            OutgoingMessage(topic.name, topic.key_of(event), encoded.value, shard, encoded.headers)
        )
    await producer.flush()
    await producer.close()
    await bus.close()


def an_entry(url: str, **fields: Any) -> EntryRecorded:
    standard: dict[str, Any] = {
        "job_id": "adhoc",
        "url_key": key(url),
        "url": url,
        "group": "www.a.test",
        "state": "pending",
        "execution_id": "run-1",
        "crawl_spec_id": "spec",
        "fetch_sequence": 1,
        "updated_at_ms": FETCHED_AT_MS,
    }
    return EntryRecorded(**standard | fields)


@pytest.mark.req("S5.2.5", part="by command")
async def test_the_whole_timeline_is_shown(why: Ask, bootstrap: str, postgres: Postgres) -> None:
    """Every table and both logs, in order of time, for this URL only."""
    host = f"www.{uuid.uuid4().hex[:8]}.test"
    url, other = f"https://{host}/a", f"https://{host}/b"
    failure = failure_row(a_completion(url, completed_at_ms=FETCHED_AT_MS - 2_000))
    assert failure is not None
    await PostgresTables(postgres).write(
        RowChanges(
            pages=[page_row(a_page(page), "text") for page in (url, other)],
            decisions=[*decision_rows(a_decision(url, other, decided_at_ms=FETCHED_AT_MS - 3_000))],
            failures=[failure],
            dead_letters=[a_letter(task_id=f"adhoc/{key(url)}", occurred_at_ms=FETCHED_AT_MS - 1_000)],
        )
    )
    entries = [
        an_entry(url),
        an_entry(url, state="completed", reason="settled", updated_at_ms=FETCHED_AT_MS + 1_000),
        an_entry(url, job_id="news", updated_at_ms=FETCHED_AT_MS + 2_000),
        an_entry(other),
    ]
    await write(bootstrap, FRONTIER, url, *entries)
    robots = HostRecorded(
        kind="robots", group=host, origin=f"https://{host}", updated_at_ms=1, robots_state="absent"
    )
    group = HostRecorded(kind="group", group=host, updated_at_ms=2, delay_seconds=1.5)
    await write(bootstrap, HOSTS, url, robots, group)

    told = await why(url + "#top", "--json")
    of_news = await why(url, "--job", "news", "--json")
    quick = await why(url, "--quick", "--json")
    people = await why(url)

    document = json.loads(told.stdout)
    assert (told.returncode, told.stderr) == (0, "")
    assert [(fact["kind"], fact["by"]) for fact in document["facts"]] == [
        ("host", "scheduler"),
        ("host", "scheduler"),
        ("decision", "link-ingestion"),
        ("failure", "fetcher"),
        ("dead_letter", "parser"),
        ("page", "indexer"),
        ("frontier", "scheduler"),
        ("frontier", "scheduler"),
    ]
    assert [fact["job_id"] for fact in document["facts"][-2:]] == ["adhoc", "news"]
    assert document["facts"][-2]["details"]["state"] == "completed"
    assert [fact["kind"] for fact in json.loads(of_news.stdout)["facts"]] == ["host", "host", "frontier"]
    assert {fact["kind"] for fact in json.loads(quick.stdout)["facts"]} == {
        "decision",
        "failure",
        "dead_letter",
        "page",
    }
    assert people.returncode == 0
    assert "It lies outside the crawl's scope." in people.stdout
    assert f"robots.txt of https://{host}: absent." in people.stdout


async def test_a_url_that_is_unknown_has_no_decisions(why: Ask) -> None:
    told = await why(f"https://{uuid.uuid4().hex}.test/")

    assert (told.returncode, told.stderr) == (1, "")
    assert "nothing is known of this URL" in told.stdout


async def test_half_a_story_is_better_than_none(why: Ask, postgres: Postgres) -> None:
    """The unavailable dependency is named once, without a traceback."""
    url = f"https://{uuid.uuid4().hex}.test/"
    await PostgresTables(postgres).write(RowChanges(pages=[page_row(a_page(url), "text")]))

    told = await why(url, KAFKA_BOOTSTRAP_SERVERS=f"127.0.0.1:{closed_port()}")
    nobody = await why(
        url,
        KAFKA_BOOTSTRAP_SERVERS=f"127.0.0.1:{closed_port()}",
        POSTGRES_DSN=f"postgresql://127.0.0.1:{closed_port()}/x",
    )

    assert told.returncode == 0
    assert "validation status valid" in told.stdout
    assert told.stderr.startswith("strider: topics not read: Kafka is unavailable")
    assert told.stderr.count("\n") == 1
    assert nobody.returncode == 3
    assert "tables not read: PostgreSQL at " in nobody.stderr


async def test_tables_that_are_not_migrated_are_named(why: Ask, stack: ServerStack) -> None:
    told = await why("https://a.test/", POSTGRES_DSN=stack.postgres.address)

    assert told.returncode == 1
    assert "run: strider migrate up" in told.stderr
