"""Processes that claim the same jobs, and are killed at every step: each job runs once, none is left."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from strider.jobs.postgres import PostgresJobStore
from strider.storage.postgres import Postgres
from tests.processes import job_claimer
from tests.processes.waiting import until

JOBS = 2_000
MODES = ("die-claimed", "die-published", "die-marked", "stop-claimed", "work", "work")

INSERT = """
    INSERT INTO jobs (id, url, status, schedule_enabled, next_run_at, created_at, updated_at)
    SELECT 'job-' || number, 'https://example.com/', 'pending', false, now(), now(), now()
      FROM generate_series(1, $1) AS number
"""


async def _start(dsn: str, path: Path, token: str, mode: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.processes.job_claimer", dsn, str(path), token, mode),
        cwd=Path(job_claimer.__file__).parents[2],
    )


def _lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.req(
    "S1.6.3", "S1.6.5", "S1.15.3", part="the record: 6 processes, 2,000 due jobs, kills at every step"
)
@pytest.mark.req("S1.6.2", part="the record")
@pytest.mark.fault("F29", part="a stopped holder of a job's lock")
async def test_2000_due_jobs_run_once_whichever_process_dies(
    database: str, postgres: Postgres, store: PostgresJobStore, tmp_path: Path
) -> None:
    path = tmp_path / "launches"
    await postgres.run(lambda connection: connection.execute(INSERT, JOBS))
    claimers = {
        f"{mode}-{number}": await _start(database, path, f"{mode}-{number}", mode)
        for number, mode in enumerate(MODES)
    }
    stopped = claimers["stop-claimed-3"]
    try:
        await until(lambda: ["stop-claimed-3", "stops", "-"] in _lines(path), what="one has stopped")
        await until(lambda: len(_lines(path)) > JOBS, what="half of the launches")
        claimers["work-4"].send_signal(signal.SIGKILL)
        await until(lambda: claimers["work-5"].returncode is not None, what="the last one has ended")
        stopped.send_signal(signal.SIGCONT)
        await until(lambda: stopped.returncode is not None, what="the stopped one has ended")
    finally:
        for claimer in claimers.values():
            if claimer.returncode is None:
                claimer.kill()
            await claimer.wait()

    rows = await postgres.fetch("SELECT id, job_id, launched_at FROM job_executions")
    assert Counter(row["job_id"] for row in rows) == {f"job-{number + 1}": 1 for number in range(JOBS)}
    assert all(row["launched_at"] is not None for row in rows)
    _check_launches(_lines(path), {row["id"] for row in rows})
    died = [claimers[name].returncode for name in ("die-claimed-0", "die-published-1", "die-marked-2")]
    assert died == [-signal.SIGKILL] * 3


def _check_launches(lines: list[list[str]], executions: set[str]) -> None:
    """Every execution was published; the stopped holder was refused for each of its own."""
    by_what: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for token, what, execution_id in lines:
        by_what[what].append((token, execution_id))
    assert {execution_id for _, execution_id in by_what["published"]} == executions
    marked = Counter(execution_id for _, execution_id in by_what["marked"])
    assert set(marked.values()) == {1}
    refused = [execution_id for token, execution_id in by_what["refused"] if token == "stop-claimed-3"]
    assert len(refused) >= job_claimer.BATCH
