"""strider jobs and strider scheduler on a running API and a real database."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner, Result

from strider.cli.app import app
from strider.cli.exit_codes import CommandExit
from strider.jobs.models import ExecutionResult
from strider.jobs.ports import JobStore
from strider.jobs.states import ExecutionState
from strider.runtime.access_tokens import Role
from strider.storage.redis import RedisOptions, connect
from strider.testing.callers import access_token
from tests.integration.api.jobs.records import job_store
from tests.integration.api.test_service import Start, start, topics, until, url_of
from tests.integration.frontier.shards import EPOCH, SHARD, accepted, opened

__all__ = ["job_store", "start", "topics"]


class Command(NamedTuple):
    """`strider` with the address and the token of the API in its environment."""

    run: Callable[..., Any]

    async def done(self, *words: str) -> str:
        result = await self.run(*words)
        assert result.exit_code == 0, result.output
        return str(result.stdout)

    async def json(self, *words: str) -> Any:
        return json.loads(await self.done(*words, "--json"))

    async def refused(self, *words: str) -> tuple[int, str]:
        result = await self.run(*words)
        return result.exit_code, result.stderr.strip()


def invoke(environment: dict[str, str], *words: str) -> Result:
    return CliRunner().invoke(app, list(words), env=environment)


@pytest.fixture
async def strider(topics: str, start: Start, database: str, redis_url: str, tmp_path: Path) -> Command:
    process = start(topics, database, REDIS_URL=redis_url)
    await asyncio.to_thread(process.wait_for_event, "Service running")
    environment = {
        "STRIDER_API_URL": await url_of(process),
        "STRIDER_API_CLIENT_TOKEN": access_token(),
        "STRIDER_HOME": str(tmp_path / "home"),
        "POSTGRES_DSN": database,
        "KAFKA_BOOTSTRAP_SERVERS": topics,
        "COLUMNS": "200",
    }

    async def run(*words: str, **changes: str) -> Result:
        return await asyncio.to_thread(invoke, environment | changes, *words)

    return Command(run)


async def fail_runs(store: JobStore) -> int:
    """Claim every due job, and let its run fail."""
    launches = await store.claim_due(now_ms=await store.now_ms(), limit=100, token="t1")
    for launch in launches:
        result = ExecutionResult(
            outcome=ExecutionState.FAILED, error_message="there is no source 'none'", items_crawled=7
        )
        await store.finish(launch.execution.execution_id, result, now_ms=await store.now_ms())
    return len(launches)


@pytest.mark.req("S1.13.1", "S1.13.2", "S1.2.3", "S1.5.12", "S4.1.2", "S4.1.3")
@pytest.mark.req("S1.5.4", "S1.5.5", "S1.5.6", "S1.5.7", "S1.5.8", "S1.5.10")
async def test_a_job_is_created_changed_commanded_and_deleted(strider: Command) -> None:
    created = await strider.json(
        *("jobs", "create", "https://example.org/news", "--source", "s1", "--name", "news", "--every", "6h"),
        *("--max-retries", "5", "--retry-wait", "2m", "--set", "max_depth=2", "--metadata", "team=news"),
    )
    job = created["id"]
    listed = await strider.json("jobs", "list", "--status", "scheduled")
    shown = await strider.done("jobs", "show", job)
    edited = await strider.json("jobs", "edit", job, "--every", "2d", "--fixed", "--version", "1")
    merged = await strider.json(
        *("jobs", "edit", job, "--set", "scope=domain", "--unset", "max_depth", "--metadata", "desk=b"),
        *("--version", "2"),
    )
    replaced = await strider.json("jobs", "edit", job, "--replace", "--set", "max_depth=1")
    stale = await strider.refused("jobs", "edit", job, "--name", "other", "--version", "1")
    paused = await strider.done("jobs", "pause", job)
    illegal = await strider.refused("jobs", "pause", job)
    resumed = await strider.done("jobs", "resume", job)
    forced = await strider.json("jobs", "run", job)
    unconfirmed = await strider.refused("jobs", "cancel", job)
    cancelled = await strider.done("jobs", "cancel", job, "--yes")
    deleted = await strider.done("jobs", "delete", job, "--yes")
    gone = await strider.refused("jobs", "show", job)

    assert (created["status"], created["interval_minutes"], created["interval_type"]) == (
        "scheduled",
        6,
        "hours",
    )
    assert (created["crawl_settings"], created["metadata"]) == ({"max_depth": 2}, {"team": "news"})
    assert (created["retry_backoff_seconds"], created["created_by"]) == (120, "tests")
    assert [each["id"] for each in listed] == [job]
    assert re.search(r"(?m)^every +6 hours$", shown)
    assert (edited["interval_minutes"], edited["interval_type"], edited["version"]) == (2, "days", 2)
    assert edited["adaptive_scheduling"] is False
    assert stale[0] == CommandExit.FAILED
    assert "version 1 was given, 4 is current" in stale[1]
    assert (merged["crawl_settings"], merged["metadata"]) == (
        {"scope": "domain"},
        {"team": "news", "desk": "b"},
    )
    assert (replaced["crawl_settings"], replaced["metadata"]) == ({"max_depth": 1}, {})
    assert paused == f"job {job} is paused\n"
    assert illegal[0] == CommandExit.FAILED
    assert f"job {job} is paused and cannot pause; possible now: resume, cancel" in illegal[1]
    assert resumed.startswith(f"job {job} is scheduled; next run 20")
    assert (forced["status"], forced["next_run_at"] < edited["next_run_at"]) == ("scheduled", True)
    assert unconfirmed[0] == CommandExit.USAGE
    assert "--yes" in unconfirmed[1]
    assert cancelled == f"job {job} is cancelled\n"
    assert deleted == f"job {job} is deleted\n"
    assert gone == (
        CommandExit.FAILED,
        f"strider: there is no job with the id or name '{job}'; list them with: strider jobs list",
    )


async def test_a_source_is_named_by_its_name_or_id_and_a_missing_one_is_warned_about(
    strider: Command,
) -> None:
    source = (await strider.json("sources", "add", "Example", "https://example.org/"))["source_id"]

    by_name = await strider.json("jobs", "create", "https://example.org/", "--source", "Example")
    by_id = await strider.json("jobs", "create", "https://example.org/", "--source", source)
    missing = await strider.run("jobs", "create", "https://example.org/", "--source", "nope")

    assert (by_name["source_id"], by_id["source_id"]) == (source, source)
    assert len(await strider.json("jobs", "list", "--source", "Example")) == 2
    assert missing.exit_code == 0
    assert "there is no source with the id or name 'nope'; runs fail until" in missing.stderr


async def test_a_job_is_named_by_its_name_or_the_beginning_of_its_id(strider: Command) -> None:
    one = (await strider.json("jobs", "create", "https://example.org/", "--name", "news", "--every", "6h"))[
        "id"
    ]
    await strider.done("jobs", "create", "https://example.org/", "--every", "6h")

    assert (await strider.json("jobs", "show", "news"))["id"] == one
    assert (await strider.json("jobs", "pause", one[:6]))["id"] == one
    assert (await strider.json("jobs", "runs", "news")) == []
    code, text = await strider.refused("jobs", "show", one[:3])
    assert code == CommandExit.FAILED
    assert text == (
        f"strider: there is no job with the id or name {one[:3]!r}; list them with: strider jobs list"
    )


@pytest.mark.req("S1.5.9", "S1.11.3", "S1.13.4")
@pytest.mark.req("S1.13.5", part="statistics of a job")
@pytest.mark.req("S1.15.1", part="a job without a source is created")
async def test_a_failed_job_shows_its_runs_and_is_tried_again(strider: Command, job_store: JobStore) -> None:
    created = await strider.json("jobs", "create", "https://example.org/", "--max-retries", "0")
    assert await fail_runs(job_store) == 1

    runs = await strider.json("jobs", "runs", created["id"])
    shown = await strider.json("jobs", "show", created["id"])
    table = await strider.done("jobs", "runs", created["id"])
    retried = await strider.json("jobs", "retry", created["id"])

    assert [(run["status"], run["items_crawled"]) for run in runs] == [("failed", 7)]
    assert (shown["status"], shown["stats"]["failed"]) == ("failed", 1)
    assert "there is no source 'none'" in table
    assert (retried["status"], retried["current_retry_count"]) == ("pending", 0)


async def test_a_run_that_is_under_way_shows_how_far_it_is(
    strider: Command, job_store: JobStore, redis_url: str
) -> None:
    """By the frontier."""
    job = (await strider.json("jobs", "create", "https://example.org/"))["id"]
    (launch,) = await job_store.claim_due(now_ms=await job_store.now_ms(), limit=1, token="t1")
    run = launch.execution.execution_id
    redis = connect(RedisOptions(redis_url))
    frontier = await opened(redis)
    pages = [accepted(number) for number in range(3)]
    entries = [replace(page, entry=replace(page.entry, job_id=job, execution_id=run)) for page in pages]
    await frontier.accept(SHARD, EPOCH, entries)
    await redis.close()

    async def shows(text: str, *words: str) -> bool:
        return text in await strider.done(*words)

    text = "3 URLs accepted, 0 closed, 3 open"
    assert await until(lambda: shows(f"{run}: {text}", "jobs", "show", job))
    assert await until(lambda: shows(text, "jobs", "runs", job))


@pytest.mark.req("S1.1.9", "S1.10.7", "S1.13.6", "S1.18.4")
@pytest.mark.req("S1.10.8", part="by the command")
async def test_the_schedule_is_shown_and_rebalanced(strider: Command) -> None:
    await strider.json("jobs", "create", "https://example.org/", "--every", "1h")

    metrics = await strider.json("scheduler", "metrics")
    distribution = await strider.done("scheduler", "distribution")
    preview = await strider.done("scheduler", "rebalance")
    applied = await strider.json("scheduler", "rebalance", "--apply")

    assert metrics["jobs"]["scheduled"] == 1
    assert "distribution score" in distribution
    assert preview.splitlines()[-1].startswith("0 jobs would move; distribution score")
    assert applied["applied"] == 0


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        pytest.param(
            ["jobs", "create", "http://10.0.0.1/"],
            CommandExit.USAGE,
            "URL: it cannot be crawled: policy_blocked",
            id="private",
        ),
        pytest.param(
            ["jobs", "create", "https://a.test/", "--every", "0m"],
            CommandExit.USAGE,
            "--every: should be greater than or equal to 1",
            id="interval",
        ),
        pytest.param(
            ["jobs", "create", "https://a.test/", "--every", "2 weeks"],
            CommandExit.USAGE,
            "--every 2 weeks: expected minutes, hours or days",
            id="weeks",
        ),
        pytest.param(["jobs", "edit", "j1"], CommandExit.USAGE, "nothing to change is given", id="nothing"),
        pytest.param(
            ["jobs", "list", "--status", "asleep"], CommandExit.USAGE, "--status: ", id="unknown-status"
        ),
        pytest.param(
            ["jobs", "pause", "j1"], CommandExit.FAILED, "no job with the id or name 'j1'", id="unknown-job"
        ),
    ],
)
async def test_a_wrong_option_is_named(
    strider: Command, words: list[str], code: CommandExit, sentence: str
) -> None:
    found, message = await strider.refused(*words)

    assert found == code
    assert sentence in message
    assert message.startswith("strider: ")
    assert "\n" not in message


async def test_addresses_tokens_and_roles(strider: Command, tmp_path: Path) -> None:
    """From options and profile; each refusal names what to set."""
    url = (await strider.run("jobs", "list")).exit_code
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "profiles.toml").write_text('[gone]\nSTRIDER_API_URL = "http://127.0.0.1:1"\n')
    profile = await strider.run("--profile", "gone", "jobs", "list")
    no_token = await strider.run("jobs", "list", STRIDER_API_CLIENT_TOKEN="")
    forged = await strider.run("jobs", "list", "--token", "x.y.z")
    user = await strider.run(
        "scheduler", "rebalance", "--apply", STRIDER_API_CLIENT_TOKEN=access_token(Role.USER)
    )
    no_url = await strider.run("jobs", "list", STRIDER_API_URL="")
    bad_url = await strider.run("jobs", "list", "--url", "localhost:8060")

    assert url == 0
    assert (profile.exit_code, "http://127.0.0.1:1 does not answer" in profile.stderr) == (3, True)
    assert (no_token.exit_code, "set STRIDER_API_CLIENT_TOKEN" in no_token.stderr) == (2, True)
    assert (forged.exit_code, "the API refuses the token" in forged.stderr) == (2, True)
    assert (user.exit_code, "needs the role admin" in user.stderr) == (1, True)
    assert (no_url.exit_code, "set STRIDER_API_URL" in no_url.stderr) == (2, True)
    assert (bad_url.exit_code, "--url: 'localhost:8060' is not the URL of an API" in bad_url.stderr) == (
        2,
        True,
    )
    assert "STRIDER_API_URL" not in os.environ
