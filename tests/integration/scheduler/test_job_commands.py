"""Job commands from the command line, on a real Kafka and a real Valkey."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from typer.testing import CliRunner

from strider.cli.app import app
from strider.contracts import Topic
from strider.contracts.generated.enums import JobEvent
from strider.contracts.generated.topics import JOB_COMMANDS, JOB_EVENTS
from strider.contracts.partitioning import shard_of_host
from strider.crawl.runs.commands import new_command
from strider.messaging.effects import Publish
from strider.scheduler import log_events
from strider.urls import url_hash, url_key_of
from tests.unit.scheduler.simulation.web import Host, Page, Web

from .scheduler_process import SHARDS, CrawlOnServers, SchedulerProcess

MANY = 400


@pytest.fixture
async def place(
    kafka_bootstrap: str, redis_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> AsyncIterator[CrawlOnServers]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka_bootstrap)
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("STRIDER_SHARDS", "12")
    place = CrawlOnServers(kafka_bootstrap, redis_url, seed=3)
    hosts = {name: Host(name) for name in (f"www.{place.name}.test", f"www.{place.name}-b.test")}
    pages = {url: Page(url) for name in hosts for url in (f"http://{name}/{n}" for n in range(MANY))}
    first, second = hosts
    home, other = f"http://{first}/", f"http://{second}/"
    pages[home] = Page(home, links=tuple(url for url in pages if first in url))
    pages[other] = Page(other, links=tuple(url for url in pages if second in url))
    place.web = place.pipeline.web = Web(hosts, pages, (home, other))
    await place.begin()
    yield place
    await place.close()


@pytest.fixture
def process(kafka_bootstrap: str, redis_url: str, tmp_path: Path) -> Iterator[SchedulerProcess]:
    started = SchedulerProcess(kafka_bootstrap, redis_url, tmp_path / "scheduler.log")
    yield started
    started.close()


async def strider(*words: str) -> Any:
    """Run a command beside the crawl, and read what it says."""
    told = await asyncio.to_thread(partial(CliRunner().invoke, app, [*words, "--json"]))
    assert told.exit_code == 0, told.output
    return json.loads(told.stdout)


async def ended(*words: str) -> tuple[int, str]:
    """Run a command that fails, and return its exit code and error."""
    failed = await asyncio.to_thread(CliRunner().invoke, app, list(words))
    return failed.exit_code, failed.stderr


def commanded(process: SchedulerProcess, kind: str) -> set[str]:
    """Runs or host groups of the commands that the scheduler has received, those of other tests included."""
    return {line[kind] for line in process.log_lines(log_events.JOB_COMMAND_RECEIVED.text) if kind in line}


def visits(place: CrawlOnServers, host: str) -> int:
    return sum(visit.host == host for visit in place.web.log)


async def until(place: CrawlOnServers, is_so: Callable[[], bool]) -> None:
    async def question() -> bool:
        return is_so()

    await place.until(question)


@pytest.mark.req("S4.1.2", part="by command: pause, resume and cancel a run")
@pytest.mark.req("S4.1.3", part="by command: state and open URLs of a run")
@pytest.mark.req("S1.13.8", part="the scheduler closes a URL that is taken out of the queue")
async def test_people_stop_what_runs(place: CrawlOnServers, process: SchedulerProcess) -> None:
    """Block a host, pause and cancel the run: no request after two seconds; every end has its reason."""
    first, second = place.web.hosts
    run = f"run-{place.name}"
    await until(place, lambda: min(visits(place, first), visits(place, second)) > 3)

    await strider("hosts", "block", first, "--for", "1h", "--reason", "its owner called")
    await until(place, lambda: first in commanded(process, "group"))
    asked = visits(place, first)
    before = visits(place, second)
    await until(place, lambda: visits(place, second) > before + 3)
    assert visits(place, first) <= asked + 1
    assert (await strider("hosts", "show", first))["records"][0]["is_active"] is False

    told = await strider("explain", f"http://{first}/{MANY - 1}")
    words = {each["step"]: each["result"] for each in told["jobs"][place.name]}
    assert words == {
        "address": "yes",
        "scope": "yes",
        "depth": "yes",
        "frontier": "yes",
        "command": "yes",
        "robots": "yes",
        "politeness": "waits",
    }

    dropped = f"http://{first}/{MANY - 2}"
    about = {"job_id": place.name, "execution_id": run, "url_key": url_hash(url_key_of(dropped))}
    cancel = new_command(
        JobEvent.CANCEL_URL, by="ada", now_ms=1, shard=shard_of_host(first, SHARDS), reason="alone", **about
    )
    await place.pipeline.publisher.publish([Publish(JOB_COMMANDS, cancel)])

    async def is_closed() -> bool:
        return (await place.reasons()).get(dropped) == "cancelled"

    await place.until(is_closed)

    await strider("crawls", "pause", run)
    [shown] = await strider("crawls", "show", run)
    assert (shown["state"], shown["job_id"], shown["open"] > MANY) == ("paused", place.name, True)
    await strider("crawls", "resume", run)
    unconfirmed = [await ended("runs", *words) for words in (("cancel", run), ("drop", place.name))]
    assert [code for code, _ in unconfirmed] == [2, 2]
    assert all(error.endswith("needs --yes\n") for _, error in unconfirmed)
    unknown = [await ended("runs", word, "nope") for word in ("cancel", "drop")]
    assert [(code, "no run or job 'nope'" in error) for code, error in unknown] == [(1, True), (1, True)]
    began = time.monotonic()
    await strider("crawls", "cancel", run, "--reason", "enough", "--yes")

    async def is_dropped() -> bool:
        return (await strider("crawls", "show", run))[0]["open"] == 0

    await place.until(is_dropped)
    cancelled_at = time.monotonic()
    assert max(visit.began for visit in place.web.log) <= began + 3
    reasons = await place.reasons()
    untried = set(place.web.pages) - set(place.web.tries)
    assert len(untried) > MANY
    assert {reasons[url] for url in untried} == {"cancelled"}
    assert all(entry.closed_at_ms for entry in await place.entries())
    assert cancelled_at - began < 30

    code, error = await ended("crawls", "resume", run)
    assert code == 1
    assert "cannot be undone" in error


@pytest.mark.fault("B4")
async def test_a_pause_outlives_the_retention_of_job_events(
    place: CrawlOnServers, process: SchedulerProcess, kafka_bootstrap: str, redis_url: str, tmp_path: Path
) -> None:
    """All of job-events is deleted, and the scheduler killed: the run stays paused until it is resumed."""
    first, second = place.web.hosts
    run = f"run-{place.name}"
    await until(place, lambda: min(visits(place, first), visits(place, second)) > 3)
    await strider("runs", "pause", run)
    await until(place, lambda: run in commanded(process, "run"))
    process.end(signal.SIGKILL)
    await delete_all(kafka_bootstrap, JOB_EVENTS)
    again = SchedulerProcess(kafka_bootstrap, redis_url, tmp_path / "again.log")
    try:
        await until(place, lambda: again.shards_taken() >= SHARDS)
        [shown] = await strider("runs", "show", run)
        assert shown["state"] == "paused"
        other = f"http://{first}/of-another-run"
        place.web.pages[other] = Page(other)
        before = set(place.web.tries)
        await place.pipeline.discover([other], via="seed", offset=99, from_execution_ids=(f"{run}-other",))
        await until(place, lambda: other in place.web.tries)
        # A page of another run on the same host was fetched, and nothing of the paused run.
        assert {url for url in set(place.web.tries) - before if not url.endswith("/robots.txt")} == {other}
        await strider("runs", "resume", run)
        await until(place, lambda: len(set(place.web.tries) - before) > 5)
    finally:
        again.close()


async def delete_all(bootstrap: str, topic: Topic[Any]) -> None:
    """Delete all records of a topic of one partition, as its retention does in time."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.delete_records({TopicPartition(topic.name, 0): RecordsToDelete(before_offset=-1)})
    finally:
        await admin.close()
