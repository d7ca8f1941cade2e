"""Jobs that run again and again beside the other tests of this folder, since each run takes seconds."""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple

from .job_client import JobClient

CURVE: Final = [1800, 3600, 7200, 14400, 28800, 57600, 86400]
"""Of 30 minutes, by run: 30m 1h 2h 4h 8h 16h 24h (64 times 30 minutes would be 32 h)."""


class History(NamedTuple):
    """A job as it was created, and its intervals and executions by run, of four stages."""

    job: dict[str, Any]
    states: list[dict[str, Any]]
    executions: list[dict[str, Any]]
    outcomes: list[str]

    @property
    def intervals(self) -> list[int]:
        return [each["current_interval_seconds"] for each in self.states]


class Runner:
    """Lets one job run again and again."""

    def __init__(self, client: JobClient) -> None:
        self._client = client
        self.url = client.serve_page()

    async def begin(self, **fields: Any) -> None:
        job = await self._client.add_job(self.url, interval_minutes=30, **fields)
        self.history = History(await self._client.postpone(job["id"], 29), [], [], [])

    def note_outcomes(self) -> None:
        """Note the outcomes of all requests for the page."""
        log = self._client.servers.crawl.web.log
        self.history.outcomes[:] = [visit.outcome for visit in log if visit.url == self.url]

    async def run(self, times: int = 1) -> None:
        for _ in range(times):
            job_id = self.history.job["id"]
            self.history.executions.append(await self._client.run_again(job_id))
            self.history.states.append(await self._client.job(job_id))


async def of_the_curve(client: JobClient) -> History:
    runner = Runner(client)
    await runner.begin()
    await runner.run(len(CURVE))
    client.change_page(runner.url, text="changed")
    await runner.run()
    return runner.history


async def of_a_fixed_job(client: JobClient) -> History:
    runner = Runner(client)
    await runner.begin(adaptive_scheduling=False)
    await runner.run(3)
    return runner.history


async def of_a_failure(client: JobClient, how: str) -> History:
    """Two runs with the same text, one that fails, and one with the same text again."""
    runner = Runner(client)
    await runner.begin(crawl_settings={"request_timeout_seconds": 1.0})
    await runner.run(2)
    client.change_page(runner.url, how=how)
    await runner.run()
    client.change_page(runner.url)
    await runner.run()
    runner.note_outcomes()
    return runner.history


def begin_histories(client: JobClient) -> dict[str, asyncio.Task[History]]:
    """Let these jobs run side by side from now on."""
    wanted = {
        "curve": of_the_curve(client),
        "fixed": of_a_fixed_job(client),
        "missing": of_a_failure(client, "missing"),
        "late": of_a_failure(client, "late"),
    }
    return {name: asyncio.create_task(history, name=name) for name, history in wanted.items()}
