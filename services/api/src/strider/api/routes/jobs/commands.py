"""Routes of commands about a job: pause, resume, cancel, retry, force-run, delete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Protocol

from fastapi import APIRouter, Depends, Request, Response

from strider.api.routes.auth import ADMIN, USER
from strider.api.routes.idempotency import IdempotentRoute
from strider.api.routes.pages import only
from strider.api.routes.request_bodies import NO_FIELDS, refuse_fields
from strider.api.routes.response_models import problems
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.jobs.errors import UnknownJob
from strider.jobs.models import Job
from strider.jobs.ports import JobStore
from strider.jobs.states import ExecutionState, JobAction
from strider.runtime.access_tokens import Caller

from .problems import etag_of
from .records import JobId, known_id
from .responses import JobResponse, job_response

MEANINGS: Final = {
    JobAction.PAUSE: "Pause a scheduled job: it does not run until it is resumed.",
    JobAction.RESUME: "Resume a paused job, in the least loaded slot.",
    JobAction.CANCEL: "Cancel a job for good; a run of it is stopped.",
    JobAction.RETRY: "Run a failed job again, with all of its retries.",
    JobAction.FORCE_RUN: "Run a scheduled job now, beside its rhythm.",
}
"""Action → description of its route."""
NO_CONTENT: Final = 204
FORCE_RUN_PATH: Final = "/api/v2/jobs/{job_id}/force-run"


_FEED_COMMANDS: Final = {
    JobAction.PAUSE: JobEventKind.PAUSE,
    JobAction.RESUME: JobEventKind.RESUME,
    JobAction.CANCEL: JobEventKind.CANCEL,
}
"""Action → command about the run in which the feeds of the job are polled, which is no execution of it."""


class RunCommands(Protocol):
    """Commands about runs."""

    async def cancel(self, job_id: str, execution_id: str, *, by: str) -> None:
        """Cancel a run, now or later; never fails."""

    async def command_feeds(self, what: JobEventKind, job_id: str, *, by: str) -> None:
        """Pause, resume or cancel the polling of the feeds of a job; never fails."""


@dataclass(frozen=True, slots=True)
class JobCommands:
    """Applies actions to jobs, and what follows for their runs."""

    store: JobStore
    runs: RunCommands

    async def act(self, job_id: str, action: JobAction, *, by: str) -> Job:
        """Apply an action; raises UnknownJob, IllegalTransition."""
        job = await self.store.act(known_id(job_id), action, now_ms=await self.store.now_ms())
        if action is JobAction.CANCEL and job.execution_count:
            await self._cancel_run(job, by)
        if (what := _FEED_COMMANDS.get(action)) is not None:
            await self.runs.command_feeds(what, job.job_id, by=by)
        return job

    async def _cancel_run(self, job: Job, by: str) -> None:
        run = await self.store.execution(f"{job.job_id}-{job.execution_count}")
        if run is not None and run.state is ExecutionState.RUNNING:
            await self.runs.cancel(job.job_id, run.execution_id, by=by)


def command_routes(store: JobStore, runs: RunCommands) -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["jobs"], dependencies=[USER], route_class=IdempotentRoute)
    commands = JobCommands(store, runs)
    for action in (JobAction.PAUSE, JobAction.RESUME, JobAction.CANCEL, JobAction.RETRY):
        _add(router, commands, action, f"/api/v1/jobs/{{job_id}}/{action.value}")
    _add(router, commands, JobAction.FORCE_RUN, FORCE_RUN_PATH)
    return router


def _add(router: APIRouter, commands: JobCommands, action: JobAction, path: str) -> None:
    async def command(
        job_id: JobId, request: Request, response: Response, caller: Annotated[Caller, USER]
    ) -> JobResponse:
        await refuse_fields(request)
        job = await commands.act(job_id, action, by=caller.subject)
        response.headers["ETag"] = etag_of(job.version)
        return job_response(job)

    router.add_api_route(
        path,
        command,
        methods=["POST"],
        name=action.name.lower(),
        description=MEANINGS[action],
        responses=problems(401, 403, 404, 409, 413, 415, 422, 503),
        dependencies=[Depends(only())],
        openapi_extra=NO_FIELDS,
    )


def job_deletion_routes(store: JobStore, runs: RunCommands) -> APIRouter:
    """Build the route that deletes a job, for admins."""
    router = APIRouter(tags=["jobs"], dependencies=[ADMIN])

    @router.delete(
        "/api/v1/jobs/{job_id}",
        status_code=NO_CONTENT,
        responses=problems(401, 403, 404, 409, 422, 503),
        dependencies=[Depends(only())],
    )
    async def delete(job_id: JobId, caller: Annotated[Caller, ADMIN]) -> Response:
        """Delete a job with its executions; one that is running must be cancelled first."""
        if not await store.delete(known_id(job_id), now_ms=await store.now_ms()):
            raise UnknownJob(job_id)
        await runs.command_feeds(JobEventKind.CANCEL, job_id, by=caller.subject)
        return Response(status_code=NO_CONTENT)

    return router
