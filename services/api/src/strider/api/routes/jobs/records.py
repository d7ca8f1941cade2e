"""Routes of job records: create, list, read, change."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID, uuid5

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response

from strider.api import core
from strider.api.routes.auth import USER
from strider.api.routes.idempotency import HEADER, IdempotentRoute
from strider.api.routes.pages import only
from strider.api.routes.problem_details import ProblemError
from strider.api.routes.request_bodies import body_schema, read_document, refuse
from strider.api.routes.response_models import problems
from strider.contracts.generated.enums import JobState
from strider.jobs.errors import StaleVersion, UnknownJob
from strider.jobs.models import Job, JobQuery
from strider.jobs.ports import JobStore
from strider.runtime.access_tokens import Caller
from strider.urls import RefusedUrl

from .problems import etag_of
from .requests import (
    CHANGE_EXAMPLES,
    CREATE_EXAMPLES,
    PATCH_EXAMPLES,
    JobChangeDocument,
    JobDocument,
    JobPatchDocument,
)
from .responses import (
    JobListResponse,
    JobResponse,
    StatusCountsResponse,
    job_response,
)

MAX_ITEMS: Final = 500
MAX_PATCH_ATTEMPTS: Final = 10
MAX_ID_CHARACTERS: Final = 300
CREATED: Final = 201

_KEYS: Final = UUID("6f1d2f0e-0a3c-4f53-8a2e-6a1c3f6f0b55")
"""Namespace of ids that are derived from keys."""
_ETAG: Final = re.compile(r'(?:W/)?"(\d{1,18})"')
_NO_NUL: Final[dict[str, Any]] = {"pattern": "^[^\\x00]*$"}
JobId = Annotated[str, Path(max_length=MAX_ID_CHARACTERS, json_schema_extra=_NO_NUL)]
IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description='The ETag of the version to change, such as "3"; or *.',
        json_schema_extra={"pattern": r'^(\*|(W/)?"[0-9]{1,18}")$'},
    ),
]
Limit = Annotated[int, Query(ge=1, le=MAX_ITEMS)]
Cursor = Annotated[str, Query(max_length=core.MAX_CURSOR_CHARACTERS, json_schema_extra=_NO_NUL)]
State = Annotated[JobState | None, Query(description="Jobs in this state only.")]
SourceId = Annotated[
    str | None, Query(max_length=MAX_ID_CHARACTERS, json_schema_extra=_NO_NUL, description="Of this source.")
]
JobName = Annotated[
    str | None, Query(max_length=MAX_ID_CHARACTERS, json_schema_extra=_NO_NUL, description="With this name.")
]
IdPrefix = Annotated[
    str | None,
    Query(max_length=MAX_ID_CHARACTERS, json_schema_extra=_NO_NUL, description="Whose id begins with this."),
]


@dataclass(frozen=True, slots=True)
class JobRules:
    """Limits of jobs, and which addresses they may crawl."""

    max_body_bytes: int
    allow_private: bool

    def start_url(self, url: str) -> str:
        """Return a start URL as it is requested; raises ProblemError, which names the field."""
        found = core.crawlable_url(url, allow_private=self.allow_private)
        if isinstance(found, RefusedUrl):
            raise refuse(("url", f"it cannot be crawled: {found.text}"))
        return found


def job_routes(store: JobStore, rules: JobRules) -> APIRouter:
    """Build the routes of records."""
    router = APIRouter(tags=["jobs"], dependencies=[USER], route_class=IdempotentRoute)
    _add_lists(router, store)
    _add_creation(router, store, rules)
    _add_record(router, store, rules)
    _add_patch(router, store, rules)
    return router


def _add_lists(router: APIRouter, store: JobStore) -> None:
    @router.get(
        "/api/v1/jobs",
        responses=problems(401, 403, 422, 503),
        dependencies=[Depends(only("status", "source_id", "name", "id_prefix", "limit", "cursor"))],
    )
    async def jobs(  # noqa: PLR0917  # parameters of the query, which are given by name
        status: State = None,
        source_id: SourceId = None,
        name: JobName = None,
        id_prefix: IdPrefix = None,
        limit: Limit = 50,
        cursor: Cursor = "",
    ) -> JobListResponse:
        """List jobs, newest first."""
        query = JobQuery(
            state=status,
            source_id=core.text_filter("source_id", source_id),
            name=core.text_filter("name", name),
            id_prefix=core.text_filter("id_prefix", id_prefix) or "",
            limit=limit,
            cursor=core.text_filter("cursor", cursor) or "",
        )
        page = await store.find(query)
        return JobListResponse(items=[job_response(job) for job in page.jobs], next=page.next or None)

    @router.get(
        "/api/v1/jobs/status-counts", responses=problems(401, 403, 422, 503), dependencies=[Depends(only())]
    )
    async def status_counts() -> StatusCountsResponse:
        """Count the jobs in each state."""
        counts = {state.value: 0 for state in JobState}
        counts |= {state.value: count for state, count in (await store.status_counts()).items()}
        return StatusCountsResponse(counts=counts, total=sum(counts.values()))


def _add_creation(router: APIRouter, store: JobStore, rules: JobRules) -> None:
    @router.post(
        "/api/v1/jobs",
        status_code=CREATED,
        responses=problems(401, 403, 409, 413, 415, 422, 503),
        openapi_extra=body_schema(JobDocument, CREATE_EXAMPLES),
    )
    async def create(request: Request, response: Response, caller: Annotated[Caller, USER]) -> JobResponse:
        """Create a job: a recurring one, or one that runs once and at once.

        A job without a source, or of one that does not exist, is created; its executions fail and name it.
        """
        document = await read_document(request, JobDocument, limit=rules.max_body_bytes)
        job = document.to_job(
            url=rules.start_url(document.url),
            job_id=job_id_of(caller.subject, request.headers.get(HEADER, "")),
            created_by=caller.subject,
        )
        created = await store.create(job, now_ms=await store.now_ms())
        response.headers["Location"] = f"/api/v1/jobs/{created.job_id}"
        response.headers["ETag"] = etag_of(created.version)
        return job_response(created)


def _add_record(router: APIRouter, store: JobStore, rules: JobRules) -> None:
    @router.get(
        "/api/v1/jobs/{job_id}", responses=problems(401, 403, 404, 422, 503), dependencies=[Depends(only())]
    )
    async def read(job_id: JobId, response: Response) -> JobResponse:
        """Return a job; its ETag names the version, for a later change."""
        job = await store.get(known_id(job_id))
        if job is None:
            raise UnknownJob(job_id)
        response.headers["ETag"] = etag_of(job.version)
        return job_response(job)

    @router.put(
        "/api/v1/jobs/{job_id}",
        responses=problems(401, 403, 404, 409, 412, 413, 415, 422, 503),
        openapi_extra=body_schema(JobChangeDocument, CHANGE_EXAMPLES),
    )
    async def change(
        job_id: JobId, request: Request, response: Response, if_match: IfMatch = None
    ) -> JobResponse:
        """Change settings of a job; what is left out stays as it is, objects are replaced as a whole.

        With If-Match: only that version.
        """
        version = _version(if_match)
        document = await read_document(request, JobChangeDocument, limit=rules.max_body_bytes)
        url = None if document.url is None else rules.start_url(document.url)
        job = await store.change(
            known_id(job_id), document.to_change(url=url), version=version, now_ms=await store.now_ms()
        )
        response.headers["ETag"] = etag_of(job.version)
        return job_response(job)


def _add_patch(router: APIRouter, store: JobStore, rules: JobRules) -> None:
    @router.patch(
        "/api/v1/jobs/{job_id}",
        responses=problems(401, 403, 404, 409, 412, 413, 415, 422, 503),
        openapi_extra=body_schema(
            JobPatchDocument, PATCH_EXAMPLES, kinds=("application/merge-patch+json", "application/json")
        ),
    )
    async def patch(
        job_id: JobId, request: Request, response: Response, if_match: IfMatch = None
    ) -> JobResponse:
        """Change a job by a JSON Merge Patch (RFC 7396): single settings, and single metadata.

        Null stands for the default of a field, and removes a setting. With If-Match: only that version.
        """
        version = _version(if_match)
        document = await read_document(request, JobPatchDocument, limit=rules.max_body_bytes)
        job = await _patched(store, known_id(job_id), document, rules, version=version)
        response.headers["ETag"] = etag_of(job.version)
        return job_response(job)


async def _patched(
    store: JobStore, job_id: str, document: JobPatchDocument, rules: JobRules, *, version: int | None
) -> Job:
    """Apply a patch to the present job; one that was changed meanwhile is read again."""
    url = None if document.url is None else rules.start_url(document.url)
    for is_last in (*[False] * MAX_PATCH_ATTEMPTS, True):
        job = await store.get(job_id)
        if job is None:
            raise UnknownJob(job_id)
        job.check_version(version)
        change = document.to_patch(job, url=url)
        try:
            return await store.change(job_id, change, version=job.version, now_ms=await store.now_ms())
        except StaleVersion:
            if version is not None or is_last:
                raise
    raise AssertionError("the last attempt returns or raises")


def job_id_of(subject: str, key: str) -> str:
    """Return the id of a job that is created under an Idempotency-Key; empty without one.

    The same key gives the same id, so that a creation whose response was lost, with the process or with
    Redis, finds the job that it has created.
    """
    return uuid5(_KEYS, f"{len(subject)} {subject} {key}").hex if key else ""


def known_id(job_id: str) -> str:
    """Return an id that the store can look up."""
    if core.text_fault(job_id):
        raise UnknownJob(job_id.encode("ascii", "backslashreplace").decode())
    return job_id


def _version(if_match: str | None) -> int | None:
    """Return the version that a change is about; None: whichever there is."""
    if if_match is None or if_match.strip() == "*":
        return None
    if (found := _ETAG.fullmatch(if_match.strip())) is None:
        raise ProblemError(
            422,
            'If-Match: expected the ETag of a response, such as "3", or *',
            errors=[{"field": "If-Match", "detail": "it is no ETag of a job"}],
        )
    return int(found[1])
