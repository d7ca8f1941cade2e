"""Every curl line of the developer guide, run by curl as it is written, on a running API and database."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from strider.jobs.models import ExecutionResult, NewJob
from strider.jobs.ports import JobStore
from strider.jobs.states import ExecutionState
from tests.integration.api.test_service import Start, start, topics, url_of

from .records import a_token, job_store

__all__ = ["job_store", "start", "topics"]

GUIDE = Path(__file__).with_name("developer_guide.txt")
COMMAND = re.compile(r"(?ms)^curl .*?(?=^#|^curl |^$|\Z)")
PLACE = "localhost:8060"
"""Where the guide's API is; curl is redirected from there to the port of the test."""


def curl_lines() -> list[str]:
    return [command.strip() for command in COMMAND.findall(GUIDE.read_text(encoding="utf-8"))]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    document: dict[str, Any]


class Shell:
    """A shell with JWT in its environment, whose curl finds the guide's address at that of the test."""

    def __init__(self, folder: Path, url: str) -> None:
        port = urlsplit(url).port
        (folder / ".curlrc").write_text(
            f'connect-to = "{PLACE}:127.0.0.1:{port}"\nsilent\nshow-error\nnoproxy = "*"\n'
            'write-out = "\\n%{http_code}"\n'
        )
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "CURL_HOME": str(folder),
            "JWT": a_token(),
        }

    def run(self, command: str) -> Answer:
        done = subprocess.run(
            ["bash", "-c", command],
            env=self._environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        body, _, status = done.stdout.rpartition("\n")
        return Answer(int(status), json.loads(body))


def test_the_copy_of_the_guide_has_all_its_lines() -> None:
    """The three addresses, six of jobs, the schedule, and what is to be watched."""
    lines = curl_lines()

    assert len(lines) == 16
    assert sum("-X POST" in line for line in lines) == 9
    assert all(line.count("'") in {0, 2} for line in lines)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed (apt install curl)")
@pytest.mark.req("S1.1.3", "S1.1.4", "S1.1.5", "S1.1.6", "S1.1.7", "S1.1.8", "S1.1.9", "S1.1.10")
@pytest.mark.req("S1.17.1", "S1.17.2", "S4.17.1", "S1.13.3", "S1.18.4")
async def test_every_curl_line_works_as_it_is_written(  # noqa: PLR0917  # fixtures
    topics: str, start: Start, database: str, redis_url: str, job_store: JobStore, tmp_path: Path
) -> None:
    """Only `{id}` stands for an id: of a scheduled job, or of a failed one where it is tried again."""
    process = start(topics, database, REDIS_URL=redis_url)
    await asyncio.to_thread(process.wait_for_event, "Service running")
    shell = Shell(tmp_path, await url_of(process))
    answers: dict[str, Answer] = {}
    for line in curl_lines():
        command = line
        if "{id}" in line:
            wanted = "failed" if line.partition("{id}/")[2].startswith("retry") else "scheduled"
            command = line.replace("{id}", await _job_in(job_store, wanted))
        answers[line] = await asyncio.to_thread(shell.run, command)

    created = [each for line, each in answers.items() if "-d '{" in line]
    assert [each.status for each in created] == [201] * 4
    assert [each.document["status"] for each in created] == ["scheduled", "pending"] * 2
    assert (created[2].document["max_retries"], created[2].document["retry_backoff_seconds"]) == (3, 60)
    assert {each.status for line, each in answers.items() if "-d '{" not in line} == {200}
    found = {urlsplit(line.split("http://")[1].split()[0]).path: each for line, each in answers.items()}
    state = {path.rpartition("/")[2]: each.document.get("status") for path, each in found.items()}
    assert (state["pause"], state["retry"], state["force-run"]) == ("paused", "pending", "scheduled")
    assert "success_rate" in _last(answers, "scheduler/metrics")["executions"]
    assert 0 <= _last(answers, "scheduler/distribution")["distribution_score"] <= 1
    assert _last(answers, "rebalance/preview")["applied"] == 0
    assert await asyncio.to_thread(process.stop) == 0


def _last(answers: dict[str, Answer], ending: str) -> dict[str, Any]:
    return [each.document for line, each in answers.items() if line.endswith(ending)][-1]


async def _job_in(store: JobStore, state: str) -> str:
    """Create a job, and bring it into a state: a failed one has had a run without retries."""
    interval = 60 if state == "scheduled" else None
    new = NewJob(url="https://example.com/", interval_minutes=interval, max_retries=0)
    job = await store.create(new, now_ms=await store.now_ms())
    if state == "failed":
        for launch in await store.claim_due(now_ms=await store.now_ms(), limit=100, token="t1"):
            result = ExecutionResult(outcome=ExecutionState.FAILED, error_message="no source")
            await store.finish(launch.execution.execution_id, result, now_ms=await store.now_ms())
    return job.job_id
