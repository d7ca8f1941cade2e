"""Routes of sources: /api/v1/sources, and the synchronisation of enabled sources with jobs.

POST ─▶ check each field ─▶ table `sources` ─▶ topic `sources` (published by the loop of the api)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Protocol

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import JSONResponse

from strider.api import core
from strider.api.routes.auth import ADMIN, USER, require_json
from strider.api.routes.idempotency import IdempotentRoute
from strider.api.routes.pages import Cursor, Limit, only
from strider.api.routes.problem_details import ProblemError, read_request_body
from strider.api.routes.request_bodies import refuse_fields
from strider.api.routes.response_models import problems
from strider.api.routes.seeds import described_field
from strider.contracts.generated.events import SourceSaved
from strider.crawl.sources.documents import FIELDS, InvalidSource, changed_source, replaced_source
from strider.jobs.sources.editing import SourceEditor
from strider.jobs.sources.models import (
    DuplicateSource,
    SourceHasJobs,
    SourcePosition,
    SourceQuery,
    StaleSource,
    UnknownSource,
)
from strider.runtime.access_tokens import Caller

from .models import SourceDetail, SourceList, SyncReport

MAX_BODY_BYTES: Final = 512 * 1024
_ANY_SOURCE: Final = SourceSaved("-", "-", "http://source.test/")
"""Stands for a source, to check the fields of a document."""
MAX_FAULTS: Final = 20
"""Faults that a response names."""

IfMatch = Annotated[str | None, Header(alias="If-Match", description="ETag of the version to change.")]
User = Annotated[Caller, USER]
Name = Annotated[str, Query(max_length=200, description="Part of the name.")]
Enabled = Annotated[bool | None, Query(description="Only enabled sources, or only disabled ones.")]


_NO_FIELDS: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object", "maxProperties": 0}}},
    }
}


class Edit(Protocol):
    """Makes a source of a source and a document."""

    def __call__(
        self, source: SourceSaved, document: Mapping[str, Any], *, allow_private: bool
    ) -> SourceSaved:
        """Return the changed source; raises InvalidSource."""


class SyncSources(Protocol):
    """Compares sources with jobs."""

    async def __call__(self, *, is_dry_run: bool) -> dict[str, Any]:
        """Return the differences, applied unless it is a dry run; may raise Unavailable."""


@dataclass(frozen=True, slots=True)
class SourceParts:
    """Parts of the routes."""

    editor: SourceEditor
    sync: SyncSources
    align: Callable[[str], Awaitable[object]]
    """Compares the jobs of one source with it, and applies the differences."""


def source_schema(*, required: tuple[str, ...] = ("name", "url")) -> dict[str, Any]:
    """Return the schema of a source in requests."""
    return {
        "title": "Source",
        "description": (SourceSaved.__doc__ or "").replace("\n    ", " "),
        "type": "object",
        "required": list(required),
        "additionalProperties": False,
        "properties": {
            name: described_field(SourceSaved, name, is_required=name in required) for name in FIELDS
        },
    }


def source_routes(parts: SourceParts) -> APIRouter:
    """Build the routes of sources."""
    router = APIRouter(tags=["sources"], dependencies=[USER], route_class=IdempotentRoute)
    _add_reading(router, parts)
    _add_saving(router, parts)
    _add_switching(router, parts)
    return router


def _add_reading(router: APIRouter, parts: SourceParts) -> None:
    @router.get(
        "/api/v1/sources",
        response_model=SourceList,
        responses=problems(401, 422, 503),
        dependencies=[Depends(only("enabled", "name", "limit", "cursor"))],
    )
    async def sources(
        enabled: Enabled = None, name: Name = "", limit: Limit = 50, cursor: Cursor = None
    ) -> dict[str, Any]:
        """List sources, newest first."""
        place = core.source_position(cursor)
        query = SourceQuery(
            enabled=enabled,
            name=core.text_filter("name", name) or "",
            after=SourcePosition(*place) if place else None,
            limit=limit,
        )
        return core.source_list(await parts.editor.store.find(query), limit)

    @router.get(
        "/api/v1/sources/{source_id}",
        response_model=SourceDetail,
        responses=problems(401, 404, 503),
    )
    async def source(source_id: str) -> Response:
        """Return a source; its version is the ETag."""
        with reported_faults():
            return _response(await parts.editor.require(_identifier(source_id)))


def _add_saving(router: APIRouter, parts: SourceParts) -> None:
    @router.post(
        "/api/v1/sources",
        status_code=201,
        response_model=SourceDetail,
        responses=problems(401, 409, 413, 415, 422, 503),
        openapi_extra=_body(source_schema(), {"name": "Example", "url": "https://example.org/"}),
    )
    async def add(request: Request, caller: User) -> Response:
        """Create a source. 201: it is stored, and will be published."""
        with reported_faults():
            stored = await parts.editor.add(await _document(request), by=caller.subject)
            return _response(stored, 201, location=f"/api/v1/sources/{stored.source_id}")

    @router.put(
        "/api/v1/sources/{source_id}",
        response_model=SourceDetail,
        responses=problems(401, 404, 409, 412, 413, 415, 422, 503),
        openapi_extra=_body(source_schema(), {"name": "Example", "url": "https://example.org/"}),
    )
    async def put(request: Request, source_id: str, caller: User, if_match: IfMatch = None) -> Response:
        """Replace a source: fields that are missing get their default."""
        with reported_faults():
            return _response(
                await _edit(parts, request, caller, source_id, replaced_source, condition=if_match)
            )

    @router.patch(
        "/api/v1/sources/{source_id}",
        response_model=SourceDetail,
        responses=problems(401, 404, 409, 412, 413, 415, 422, 503),
        openapi_extra=_body(source_schema(required=()), {"max_depth": 2}),
    )
    async def patch(request: Request, source_id: str, caller: User, if_match: IfMatch = None) -> Response:
        """Change fields of a source; null sets a field to its default."""
        with reported_faults():
            return _response(
                await _edit(parts, request, caller, source_id, changed_source, condition=if_match)
            )


def _add_switching(router: APIRouter, parts: SourceParts) -> None:
    async def switch(
        request: Request, caller: Caller, source_id: str, condition: str | None, *, is_enabled: bool
    ) -> Response:
        await refuse_fields(request)
        with reported_faults():
            saved = await parts.editor.change(
                _identifier(source_id),
                lambda stored: replace(stored, enabled=is_enabled),
                versions=core.allowed_versions(condition),
                by=caller.subject,
            )
            await parts.align(source_id)
            return _response(saved)

    @router.post(
        "/api/v1/sources/{source_id}/enable",
        response_model=SourceDetail,
        responses=problems(401, 404, 412, 415, 422, 503),
        openapi_extra=_NO_FIELDS,
    )
    async def enable(request: Request, source_id: str, caller: User, if_match: IfMatch = None) -> Response:
        """Enable a source: its jobs run, and one is made if it has an interval and no job."""
        return await switch(request, caller, source_id, if_match, is_enabled=True)

    @router.post(
        "/api/v1/sources/{source_id}/disable",
        response_model=SourceDetail,
        responses=problems(401, 404, 412, 415, 422, 503),
        openapi_extra=_NO_FIELDS,
    )
    async def disable(request: Request, source_id: str, caller: User, if_match: IfMatch = None) -> Response:
        """Disable a source: its scheduled jobs are paused; a run that has started continues."""
        return await switch(request, caller, source_id, if_match, is_enabled=False)


def _add_removal(router: APIRouter, parts: SourceParts) -> None:
    @router.delete(
        "/api/v1/sources/{source_id}",
        status_code=204,
        responses=problems(401, 403, 404, 409, 412, 422, 503),
        dependencies=[Depends(only("force"))],
    )
    async def remove(
        source_id: str,
        force: Annotated[bool, Query(description="Also while jobs of it exist.")] = False,
        if_match: IfMatch = None,
    ) -> Response:
        """Remove a source; 409 while it has jobs."""
        with reported_faults():
            await parts.editor.remove(
                _identifier(source_id), is_forced=force, versions=core.allowed_versions(if_match)
            )
            return Response(status_code=204)


def admin_routes(parts: SourceParts) -> APIRouter:
    """Build the routes of admins: removal and synchronisation."""
    router = APIRouter(tags=["admin"], dependencies=[ADMIN], route_class=IdempotentRoute)
    _add_removal(router, parts)

    @router.post(
        "/api/v1/admin/sync-enabled-sources",
        response_model=SyncReport,
        responses=problems(401, 403, 413, 415, 422, 503),
        openapi_extra=_body(
            {
                "title": "Sync",
                "type": "object",
                "additionalProperties": False,
                "properties": {"dry_run": {"type": "boolean"}},
            },
            {"dry_run": True},
        ),
    )
    async def sync(request: Request) -> dict[str, Any]:
        """Make the jobs of enabled sources, pause those of disabled ones; a dry run shows the difference."""
        body = await read_request_body(request, limit=MAX_BODY_BYTES)
        document: dict[str, Any] = {}
        if body.strip():
            require_json(request)
            document = core.read_object(body)
        for name in document:
            if name != "dry_run":
                raise ProblemError(422, f"{name[:60]}: no such field; known are dry_run", field=name[:60])
        is_dry_run = document.get("dry_run", False)
        if not isinstance(is_dry_run, bool):
            raise ProblemError(422, "dry_run: expected true or false", field="dry_run")
        return await parts.sync(is_dry_run=is_dry_run)

    return router


@contextmanager
def reported_faults() -> Iterator[None]:
    """Turn faults of sources into problem documents that name the field."""
    try:
        yield
    except InvalidSource as failure:
        named = [{"field": fault.field, "detail": fault.detail} for fault in failure.faults[:MAX_FAULTS]]
        detail = "; ".join(f"{each['field']}: {each['detail']}" for each in named)
        raise ProblemError(422, detail, field=named[0]["field"], errors=named) from failure
    except UnknownSource as failure:
        raise ProblemError(404, str(failure)) from failure
    except DuplicateSource as failure:
        raise ProblemError(409, str(failure), field=failure.field) from failure
    except SourceHasJobs as failure:
        raise ProblemError(409, f"{failure} (?force=true)", jobs=failure.jobs) from failure
    except StaleSource as failure:
        raise ProblemError(412, str(failure), version=failure.current) from failure


async def _edit(  # parts of a request
    parts: SourceParts,
    request: Request,
    caller: Caller,
    source_id: str,
    edit: Edit,
    *,
    condition: str | None,
) -> SourceSaved:
    """Change a source by the document of a request; its jobs follow where it is enabled or disabled."""
    document = await _document(request)
    edit(_ANY_SOURCE, document, allow_private=parts.editor.allow_private)  # a wrong field counts first
    was_enabled = True

    def change(stored: SourceSaved) -> SourceSaved:
        nonlocal was_enabled
        was_enabled = stored.enabled
        return edit(stored, document, allow_private=parts.editor.allow_private)

    saved = await parts.editor.change(
        _identifier(source_id), change, versions=core.allowed_versions(condition), by=caller.subject
    )
    if "enabled" in document or saved.enabled != was_enabled:  # without the field, PUT enables
        await parts.align(saved.source_id)
    return saved


def _body(schema: dict[str, Any], example: dict[str, Any]) -> dict[str, Any]:
    examples = {"one": {"value": example}}
    content = {"application/json": {"schema": schema, "examples": examples}}
    return {"requestBody": {"required": True, "content": content}}


async def _document(request: Request) -> dict[str, Any]:
    require_json(request)
    return core.read_object(await read_request_body(request, limit=MAX_BODY_BYTES))


def _identifier(text: str) -> str:
    """Return an id that the database can compare; no source has another one."""
    if core.text_fault(text):
        raise UnknownSource(text)
    return text


def _response(source: SourceSaved, status: int = 200, *, location: str = "") -> Response:
    headers = {"ETag": core.entity_tag(source.version)}
    if location:
        headers["Location"] = location
    return JSONResponse(core.source_view(source), status, headers)
