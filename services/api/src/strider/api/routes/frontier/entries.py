"""Routes of the frontier's URLs: list, show, submit, take out of the queue.

The scheduler that owns a URL's shard is the only writer of its entry: a URL is submitted as a seed, and taken
out of the queue by a command on job-commands, which that scheduler applies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Protocol

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from strider.api import core
from strider.api.core import KeyCursor
from strider.api.routes.auth import ADMIN, USER, require_json
from strider.api.routes.idempotency import IdempotentRoute
from strider.api.routes.pages import COMMON_FILTERS, LISTING, Common, Cursor, Limit, Name, ReadModels, only
from strider.api.routes.problem_details import ProblemError, read_request_body
from strider.api.routes.request_bodies import refuse
from strider.api.routes.response_models import problems
from strider.api.routes.seeds import SeedSubmission
from strider.contracts import EncodeError
from strider.contracts.generated.enums import EntryState
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.contracts.ids import entry_id
from strider.contracts.partitioning import shard_of_host
from strider.crawl.runs.commands import new_command
from strider.crawl.runs.control import RunDirective
from strider.messaging.errors import Unavailable
from strider.runtime.access_tokens import Caller
from strider.urls import domain_of, host_of, origin_of

from .responses import (
    CancellationResponse,
    CancelledEntry,
    EntryList,
    SubmissionResponse,
    UrlResponse,
)

FRONTIER: Final = "/api/v1/frontier"
RECOVER: Final = "recover"
"""Name of a route of leases, in the place of a key."""
MAX_CANCELLED_URLS: Final = 10_000
"""URLs that may be cancelled in runs of their own: every scheduler has these commands in memory."""
MAX_REASON_CHARACTERS: Final = 500
_KEY: Final[dict[str, Any]] = {"pattern": core.KEY_PATTERN}
Key = Annotated[str, Path(json_schema_extra=_KEY)]


class EntryPlaces(Protocol):
    """The working set; may raise Unavailable."""

    async def places(self, shard: int, entry_ids: Sequence[str]) -> Sequence[str]:
        """Return where entries are; empty for one that is not open."""


class UrlCancellations(Protocol):
    """Commands about single URLs of runs; each method may raise Unavailable."""

    def cancelled_urls(self) -> int:
        """Return how many such commands are in force."""

    def url_cancellation(self, execution_id: str, url_key: str) -> RunDirective | None:
        """Return who has cancelled a URL in a run; None where it is not cancelled."""

    async def publish(self, command: JobEvent) -> None:
        """Publish a command; return once it is acknowledged."""

    def now_ms(self) -> int:
        """Return the time of a command."""


@dataclass(frozen=True, slots=True)
class FrontierParts:
    """Adapters and settings of the routes of URLs."""

    records: ReadModels
    places: EntryPlaces
    seeds: SeedSubmission
    cancellations: UrlCancellations
    shards: int


def entry_routes(parts: FrontierParts) -> APIRouter:
    """Build the routes that read."""
    router = APIRouter(tags=["frontier"], dependencies=[USER])

    @router.get(
        FRONTIER,
        response_model=EntryList,
        responses=problems(401, 403, 422, 503),
        dependencies=[Depends(only(*COMMON_FILTERS, "state", "reason", *LISTING))],
    )
    async def entries(
        filters: Common,
        state: EntryState | None = None,
        reason: Name = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        """List the URLs of the frontier with state, due time and reason, by URL key."""
        narrowed = replace(filters, reason=core.reason_filter(reason))
        after = core.read_key_cursor(cursor) if cursor else None
        rows = await parts.records.find(core.entries_query(narrowed, state=state, after=after, limit=limit))
        return listed([core.entry_view(row) for row in rows], limit, "job_id")

    @router.get(
        f"{FRONTIER}/{{key}}",
        response_model=UrlResponse,
        responses=problems(401, 403, 404, 422, 503),
        dependencies=[Depends(_refuse_recover), Depends(only("job"))],
    )
    async def url(key: Key, job: Name = None) -> dict[str, Any]:
        """Return all that is stored of a URL: entries, decisions, failed requests, pages, its host."""
        return await _load_url(parts, core.key_filter(key), core.text_filter("job", job))

    return router


def entry_admin_routes(parts: FrontierParts) -> APIRouter:
    """Build the routes that change the frontier."""
    router = APIRouter(tags=["frontier"], dependencies=[ADMIN], route_class=IdempotentRoute)
    _add_submission(router, parts)
    _add_cancellation(router, parts)
    return router


def _add_submission(router: APIRouter, parts: FrontierParts) -> None:
    @router.post(
        FRONTIER,
        status_code=202,
        responses=problems(401, 403, 413, 415, 422, 503),
        dependencies=[Depends(only())],
        openapi_extra={"requestBody": _seed_body()},
    )
    async def submit(
        request: Request, response: Response, caller: Annotated[Caller, ADMIN]
    ) -> SubmissionResponse:
        """Submit one URL, as a seed of the caller. 202: the broker acknowledged it."""
        require_json(request)
        body = await read_request_body(request, limit=parts.seeds.rules.max_body_bytes)
        if "seeds" in core.read_object(body):
            raise refuse(("seeds", "this route submits one URL; POST /api/v1/seeds submits several"))
        try:
            (result,) = await parts.seeds.submit(body, sender=caller.subject)
        except EncodeError as failure:
            raise ProblemError(422, f"the seed is larger than a message may be: {failure}") from failure
        if not result.accepted:
            is_url = result.reason != core.BAD_SEED
            detail = f"{result.reason} {result.detail}".strip()
            raise refuse(("url", detail) if is_url else _field_of(result.detail))
        submitted = SubmissionResponse(
            url=result.url,
            url_key=result.url_key,
            job_id=result.job_id,
            entry=f"{FRONTIER}/{result.url_key}?job={result.job_id}",
            decisions=f"/api/v1/decisions?key={result.url_key}&job={result.job_id}",
        )
        response.headers["Location"] = submitted.entry
        return submitted


def _add_cancellation(router: APIRouter, parts: FrontierParts) -> None:
    @router.delete(
        f"{FRONTIER}/{{key}}",
        status_code=202,
        responses=problems(401, 403, 404, 409, 422, 503),
        dependencies=[Depends(_refuse_recover), Depends(only("job", "reason"))],
    )
    async def cancel(
        key: Key,
        caller: Annotated[Caller, ADMIN],
        job: Name = None,
        reason: Annotated[str, Query(max_length=MAX_REASON_CHARACTERS)] = "",
    ) -> CancellationResponse:
        """Take a URL out of the queue of its runs, and accept it no more in them.

        202: the command is acknowledged; a scheduler closes the entry within a second, with the reason
        `cancelled`. A request that is under way is not interrupted. Without `job` in every job that has it.
        """
        url_key, text = core.key_filter(key), core.text_filter("reason", reason) or ""
        query = core.url_queries(url_key, core.text_filter("job", job))["entries"]
        rows = await parts.records.find(query)
        if not rows:
            raise ProblemError(
                404, "the frontier has no entry of this key; one that was accepted now is known in a moment"
            )
        cancelled = await _cancel(parts, rows, by=caller.subject, reason=text)
        return CancellationResponse(
            url_key=url_key,
            url=rows[0]["url"],
            by=caller.subject,
            reason=text,
            cancelled=[
                CancelledEntry(job_id=row["job_id"], execution_id=row["execution_id"]) for row in cancelled
            ],
            entry=f"{FRONTIER}/{url_key}" + (f"?job={job}" if job else ""),
        )


async def _refuse_recover(request: Request) -> None:
    """Refuse the name of another route in the place of a key: it has that route's methods alone."""
    if request.path_params.get("key") == RECOVER:
        raise ProblemError(
            405, f"{request.method} is not allowed for {FRONTIER}/{RECOVER}", headers={"Allow": "POST"}
        )


async def _cancel(
    parts: FrontierParts, rows: Sequence[Mapping[str, Any]], *, by: str, reason: str
) -> list[Mapping[str, Any]]:
    """Publish the cancellation of each entry that waits; returns those that are cancelled now."""
    commands = parts.cancellations
    known = {
        row["job_id"]: commands.url_cancellation(row["execution_id"], row["url_key"]) is not None
        for row in rows
    }
    found = [row for row in rows if known[row["job_id"]] or core.is_cancellable(row)]
    if not found:
        state = rows[0]["state"]
        raise ProblemError(409, f"the URL is not in the queue: it is {state}", state=state)
    new = [row for row in found if not known[row["job_id"]]]
    if commands.cancelled_urls() + len(new) > MAX_CANCELLED_URLS:
        raise ProblemError(
            409,
            f"{MAX_CANCELLED_URLS} URLs are cancelled in runs that have not ended; cancel the run, or "
            "exclude URLs by a pattern of its crawl spec",
        )
    now_ms = commands.now_ms()
    events = [
        new_command(
            JobEventKind.CANCEL_URL,
            by=by,
            now_ms=now_ms,
            job_id=row["job_id"],
            execution_id=row["execution_id"],
            url_key=row["url_key"],
            shard=shard_of_host(host_of(row["url"]), parts.shards),
            reason=reason,
        )
        for row in new
    ]
    await asyncio.gather(*(commands.publish(event) for event in events))
    return found


async def _load_url(parts: FrontierParts, url_key: str, job_id: str | None) -> dict[str, Any]:
    queries = core.url_queries(url_key, job_id)
    answers = await asyncio.gather(*(parts.records.find(query) for query in queries.values()))
    found: dict[str, Any] = dict(zip(queries, answers, strict=True))
    known = next((row for rows in found.values() for row in rows), None)
    if known is None:
        raise ProblemError(
            404, "nothing is stored of this key; a URL that was submitted now is known in a moment"
        )
    url = str(known["url"])
    names = sorted({origin_of(url), host_of(url), domain_of(url)} - {""}) if known["host"] else []
    hosts = await parts.records.find(core.hosts_query(names)) if names else []
    places = await _places(parts, found["entries"])
    entries = [core.entry_view(row, place=place) for row, place in zip(found["entries"], places, strict=True)]
    return {**found, "url_key": url_key, "url": url, "entries": entries, "hosts": hosts}


async def _places(parts: FrontierParts, rows: Sequence[Mapping[str, Any]]) -> Sequence[str | None]:
    """Return where the working set has entries; None for each where it does not respond."""
    if not rows:
        return []
    shard = shard_of_host(host_of(rows[0]["url"]), parts.shards)
    try:
        return await parts.places.places(shard, [entry_id(row["job_id"], row["url_key"]) for row in rows])
    except Unavailable:
        return [None] * len(rows)


def listed(items: list[dict[str, Any]], limit: int, more: str) -> dict[str, Any]:
    """Return one page of a list by URL key, and the cursor of the next one."""
    if len(items) <= limit:
        return {"items": items, "next": None}
    last = items[limit - 1]
    cursor = KeyCursor(last["url_key"], last[more])
    return {"items": items[:limit], "next": core.write_key_cursor(cursor)}


def _field_of(detail: str) -> tuple[str, str]:
    """Split the fault of a seed, which begins with its field."""
    field, separator, rest = detail.partition(": ")
    is_field = bool(separator) and field.replace("_", "").replace(".", "").isalnum()
    return (field, rest) if is_field else ("seed", detail)


def _seed_body() -> dict[str, Any]:
    """Describe the body: a seed, whose fields POST /api/v1/seeds describes."""
    schema = {
        "title": "FrontierSeed",
        "type": "object",
        "required": ["url"],
        "properties": {
            "url": {"type": "string"},
            "job_id": {"type": ["string", "null"]},
            "run": {"type": ["string", "null"]},
            "max_depth": {"type": ["integer", "null"]},
            "priority": {"type": ["integer", "string", "null"]},
        },
        "description": "A seed; further fields as those of POST /api/v1/seeds.",
    }
    examples = {"one": {"value": {"url": "https://example.org/", "max_depth": 2, "job_id": "news"}}}
    return {"required": True, "content": {"application/json": {"schema": schema, "examples": examples}}}
