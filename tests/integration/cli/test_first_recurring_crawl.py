"""The commands of docs/first-recurring-crawl.md, one by one, on a running API and a real database."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from strider.jobs.ports import JobStore
from tests.integration.api.jobs.records import job_store
from tests.integration.api.test_service import start, topics

from .test_jobs import Command, fail_runs, strider

__all__ = ["job_store", "start", "strider", "topics"]

PAGE = Path(__file__).parents[3] / "docs" / "first-recurring-crawl.md"
REFUSED = "strider jobs resume JOB"
"""The second time, the page shows it as the command that is refused."""
OF_THE_STACK = frozenset({"up", "down"})
"""Commands that tests/integration/localstack runs."""


def command_lines() -> list[str]:
    return re.findall(r"(?m)^    (strider (?!jobs?:)[a-z].*)$", PAGE.read_text(encoding="utf-8"))


@pytest.mark.req("S1.20.1", part="a first recurring crawl, by its commands")
async def test_every_command_of_the_page_works(strider: Command, job_store: JobStore) -> None:
    """In the order of the page, with the ids of the source and the job that it creates."""
    ids, seen = {"SOURCE": "", "JOB": ""}, list[str]()
    for line in command_lines():
        words = shlex.split(line)[1:]
        if words[0] in OF_THE_STACK:
            continue
        is_refused = line == REFUSED and REFUSED in seen
        seen.append(line)
        result = await strider.run(*(ids.get(word, word) for word in words))
        assert result.exit_code == (1 if is_refused else 0), (line, result.output)
        if words[:2] == ["sources", "add"]:
            (ids["SOURCE"],) = re.findall(r"^added example: (\S+), version 1$", result.stdout, re.MULTILINE)
        if words[:2] == ["jobs", "create"]:
            ids["JOB"] = result.stdout.split()[1]
            assert re.fullmatch(r"job \S+ is scheduled; next run [\d: -]+\n", result.stdout)
        if is_refused:
            assert "cannot resume; possible now: pause, cancel, run" in result.stderr

    assert {line.split()[2] for line in seen if " jobs " in line} == {
        *("create", "list", "show", "runs", "edit", "run", "pause", "resume", "cancel", "delete")
    }
    assert await job_store.get(ids["JOB"]) is None


async def test_a_job_of_a_missing_source_names_it(strider: Command, job_store: JobStore) -> None:
    """As the page says: it is created, and its runs fail and say so."""
    created = await strider.json("jobs", "create", "https://example.org/", "--max-retries", "0")
    await fail_runs(job_store)

    assert "there is no source" in await strider.done("jobs", "show", created["id"])
