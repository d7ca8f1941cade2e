"""Jobs as a client of the API has them: scheduler, link-ingestion and API as processes, a simulated web.

A run is awaited by its execution. `rows` reads the tables themselves.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import httpx

from strider.storage.postgres import Postgres
from strider.testing.callers import bearer
from tests.integration.scheduler.jobs.job_servers import JobServers
from tests.processes.services import Service
from tests.processes.waiting import until
from tests.unit.scheduler.simulation.web import Host, Page

RUN_SECONDS = 300.0
"""Far more than a run of one page takes."""


class JobClient:
    """A client of the API, and the web that its jobs crawl."""

    def __init__(self, servers: JobServers, postgres: Postgres, scheduler: Service, api: Service) -> None:
        self.servers = servers
        self.scheduler = scheduler
        self.api = api
        self._postgres = postgres
        url = str(api.events("API listening")[-1]["url"])
        # An idle connection may be closed by the API at the moment of the next request.
        unshared = httpx.Limits(max_keepalive_connections=0)
        self.http = httpx.AsyncClient(
            base_url=url, trust_env=False, timeout=60, headers=bearer(), limits=unshared
        )

    async def close(self) -> None:
        await self.http.aclose()

    async def send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, status: int = 200
    ) -> Any:
        """Send a request, and return its document; any other status than the expected one fails."""
        response = await self.http.request(method, path, json=body)
        assert response.status_code == status, (method, path, response.status_code, response.text)
        return response.json()

    def serve_page(self, how: str = "fine") -> str:
        """Add a site of one page to the simulated web; return its URL."""
        host = f"www.{uuid.uuid4().hex[:8]}.test"
        web = self.servers.crawl.web
        web.hosts[host] = Host(host)
        url = f"http://{host}/"
        web.pages[url] = Page(url, how)
        return url

    def change_page(self, url: str, *, how: str = "fine", text: str = "") -> None:
        """Let a page respond differently from now on: another way, or with another text."""
        web = self.servers.crawl.web
        web.pages[url] = replace(web.pages[url], how=how)
        if text:
            self.servers.crawl.pipeline.texts[url] = text

    async def add_source(self, url: str, **fields: Any) -> str:
        """Create a source; return its id."""
        document = {"name": url.split("/")[2], "url": url, **fields}
        return str((await self.send("POST", "/api/v1/sources", document, status=201))["id"])

    async def add_job(self, url: str, **fields: Any) -> dict[str, Any]:
        """Create a job of a source of its own, unless one is named."""
        document = {"url": url, **fields}
        if "source_id" not in document:
            document["source_id"] = await self.add_source(url)
        return dict(await self.send("POST", "/api/v1/jobs", document, status=201))

    async def postpone(self, job_id: str, minutes: int) -> dict[str, Any]:
        """Give a recurring job another phase, so that no regular run comes into the way of a test."""
        statement = (
            "UPDATE jobs SET next_run_at = planned, phase_at = planned"
            " FROM date_trunc('milliseconds', now() + $2 * interval '1 minute') AS planned WHERE id = $1"
        )
        await self.rows(statement, job_id, minutes)
        return await self.job(job_id)

    async def job(self, job_id: str) -> dict[str, Any]:
        return dict(await self.send("GET", f"/api/v1/jobs/{job_id}"))

    async def act(self, job_id: str, action: str) -> dict[str, Any]:
        version = 2 if action == "force-run" else 1
        return dict(await self.send("POST", f"/api/v{version}/jobs/{job_id}/{action}"))

    async def executions(self, job_id: str) -> list[dict[str, Any]]:
        """Return the executions of a job, the first one first."""
        found = await self.send("GET", f"/api/v1/jobs/{job_id}/executions")
        return list(reversed(found["items"]))

    async def until_ended(self, job_id: str, number: int) -> dict[str, Any]:
        """Wait until this execution has ended, and return it."""
        found: list[dict[str, Any]] = []

        async def is_ended() -> bool:
            self.servers.crawl.pipeline.check()
            found[:] = [each for each in await self.executions(job_id) if each["execution_number"] == number]
            return bool(found) and found[0]["status"] != "running"

        what = f"execution {number} of {job_id} has ended"
        await until(is_ended, what=what, tell=self._last_words, seconds=RUN_SECONDS)
        return found[0]

    async def run_again(self, job_id: str) -> dict[str, Any]:
        """Let a scheduled job run now; return its execution."""
        number = (await self.job(job_id))["execution_count"] + 1
        await self.act(job_id, "force-run")
        return await self.until_ended(job_id, number)

    async def rows(self, statement: str, *arguments: Any) -> list[dict[str, Any]]:
        return [dict(row) for row in await self._postgres.fetch(statement, *arguments)]

    async def job_row(self, job_id: str) -> dict[str, Any]:
        (row,) = await self.rows("SELECT * FROM jobs WHERE id = $1", job_id)
        return row

    async def execution_rows(self, job_id: str) -> list[dict[str, Any]]:
        statement = "SELECT * FROM job_executions WHERE job_id = $1 ORDER BY execution_number"
        return await self.rows(statement, job_id)

    def _last_words(self) -> str:
        return f"{self.scheduler.last_words()}\n{self.api.last_words()}"


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def whole_intervals(first: str, second: str, interval: timedelta) -> bool:
    """Whether two runs are whole intervals apart: of one phase."""
    return (moment(second) - moment(first)) % interval == timedelta(0)
