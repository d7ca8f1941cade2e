"""Clients of Server-Sent Events, and the lines that they follow."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from strider.runtime.access_tokens import Role
from strider.runtime.observability.job_logs import JobLogLine
from strider.testing.callers import bearer

RUN = "news-1"
STREAM = f"/api/v1/runs/{RUN}/logs/stream/v2"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    name: str
    event_id: str
    data: Mapping[str, Any]


@asynccontextmanager
async def stream_of(
    url: str, path: str = STREAM, *, last_event_id: str = ""
) -> AsyncIterator[AsyncIterator[ServerSentEvent]]:
    """Open a stream; gives its events."""
    headers = bearer(Role.USER) | ({"Last-Event-ID": last_event_id} if last_event_id else {})
    async with (
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client,
        client.stream("GET", path, headers=headers) as response,
    ):
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield events_of(response.aiter_lines())


async def events_of(lines: AsyncIterator[str]) -> AsyncIterator[ServerSentEvent]:
    """Parse events; comments are left out."""
    fields: dict[str, str] = {}
    async for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            yield ServerSentEvent(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
            fields = {}
        else:
            fields = {}


def a_line(number: int, *, run: str = RUN, job: str = "news", padding: int = 0, **more: Any) -> JobLogLine:
    fields = {
        "job_id": job,
        "execution_id": run,
        "ts": f"2026-05-01T12:00:00.{number:06}Z",
        "level": "info",
        "service": "fetcher",
        "event": "Responses received",
        "number": number,
        **({"padding": "x" * padding} if padding else {}),
        **more,
    }
    return JobLogLine(job, fields["ts"], str(fields["level"]), str(fields["event"]), json.dumps(fields), run)
