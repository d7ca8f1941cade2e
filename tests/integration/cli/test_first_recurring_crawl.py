"""The commands of docs/first-recurring-crawl.md, one by one, on a running API and a real database."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from strider.jobs.models import JobQuery
from strider.jobs.ports import JobStore
from strider.jobs.states import TRANSITIONS
from tests.integration.api.jobs.records import job_store
from tests.integration.api.test_service import start, topics

from .test_jobs import Command, fail_runs, strider

__all__ = ["job_store", "start", "strider", "topics"]

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "first-recurring-crawl.md"
JOBS_PAGE = ROOT / "docs" / "jobs.md"
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


@pytest.mark.req("S5.3.7")
async def test_the_advice_for_operators_is_written_down_and_its_commands_work(
    strider: Command, job_store: JobStore
) -> None:
    """The source is found by the command of the page, and the job that follows belongs to it."""
    advice = JOBS_PAGE.read_text(encoding="utf-8").split("## Advice for operators")[1].split("\n## ")[0]
    bold = re.findall(r"(?ms)^- \*\*(.*?)\*\*", advice)
    commands = re.findall(r"(?m)^ {8}strider (.*)$", advice)
    metrics, sources, create = (shlex.split(line) for line in commands)
    await strider.done("sources", "add", "advice", "https://example.org/")
    source_id = (await strider.done(*sources)).splitlines()[1].split()[1]
    created = await strider.json(*(source_id if word == "SOURCE" else word for word in create))
    jobs = await job_store.find(JobQuery(source_id=source_id))

    assert bold == [
        "Never clear locks by hand while a scheduler runs.",
        "Keep robots.txt on.",
        "Find the id of the source first.",
    ]
    assert [job.job_id for job in jobs.jobs] == [created["id"]]
    assert "stale" in await strider.done(*metrics)


@pytest.mark.req("S1.20.1")
def test_the_reference_of_the_scheduler_has_its_parts() -> None:
    """API, settings and integration are described from the README on; the diagram has every transition."""
    readme, page = (ROOT / "README.md").read_text("utf-8"), JOBS_PAGE.read_text(encoding="utf-8")
    linked = {"docs/jobs.md", "docs/api.md", ".env.example", "docs/seeds.md#let-others-submit-seeds"}
    diagram = page.split("```mermaid\nstateDiagram-v2")[1].split("```")[0]

    assert {path for path in linked if f"({path})" in readme} == linked
    assert {f"{old} --> {new}:" in diagram for old, news in TRANSITIONS.items() for new in news} == {True}
    for title in ("States", "When a job runs", "Commands and routes", "What it costs", "When things fail"):
        assert f"\n## {title}\n" in page


async def test_a_job_of_a_missing_source_names_it(strider: Command, job_store: JobStore) -> None:
    """As the page says: it is created, and its runs fail and say so."""
    created = await strider.json("jobs", "create", "https://example.org/", "--max-retries", "0")
    await fail_runs(job_store)

    assert "there is no source" in await strider.done("jobs", "show", created["id"])
