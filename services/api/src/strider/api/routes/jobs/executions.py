"""Routes of executions: those of a job, one of them, and the statistics of a job."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from strider.api import core
from strider.api.routes.auth import USER
from strider.api.routes.pages import only
from strider.api.routes.problem_details import ProblemError
from strider.api.routes.response_models import problems
from strider.jobs.ports import JobStore

from .records import Cursor, JobId, Limit, known_id
from .responses import (
    ExecutionListResponse,
    ExecutionResponse,
    JobStatsResponse,
    execution_response,
    stats_response,
)


def execution_routes(store: JobStore) -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["jobs"], dependencies=[USER])

    @router.get(
        "/api/v1/jobs/{job_id}/executions",
        responses=problems(401, 403, 404, 422, 503),
        dependencies=[Depends(only("limit", "cursor"))],
    )
    async def executions(job_id: JobId, limit: Limit = 50, cursor: Cursor = "") -> ExecutionListResponse:
        """List the executions of a job, newest first."""
        place = core.text_filter("cursor", cursor) or ""
        page = await store.executions(known_id(job_id), cursor=place, limit=limit)
        return ExecutionListResponse(
            items=[execution_response(each) for each in page.executions], next=page.next or None
        )

    @router.get(
        "/api/v1/executions/{execution_id}",
        responses=problems(401, 403, 404, 422, 503),
        dependencies=[Depends(only())],
    )
    async def execution(execution_id: JobId) -> ExecutionResponse:
        """Return one execution; `strider runs show` has the state of its run in the frontier."""
        found = await store.execution(known_id(execution_id))
        if found is None:
            raise ProblemError(404, f"there is no execution {execution_id!r}; it may have been pruned")
        return execution_response(found)

    @router.get(
        "/api/v1/jobs/{job_id}/stats",
        responses=problems(401, 403, 404, 422, 503),
        dependencies=[Depends(only())],
    )
    async def stats(job_id: JobId) -> JobStatsResponse:
        """Return statistics of the kept executions of a job."""
        return stats_response(await store.stats(known_id(job_id)))

    return router
