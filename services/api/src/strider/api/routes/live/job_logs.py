"""Routes of the logs of runs and jobs: metadata and lines, download, live stream.

GET /api/v1/runs/{run}/logs · /logs/download · /logs/stream/v2
GET /api/v1/jobs/{job}/logs · /logs/download · /logs/stream/v2     the job's latest run, or ?run=
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Final, Literal, Protocol

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from strider.api import core
from strider.api.core.server_sent_events import HEARTBEAT
from strider.api.routes.auth import USER
from strider.api.routes.pages import only
from strider.api.routes.problem_details import ProblemError
from strider.api.routes.response_models import problems
from strider.storage.keys import is_valid_key_part
from strider.storage.run_logs.models import (
    BEGINNING,
    LogEntry,
    LogFilter,
    LogPage,
    LogSummary,
    is_position,
)
from strider.storage.run_logs.plain_text import entry_text

from .event_streams import EVENT_STREAM, Feeds, LastEventId, log_events_of, read_position

RUN_LOGS: Final = "/api/v1/runs/{run}/logs"
JOB_LOGS: Final = "/api/v1/jobs/{job_id}/logs"

MAX_LINES: Final = 1_000
MAX_NAME_CHARS: Final = 400

_JOB_POLL_SECONDS: Final = 1.0
_HEARTBEAT_POLLS: Final = 15

Level = Literal["debug", "info", "warning", "error", "critical"]
LeastLevel = Annotated[Level | None, Query(description="Least level of the lines.")]
Service = Annotated[str | None, Query(max_length=60, description="Service that wrote the lines.")]
RunOfJob = Annotated[
    str | None, Query(max_length=MAX_NAME_CHARS, description="A run of the job; its latest one by default.")
]
Limit = Annotated[int, Query(ge=1, le=MAX_LINES)]
Cursor = Annotated[str | None, Query(max_length=60, description="The `next` of an earlier response.")]
Name = Annotated[str, Path(max_length=MAX_NAME_CHARS)]
Format = Annotated[Literal["text", "jsonl"], Query(description="Text for people, or a line of JSON each.")]

_PAGED: Final = ("limit", "cursor")
_OF_RUN: Final = ("level", "service")
_OF_JOB: Final = ("run", *_OF_RUN)

_ERRORS: Final = problems(401, 404, 422, 503)
_CONTENT_TYPES: Final = {
    "text": ("text/plain; charset=utf-8", "log"),
    "jsonl": ("application/x-ndjson", "jsonl"),
}
_DOWNLOAD: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The whole log.",
        "content": {
            kind.partition(";")[0]: {"schema": {"type": "string"}} for kind, _ in _CONTENT_TYPES.values()
        },
    },
    **_ERRORS,
}


class LogLine(BaseModel):
    """One line; it has further fields, which depend on its event."""

    model_config = {"extra": "allow"}

    id: str
    """Its position: a stream continues after it."""
    ts: str = ""
    level: str = ""
    service: str = ""
    event: str = ""


class RunLogResponse(BaseModel):
    """A run's log: its extent, and some of its lines."""

    job_id: str
    run: str
    runs: list[str]
    """The last runs of the job that have a log, the latest first."""
    state: str
    """`live`, `ended` or `archived`."""
    lines: int
    first_ts: str
    last_ts: str
    items: list[LogLine]
    next: str | None
    """The cursor of the next lines; null at the end of what there is."""


class LogReader(Protocol):
    """Logs of runs; every call may raise Unavailable."""

    async def summary(self, run: str) -> LogSummary | None:
        """Return what is stored of a run."""

    async def runs_of(self, job_id: str) -> list[str]:
        """Return the last runs of a job that have lines, the latest first."""

    async def filtered_page(
        self, run: str, *, after: str, count: int, log_filter: LogFilter
    ) -> LogPage | None:
        """Return the selected lines after a position."""

    def all_lines(self, run: str, log_filter: LogFilter) -> AsyncIterator[LogEntry]:
        """Yield the selected lines."""


class JobLogs:
    """Finds the run that a request is about, and its log."""

    def __init__(self, reader: LogReader) -> None:
        self.reader = reader

    async def of_run(self, run: str) -> LogSummary:
        """Return what is stored of a run; raises ProblemError."""
        _check_name("run", run)
        summary = await self.reader.summary(run)
        if summary is None:
            raise ProblemError(
                404, f"no lines of the run {run!r} are kept; a run has its first within seconds"
            )
        return summary

    async def of_job(self, job_id: str, run: str | None) -> LogSummary:
        """Return what is stored of a job's run, the latest by default; raises ProblemError."""
        _check_name("job", job_id)
        runs = [run] if run is not None else await self.reader.runs_of(job_id)
        for each in runs:
            _check_name("run", each)
            summary = await self.reader.summary(each)
            if summary is not None and summary.job_id == job_id:
                return summary
        if run is not None:
            raise ProblemError(404, f"no lines of a run {run!r} of the job {job_id!r} are kept")
        raise ProblemError(404, f"no lines of any run of the job {job_id!r} are kept")

    async def view(
        self, summary: LogSummary, log_filter: LogFilter, *, limit: int, cursor: str | None
    ) -> dict[str, Any]:
        """Return the response for a log."""
        if cursor is not None and not is_position(cursor):
            raise ProblemError(422, "cursor: send the `next` of an earlier response, or none")
        page = await self.reader.filtered_page(
            summary.run, after=cursor or BEGINNING, count=limit, log_filter=log_filter
        )
        entries = page.entries if page is not None else ()
        return {
            "job_id": summary.job_id,
            "run": summary.run,
            "runs": await self.reader.runs_of(summary.job_id),
            "state": summary.state,
            "lines": summary.lines,
            "first_ts": summary.first_ts,
            "last_ts": summary.last_ts,
            "items": [entry.document() for entry in entries],
            "next": page.position if page is not None and not page.is_last else None,
        }

    def download(self, summary: LogSummary, log_filter: LogFilter, kind: str) -> StreamingResponse:
        """Return the whole log as a file."""
        content_type, extension = _CONTENT_TYPES[kind]
        name = "".join(each if each.isascii() and each.isalnum() else "-" for each in summary.run)[:100]
        return StreamingResponse(
            self._lines(summary.run, log_filter, is_text=kind == "text"),
            media_type=content_type,
            headers={"Content-Disposition": f'attachment; filename="{name}.{extension}"'},
        )

    async def _lines(self, run: str, log_filter: LogFilter, *, is_text: bool) -> AsyncIterator[bytes]:
        async for entry in self.reader.all_lines(run, log_filter):
            line = entry_text(entry) if is_text else json.dumps(entry.document())
            yield line.encode(errors="replace") + b"\n"


def job_log_routes(logs: JobLogs, feeds: Feeds) -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["logs"], dependencies=[USER])
    _add_run_routes(router, logs)
    _add_job_routes(router, logs)
    _add_streams(router, logs, feeds)
    return router


def _add_run_routes(router: APIRouter, logs: JobLogs) -> None:
    @router.get(
        RUN_LOGS,
        response_model=RunLogResponse,
        responses=_ERRORS,
        dependencies=[Depends(only(*_OF_RUN, *_PAGED))],
    )
    async def run_logs(
        run: Name,
        level: LeastLevel = None,
        service: Service = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        """Return what is stored of a run's log, and lines of it, the oldest first."""
        return await logs.view(await logs.of_run(run), _filter(level, service), limit=limit, cursor=cursor)

    @router.get(f"{RUN_LOGS}/download", responses=_DOWNLOAD, dependencies=[Depends(only(*_OF_RUN, "format"))])
    async def run_download(
        run: Name,
        kind: Annotated[Format, Query(alias="format")] = "text",
        level: LeastLevel = None,
        service: Service = None,
    ) -> StreamingResponse:
        """Download a run's log, during the run or after it."""
        return logs.download(await logs.of_run(run), _filter(level, service), kind)


def _add_job_routes(router: APIRouter, logs: JobLogs) -> None:
    @router.get(
        JOB_LOGS,
        response_model=RunLogResponse,
        responses=_ERRORS,
        dependencies=[Depends(only(*_OF_JOB, *_PAGED))],
    )
    async def job_logs(  # noqa: PLR0917  # each is a parameter of the query string, and is named there
        job_id: Name,
        run: RunOfJob = None,
        level: LeastLevel = None,
        service: Service = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        """Return what is stored of the log of a job's run, and lines of it, the oldest first."""
        return await logs.view(
            await logs.of_job(job_id, run), _filter(level, service), limit=limit, cursor=cursor
        )

    @router.get(f"{JOB_LOGS}/download", responses=_DOWNLOAD, dependencies=[Depends(only(*_OF_JOB, "format"))])
    async def job_download(
        job_id: Name,
        run: RunOfJob = None,
        kind: Annotated[Format, Query(alias="format")] = "text",
        level: LeastLevel = None,
        service: Service = None,
    ) -> StreamingResponse:
        """Download the log of a job's run, during the run or after it."""
        return logs.download(await logs.of_job(job_id, run), _filter(level, service), kind)


def _add_streams(router: APIRouter, logs: JobLogs, feeds: Feeds) -> None:
    @router.get(f"{RUN_LOGS}/stream/v2", responses=EVENT_STREAM, dependencies=[Depends(only(*_OF_RUN))])
    async def run_stream(
        run: Name, level: LeastLevel = None, service: Service = None, last_event_id: LastEventId = None
    ) -> StreamingResponse:
        """Stream a run's log from its beginning, or after an event, until the run has ended."""
        _check_name("run", run)
        after, chosen = read_position(last_event_id) or BEGINNING, _filter(level, service)
        batches = feeds.logs.follow(run, after=after)
        return feeds.streams.response(log_events_of(batches, after=after, accepts=chosen.accepts))

    @router.get(f"{JOB_LOGS}/stream/v2", responses=EVENT_STREAM, dependencies=[Depends(only(*_OF_JOB))])
    async def job_stream(
        job_id: Name,
        run: RunOfJob = None,
        level: LeastLevel = None,
        service: Service = None,
        last_event_id: LastEventId = None,
    ) -> StreamingResponse:
        """Stream the log of a job's run until the run has ended; of a job without a run, of its first one."""
        _check_name("job", job_id)
        after, chosen = read_position(last_event_id) or BEGINNING, _filter(level, service)
        if run is not None:
            run = (await logs.of_job(job_id, run)).run
        parts = _job_events(job_id, run, logs, feeds, after=after, chosen=chosen)
        return feeds.streams.response(parts)


async def _job_events(  # of one request
    job_id: str, run: str | None, logs: JobLogs, feeds: Feeds, *, after: str, chosen: LogFilter
) -> AsyncGenerator[bytes, None]:
    """Yield the events of a job's latest run; wait for its first one where it has none."""
    polls = 0
    while run is None:
        runs = await logs.reader.runs_of(job_id)
        if runs:
            run = runs[0]
            break
        if polls % _HEARTBEAT_POLLS == 0:
            yield HEARTBEAT
        polls += 1
        await asyncio.sleep(_JOB_POLL_SECONDS)
    batches = feeds.logs.follow(run, after=after)
    async with aclosing(log_events_of(batches, after=after, accepts=chosen.accepts)) as parts:
        async for part in parts:
            yield part


def _filter(level: str | None, service: str | None) -> LogFilter:
    return LogFilter(level or "", core.text_filter("service", service) or "")


def _check_name(what: str, name: str) -> None:
    if not is_valid_key_part(name):
        raise ProblemError(422, f"{what}: must have no blanks and no braces, and not be empty")
