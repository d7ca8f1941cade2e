"""Sources through the API as a process: record, topic, jobs, a source-manager and its events."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from strider.contracts.generated.enums import JobState
from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import SOURCES
from strider.jobs.models import Job, JobQuery
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.sources.sync import job_id_of
from strider.jobs.states import JobAction
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.runtime.clocks import SystemClock
from strider.storage.postgres import Postgres
from strider.storage.redis import RedisOptions, connect
from tests.integration.api.test_service import CODEC, Start, client_of, ready, start, topics
from tests.processes.waiting import until

from .source_manager import TOKEN, ListedSources, source_manager

__all__ = ["start", "topics"]

PATH = "/api/v1/sources"
SYNC = "/api/v1/admin/sync-enabled-sources"


def a_name() -> str:
    return f"Example {uuid.uuid4().hex[:8]}"


async def published(bootstrap: str) -> dict[str, SourceSaved]:
    """Return the sources that a reader of the topic has."""
    bus = KafkaBus(KafkaConnection((bootstrap,)))
    try:
        reader = CompactedTableReader(bus, clock=SystemClock())
        table = await reader.load([TopicPartition(SOURCES.name, 0)], key=bytes, value=bytes)
        return {key.decode(): CODEC.decode(SOURCES, value) for key, value in table.items()}
    finally:
        await bus.close()


async def job_of(postgres: Postgres, source_id: str) -> Job | None:
    found = (await PostgresJobStore(postgres).find(JobQuery(source_id=source_id))).jobs
    assert len(found) < 2, "a source has one job"
    return found[0] if found else None


def counts(answer: dict[str, Any], *source_ids: str) -> Counter[str]:
    """Count the steps about some sources: the broker may have those of other tests, too."""
    return Counter(step["action"] for step in answer["steps"] if step["source_id"] in source_ids)


@pytest.mark.req("S1.15.6", part="a source of the API, with depth 0 and with 6")
@pytest.mark.req("S5.3.8", part="sources over the API, up to the topic")
async def test_sources_are_saved_by_version_and_published(
    topics: str, start: Start, database: str, postgres: Postgres
) -> None:
    process = start(topics, database)
    name = a_name()
    async with await ready(process) as client:
        made = await client.post(PATH, json={"name": name, "url": "https://a.test", "max_depth": 6})
        source = made.headers["location"]
        source_id = made.json()["id"]
        twice = await client.post(PATH, json={"name": name, "url": "https://b.test/"})
        unknown = await client.post(PATH, json={"name": a_name(), "url": "https://b.test/", "depth": 1})
        changed = await client.patch(source, json={"max_depth": 0}, headers={"If-Match": '"1"'})
        late = await client.patch(source, json={"max_depth": 1}, headers={"If-Match": '"1"'})
        answers = await asyncio.gather(
            *(client.patch(source, json={"max_pages": n}, headers={"If-Match": '"2"'}) for n in range(1, 9))
        )
        listed = (await client.get(PATH, params={"name": name})).json()["items"]

        async def is_there() -> bool:
            found = (await published(topics)).get(source_id)
            return found is not None and found.version == 3

        await until(is_there, what="the topic has the last version")
        gone = await client.delete(source)
        await until(lambda: _is_gone(topics, source_id), what="the topic has the tombstone")

    assert (made.status_code, made.headers["etag"], made.json()["url"]) == (201, '"1"', "https://a.test/")
    assert [text.split(":")[0] for text in made.json()["warnings"]] == ["max_depth"]
    assert (twice.status_code, twice.json()["field"]) == (409, "name")
    assert (unknown.status_code, unknown.json()["field"]) == (422, "depth")
    assert (changed.status_code, changed.json()["warnings"], late.status_code) == (200, [], 412)
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7
    assert [item["id"] for item in listed] == [source_id]
    assert gone.status_code == 204
    assert await asyncio.to_thread(process.stop) == 0


async def _is_gone(bootstrap: str, source_id: str) -> bool:
    return source_id not in await published(bootstrap)


async def test_what_a_killed_process_saved_is_published_by_the_next(
    topics: str, start: Start, database: str, postgres: Postgres
) -> None:
    """The rows stand in the table, committed and never published, as after kill -9 between the two."""
    source_id = uuid.uuid4().hex
    await postgres.fetch(
        "INSERT INTO sources (source_id, name, url, version, published_version) VALUES ($1, $2, $3, 4, 3)",
        source_id,
        a_name(),
        "https://a.test/",
    )
    process = start(topics, database)

    async def is_there() -> bool:
        return source_id in await published(topics)

    await until(is_there, what="the topic has the source")
    assert (await published(topics))[source_id].version == 4
    assert await asyncio.to_thread(process.stop) == 0


async def test_a_source_is_saved_while_kafka_is_away(start: Start, database: str, postgres: Postgres) -> None:
    process = start("127.0.0.1:1", database)
    said = await asyncio.to_thread(process.wait_for_event, "API listening")
    async with client_of(str(said["url"])) as client:
        made = await client.post(PATH, json={"name": a_name(), "url": "https://a.test/"})
        changed = await client.patch(made.headers["location"], json={"max_depth": 2})

    assert (made.status_code, changed.status_code, changed.json()["version"]) == (201, 200, 2)


@pytest.mark.req("S1.1.11", "S1.2.18", "S1.13.11")
async def test_enabled_sources_become_jobs_after_the_difference_was_shown(
    topics: str, start: Start, database: str, postgres: Postgres
) -> None:
    """A repeat changes nothing; what a person paused stays paused."""
    process = start(topics, database)
    async with await ready(process) as client:
        ids = []
        for fields in ({"interval_minutes": 60}, {"interval_minutes": 30}, {}):
            document = {"name": a_name(), "url": "https://a.test/", **fields}
            ids.append((await client.post(PATH, json=document)).json()["id"])
        shown = (await client.post(SYNC, json={"dry_run": True})).json()
        before = [await job_of(postgres, source_id) for source_id in ids]
        applied = (await client.post(SYNC)).json()
        jobs = [await job_of(postgres, source_id) for source_id in ids]
        again = (await client.post(SYNC)).json()
        switched = []
        for what in ("disable", "disable", "enable", "enable"):
            await client.post(f"{PATH}/{ids[0]}/{what}", json={})
            switched.append(await job_of(postgres, ids[0]))
        for fields in ({"enabled": False}, {}):  # PUT enables what it does not disable
            document = {**(await client.get(f"{PATH}/{ids[0]}")).json(), **fields}
            await client.put(
                f"{PATH}/{ids[0]}", json={name: document[name] for name in ("name", "url", *fields)}
            )
            switched.append(await job_of(postgres, ids[0]))
        store = PostgresJobStore(postgres)
        await store.act(job_id_of(ids[1]), JobAction.PAUSE, now_ms=await store.now_ms())
        for what in ("disable", "enable"):
            await client.post(f"{PATH}/{ids[1]}/{what}", json={})
        refused = await client.delete(f"{PATH}/{ids[0]}")

    mine = [step for step in shown["steps"] if step["source_id"] in ids]
    assert sorted(step["action"] for step in mine) == ["create", "create", "skip"]
    assert (shown["dry_run"], applied["dry_run"], before) == (True, False, [None] * 3)
    assert [job and job.interval_minutes for job in jobs] == [60, 30, None]
    assert [step["action"] for step in again["steps"] if step["source_id"] in ids] == ["skip"]
    assert [job and job.state for job in switched] == [
        JobState.PAUSED,
        JobState.PAUSED,
        JobState.SCHEDULED,
        JobState.SCHEDULED,
        JobState.PAUSED,
        JobState.SCHEDULED,
    ]
    assert switched[1] == switched[0]
    assert switched[3] == switched[2]
    kept = await job_of(postgres, ids[1])
    assert kept is not None
    assert kept.state is JobState.PAUSED
    assert (refused.status_code, refused.json()["jobs"]) == (409, 1)
    assert await asyncio.to_thread(process.stop) == 0


@pytest.fixture
def manager() -> Iterator[ListedSources]:
    with source_manager() as listed:
        yield listed


def with_manager(manager: ListedSources, **more: str) -> dict[str, str]:
    return {
        "CRAWLER_SOURCES_API_ENABLED": "true",
        "CRAWLER_SOURCES_API_URL": manager.url,
        "CRAWLER_SOURCES_API_TOKEN": TOKEN,
        **more,
    }


@pytest.mark.req("S1.14.2", "S5.3.6")
async def test_a_source_manager_is_expected_at_the_address_of_the_line(
    topics: str, start: Start, database: str
) -> None:
    """Nothing answers there, and the response names it."""
    process = start(topics, database, CRAWLER_SOURCES_API_ENABLED="true")
    async with await ready(process) as client:
        answer = await client.post(SYNC, json={"dry_run": True})

    said = process.lines_of("API dependency unavailable")[0]["why"]
    assert (answer.status_code, answer.json()["part"]) == (503, "source-manager")
    assert said.startswith("http://localhost:8050/api/v1/sources: ")


@pytest.mark.req("S1.2.15")
async def test_the_sources_of_a_source_manager_are_imported(
    topics: str, start: Start, database: str, postgres: Postgres, manager: ListedSources
) -> None:
    """Those that are no sources are skipped with their reason; what is not listed any more is disabled."""
    one, two, bad = (uuid.uuid4().hex for _ in range(3))
    manager.put(one, name=a_name(), url="https://a.test/", rate_limit="2s", max_depth=2)
    manager.put(two, name=a_name(), url="https://b.test/", enabled=False)
    manager.put(bad, name=a_name(), url="http://10.0.0.1/")
    process = start(topics, database, **with_manager(manager))
    async with await ready(process) as client:
        shown = (await client.post(SYNC, json={"dry_run": True})).json()
        nothing = await client.get(f"{PATH}/{one}")
        applied = (await client.post(SYNC)).json()
        source = (await client.get(f"{PATH}/{one}")).json()
        job = await job_of(postgres, one)
        again = (await client.post(SYNC)).json()
        manager.put(two, enabled=True)
        manager.sources = {name: each for name, each in manager.sources.items() if name != one}
        changed = (await client.post(SYNC)).json()
        jobs = [await job_of(postgres, source_id) for source_id in (one, two)]
        manager.failure = 500
        broken = await client.post(SYNC)

    assert counts(shown, one, two, bad) == {"add_source": 2, "skip": 1}
    assert counts(applied, one, two, bad) == {"add_source": 2, "skip": 1, "create": 1}
    assert nothing.status_code == 404
    assert [step["detail"] for step in applied["steps"] if step["source_id"] == bad] == [
        (
            "url: 'http://10.0.0.1/': policy_blocked (private_address): "
            "private addresses are crawled only with STRIDER_ALLOW_PRIVATE"
        )
    ]
    assert (source["delay_seconds"], source["max_depth"], source["interval_minutes"]) == (2.0, 2, 360)
    assert job is not None
    assert (job.interval_minutes, job.url) == (360, "https://a.test/")
    assert counts(again, one, two, bad) == {"skip": 1}
    assert counts(changed, one, two, bad) == {
        "change_source": 1,
        "disable_source": 1,
        "skip": 1,
        "create": 1,
    }  # its job was paused with it
    assert [each and each.state for each in jobs] == [JobState.PAUSED, JobState.SCHEDULED]
    assert (broken.status_code, broken.json()["part"]) == (503, "source-manager")
    assert await asyncio.to_thread(process.stop) == 0


BAD_EVENTS = (
    ("junk", "{"),
    ("event", "{" + "[" * 5_000),
    ("event", "x" * 1_000_000),
    ("type", "enabled", "source_id", "a\0b"),
    ("event", '{"type": "enabled", "source_id": "\\ud800"}'),
    ("type", "disabled", "source_id", "a", "timestamp", "9999-12-31T23:59:59Z"),
    ("type", "disabled", "source_id", "a", "timestamp", "then"),
)
BAD_SOURCES: dict[str, dict[str, Any]] = {
    "bad-address": {"url": "http://10.0.0.1/"},
    "bad-text": {"metadata": {"team": "a\0b"}},
    "bad-half": {"name": "half \ud800"},
    "bad-type": {"enabled": "perhaps"},
    "bad-number": {"max_pages": 10**30},
    "bad-other": {"id": "another"},
}


@pytest.mark.req("S1.2.22", "S1.14.11")
async def test_events_bring_jobs_in_line_whatever_their_order(  # noqa: PLR0917  # fixtures
    topics: str,
    start: Start,
    database: str,
    postgres: Postgres,
    redis_url: str,
    manager: ListedSources,
) -> None:
    """Events say that something changed; the source-manager says what is. Repeats change nothing.

    Each bad event is reported with its reason, and keeps no other from being handled.
    """
    stream = f"source-events-{uuid.uuid4().hex[:8]}"
    source_id = uuid.uuid4().hex
    manager.put(source_id, name=a_name(), url="https://a.test/", interval_minutes=60)
    redis = connect(RedisOptions(redis_url))
    process = start(
        topics,
        database,
        **with_manager(manager, REDIS_URL=redis_url, REDIS_EVENTS_ENABLED="true", REDIS_EVENTS_STREAM=stream),
    )

    async def send(kind: str, at: int) -> None:
        event = {"event_type": kind, "source_id": source_id, "timestamp": at}
        await redis.command("XADD", stream, "*", "event", json.dumps(event))

    async def state() -> JobState | None:
        job = await job_of(postgres, source_id)
        return job and job.state

    try:
        await asyncio.to_thread(process.wait_for_event, "Service running")
        await send("SOURCE_ENABLED", 1)
        await until(lambda: _is(state, JobState.SCHEDULED), what="the source has a job")
        made = await job_of(postgres, source_id)
        for fields in BAD_EVENTS:
            await redis.command("XADD", stream, "*", *fields)
        for bad, document in BAD_SOURCES.items():
            manager.put(bad, **{"name": a_name(), "url": "https://a.test/", **document})
            await redis.command("XADD", stream, "*", "type", "enabled", "source_id", bad)
        await send("SOURCE_ENABLED", 1)
        manager.put(source_id, enabled=False)
        await send("SOURCE_ENABLED", 5)  # late: the source-manager has it disabled by now
        await until(lambda: _is(state, JobState.PAUSED), what="the job is paused")
        manager.put(source_id, enabled=True)
        await send("SOURCE_DISABLED", 2)
        await until(lambda: _is(state, JobState.SCHEDULED), what="the job goes on")
        await until(lambda: _acknowledged(redis, stream), what="every event is acknowledged")
        last = await job_of(postgres, source_id)
        metrics = (await asyncio.to_thread(process.get, "/metrics")).text
    finally:
        await redis.command("DEL", stream)
        await redis.close()

    assert made is not None
    assert last is not None
    assert (last.job_id, last.created_at_ms) == (made.job_id, made.created_at_ms)
    reported = process.lines_of("Source event invalid")
    assert Counter(line["reason"] for line in reported) == {
        "malformed": 2,
        "too_large": 1,
        "bad_id": 2,
        "bad_time": 2,
        "bad_source": len(BAD_SOURCES),
    }
    assert all(line["why"] and line["position"] for line in reported)
    assert f'strider_source_events_total{{result="bad_source"}} {len(BAD_SOURCES)}.0' in metrics


async def test_without_a_source_manager_events_switch_sources_in_the_order_of_their_times(
    topics: str, start: Start, database: str, postgres: Postgres, redis_url: str
) -> None:
    stream = f"source-events-{uuid.uuid4().hex[:8]}"
    redis = connect(RedisOptions(redis_url))
    environ = {"REDIS_URL": redis_url, "REDIS_EVENTS_ENABLED": "true", "REDIS_EVENTS_STREAM": stream}
    process = start(topics, database, **environ)
    try:
        async with await ready(process) as client:
            document = {"name": a_name(), "url": "https://a.test/", "interval_minutes": 60}
            made = (await client.post(PATH, json=document)).json()
            source = f"{PATH}/{made['id']}"
            at = made_at_ms(made) + 1
            await until(lambda: _is_over(at + 5), what="the events have happened")
            for kind, when in (("disabled", at + 5), ("enabled", at + 1), ("disabled", at + 5)):
                fields: tuple[Any, ...] = ("type", kind, "source_id", made["id"], "timestamp", when)
                await redis.command("XADD", stream, "*", *fields)
            await until(lambda: _acknowledged(redis, stream), what="every event is acknowledged")
            after = (await client.get(source)).json()
    finally:
        await redis.command("DEL", stream)
        await redis.close()

    assert (after["enabled"], after["version"], after["updated_by"]) == (False, 2, "source-manager")
    assert await job_of(postgres, made["id"]) is None


def made_at_ms(source: dict[str, Any]) -> int:
    return round(datetime.fromisoformat(source["updated_at"]).timestamp() * 1000)


async def _is_over(at_ms: int) -> bool:
    return time.time() * 1000 > at_ms


async def _is(state: Any, expected: JobState) -> bool:
    return bool(await state() is expected)


async def _acknowledged(redis: Any, stream: str) -> bool:
    """Whether the group has read all of the stream, and acknowledged it."""
    groups = await redis.command("XINFO", "GROUPS", stream)
    length = await redis.command("XLEN", stream)
    (group,) = groups
    read = group.get("entries-read", group.get(b"entries-read"))
    pending = group.get("pending", group.get(b"pending"))
    return bool(length) and (read, pending) == (length, 0)
