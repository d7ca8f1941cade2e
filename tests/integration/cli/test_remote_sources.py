"""`strider sources` over the API: the commands reach no database."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import Result

from strider.cli.exit_codes import CommandExit
from strider.runtime.access_tokens import Role
from strider.storage.postgres import Postgres
from strider.testing.callers import access_token
from tests.integration.api.sources.test_sources import job_of
from tests.integration.api.test_service import start, topics

from .test_jobs import Command, strider

__all__ = ["start", "strider", "topics"]

NOWHERE = {"POSTGRES_DSN": "postgresql://127.0.0.1:1/none", "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"}


@pytest.fixture
def sources(strider: Command) -> Callable[..., Any]:
    async def run(*words: str, code: int = 0, **changes: str) -> Result:
        result = await strider.run("sources", *words, **{**NOWHERE, **changes})
        assert result.exit_code == code, result.output
        return result

    return run


def read(result: Result) -> Any:
    return json.loads(result.stdout)


@pytest.mark.req("S5.3.8", part="sources by the command, over the API")
async def test_sources_are_added_changed_and_removed_over_the_api(
    sources: Callable[..., Any], postgres: Postgres
) -> None:
    name = f"News {uuid4().hex[:8]}"
    added = read(await sources("add", name, "https://example.org", "--json", "--set", "metadata.team=desk"))
    twice = await sources("add", name, "https://example.net/", code=CommandExit.FAILED)
    options = ("--set", "interval_minutes=60", "--set", "max_depth=1", "--version", "1")
    edited = await sources("edit", name, *options)
    late = await sources("edit", name, "--set", "max_depth=2", "--version", "1", code=CommandExit.FAILED)
    wrong = await sources("edit", name, "--set", "max_depth=99", code=CommandExit.USAGE)
    await sources("enable", name)
    made = await job_of(postgres, added["source_id"])
    shallow = read(await sources("audit", "--json", code=CommandExit.FAILED))
    await sources("disable", added["source_id"])
    paused = await job_of(postgres, added["source_id"])
    shown = read(await sources("show", name, "--json"))
    listed = read(await sources("list", "--name", name[:8], "--disabled", "--json"))
    has_job = await sources("remove", name, "--yes", code=CommandExit.FAILED)
    await sources("remove", name, "--yes", "--force")
    gone = await sources("show", name, code=CommandExit.FAILED)

    assert (added["url"], added["version"], added["updated_by"]) == ("https://example.org/", 1, "tests")
    assert f"another source has the name '{name}'" in twice.stderr
    assert edited.stdout == f"saved {name}: {added['source_id']}, version 2\n"
    assert "version 1 was given, 2 is current" in late.stderr
    assert "max_depth: is 99, expected 0 to 10" in wrong.stderr
    assert made is not None
    assert paused is not None
    assert (made.interval_minutes, made.state, paused.state) == (60, "scheduled", "paused")
    assert [each["source_id"] for each in shallow if each["name"] == name] == [added["source_id"]]
    assert (shown["interval_minutes"], shown["metadata"], shown["enabled"]) == (60, {"team": "desk"}, False)
    assert shown["created_at_ms"] == added["created_at_ms"]
    assert [each["source_id"] for each in listed if each["name"] == name] == [added["source_id"]]
    assert "has 1 job" in has_job.stderr
    assert f"there is no source '{name}'" in gone.stderr


@pytest.mark.req("S1.2.18", part="by the command, over the API")
async def test_jobs_follow_over_the_api_after_the_difference_was_shown(
    sources: Callable[..., Any], postgres: Postgres
) -> None:
    name = f"Sync {uuid4().hex[:8]}"
    made = read(await sources("add", name, "https://example.org/", "--set", "interval_minutes=30", "--json"))
    shown = read(await sources("sync", "--json"))
    before = await job_of(postgres, made["source_id"])
    applied = read(await sources("sync", "--apply", "--yes", "--json"))
    after = await job_of(postgres, made["source_id"])

    mine = [
        [(step["action"], step["applied"]) for step in steps if step["source_id"] == made["source_id"]]
        for steps in (shown, applied)
    ]
    assert mine == [[("create", False)], [("create", True)]]
    assert (before, after and after.interval_minutes) == (None, 30)


async def test_what_is_named_decides_how_sources_are_reached(
    sources: Callable[..., Any], database: str
) -> None:
    """The address of an API comes before that of a database, and --dsn before both."""
    name = f"Way {uuid4().hex[:8]}"
    await sources("add", name, "https://example.org/")
    user = access_token(Role.USER)

    direct = await sources("show", name, "--json", "--dsn", database, STRIDER_API_URL="http://127.0.0.1:1")
    away = await sources("list", STRIDER_API_URL="http://127.0.0.1:1", code=CommandExit.UNAVAILABLE)
    stranger = await sources("list", "--token", "x", code=CommandExit.USAGE)
    unable = await sources("remove", name, "--yes", "--token", user, code=CommandExit.FAILED)
    nothing = await sources("show", "..", code=CommandExit.FAILED)

    assert read(direct)["name"] == name
    assert "does not answer" in away.stderr
    assert "--token" in stranger.stderr
    assert "admin" in unable.stderr
    assert "there is no source '..'" in nothing.stderr
