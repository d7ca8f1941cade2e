"""`strider sources` as a process, on a real database and a real broker."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strider.contracts.generated.topics import SCHEMAS, SOURCES
from strider.jobs.models import JobQuery
from strider.jobs.postgres import PostgresJobStore
from strider.messaging.kafka import KafkaConnection
from strider.messaging.topics import apply_topics
from strider.storage.postgres import Postgres, PostgresOptions
from strider.testing.stack import ServerStack
from tests.integration.api.sources.test_sources import published

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def strider(stack: ServerStack, database: str, tmp_path: Path) -> Command:
    """Run a command with the servers of the tests, and with no terminal."""
    connection = KafkaConnection((stack.kafka.address,))
    asyncio.run(apply_topics(connection, [SOURCES, SCHEMAS], shards=1))
    servers = {
        "KAFKA_BOOTSTRAP_SERVERS": stack.kafka.address,
        "POSTGRES_DSN": database,
        "STRIDER_HOME": str(tmp_path),
    }

    def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "strider.cli", "sources", *words],
            env={**os.environ, **servers, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


def read(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.req("S5.3.8", part="sources by the command, up to the topic")
def test_a_source_is_added_changed_and_removed(strider: Command, stack: ServerStack) -> None:
    added = read(
        strider(
            *("add", "News", "https://news.test", "--json", "--set", "max_depth=6"),
            *("--set", "include=*/a/*", "--set", "include=*/b/*", "--set", "metadata.team=desk"),
        )
    )
    twice = strider("add", "News", "https://other.test/")
    edited = strider("edit", "News", "--set", "interval_minutes=60", "--unset", "include", "--version", "1")
    late = strider("edit", "News", "--set", "max_depth=1", "--version", "1")
    shown = read(strider("show", added["source_id"], "--json"))
    wrong = strider("edit", "News", "--set", "max_depth=99", "--set", "url=nope")
    unknown = strider("edit", "News", "--set", "depth=1")
    on_topic = asyncio.run(published(stack.kafka.address))[added["source_id"]]
    asked = strider("remove", "News")
    removed = strider("remove", "News", "--yes")
    gone = strider("show", "News")

    assert (added["max_depth"], added["include"], added["url"]) == (
        6,
        ["*/a/*", "*/b/*"],
        "https://news.test/",
    )
    assert (twice.returncode, twice.stderr) == (1, "strider: name: another source has the name 'News'\n")
    assert (edited.returncode, edited.stdout) == (0, f"saved News: {added['source_id']}, version 2\n")
    assert "max_depth: 6 links from a start URL is unusually deep" in edited.stderr
    assert late.returncode == 1
    assert "version 1 was given, 2 is current" in late.stderr
    assert (shown["interval_minutes"], shown["include"], shown["metadata"]) == (60, [], {"team": "desk"})
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 2)
    assert "max_depth: is 99, expected 0 to 10" in wrong.stderr
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)
    assert (on_topic.version, on_topic.interval_minutes) == (2, 60)
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert (removed.returncode, removed.stdout) == (0, "removed News\n")
    assert (gone.returncode, gone.stderr) == (1, "strider: there is no source 'News'\n")
    assert added["source_id"] not in asyncio.run(published(stack.kafka.address))


def test_a_source_is_saved_without_kafka(strider: Command) -> None:
    added = strider("add", "News", "https://news.test/", KAFKA_BOOTSTRAP_SERVERS="127.0.0.1:1")

    assert added.returncode == 0
    assert "saved; kafka does not answer, so the api publishes it later" in added.stderr
    assert [each["name"] for each in read(strider("list", "--json"))] == ["News"]


@pytest.mark.req("S1.1.11", "S1.2.18", part="by the command")
def test_jobs_are_made_after_the_difference_was_shown(strider: Command, database: str) -> None:
    for name, minutes in (("A", 60), ("B", 30), ("C", 0)):
        strider("add", name, "https://a.test/", "--set", f"interval_minutes={minutes}")

    shown = read(strider("sync", "--json"))
    before = asyncio.run(jobs_of(database))
    refused = strider("sync", "--apply")
    applied = read(strider("sync", "--apply", "--yes", "--json"))
    again = read(strider("sync", "--apply", "--yes", "--json"))
    disabled = strider("disable", "A")
    states = asyncio.run(jobs_of(database))
    enabled = [strider("enable", "A") for _ in range(2)]

    assert sorted(step["action"] for step in shown) == ["create", "create", "skip"]
    assert (before, refused.returncode) == ({}, 2)
    assert [step["applied"] for step in applied if step["action"] == "create"] == [True, True]
    assert [step["action"] for step in again] == ["skip"]
    assert disabled.returncode == 0
    assert sorted(states.values()) == ["paused", "scheduled"]
    assert [done.returncode for done in enabled] == [0, 0]
    assert sorted(asyncio.run(jobs_of(database)).values()) == ["scheduled", "scheduled"]


async def jobs_of(database: str) -> dict[str, str]:
    postgres = Postgres(PostgresOptions(database, max_connections=1))
    try:
        found = (await PostgresJobStore(postgres).find(JobQuery())).jobs
        return {job.job_id: str(job.state) for job in found}
    finally:
        await postgres.close()


@pytest.mark.req("S0.4.3")
def test_sources_that_follow_no_link_or_one_are_raised_to_three(strider: Command) -> None:
    """Once: the next audit finds nothing. No other field and no other source changes."""
    depths = {"unset": 0, "list": 1, "two": 2, "usual": 3, "deep": 7}
    for name, depth in depths.items():
        strider("add", name, f"https://{name}.test/", "--set", f"max_depth={depth}")

    listed = strider("audit", "--json")
    raised = strider("audit", "--raise")
    after = read(strider("list", "--json"))
    again = strider("audit", "--json")

    assert listed.returncode == 1
    assert [each["name"] for each in json.loads(listed.stdout)] == ["list", "unset"]
    assert (raised.returncode, again.returncode, json.loads(again.stdout)) == (0, 0, [])
    assert {each["name"]: each["max_depth"] for each in after} == depths | {"unset": 3, "list": 3}
    assert {each["name"]: each["version"] for each in after} == dict.fromkeys(depths, 1) | {
        "unset": 2,
        "list": 2,
    }
