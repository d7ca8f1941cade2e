"""Routes of runs: GET /api/v1/runs/{id}, and POST close, pause, resume, cancel.

A command is published on job-commands, and answered once the broker has acknowledged it; the schedulers apply
it within a second. A command that has taken effect already is answered like the first one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Protocol

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from strider.api.core import (
    RUN_COMMANDS,
    FrontierRun,
    RunCommandRefused,
    RunRecord,
    command_about,
    open_run,
    run_id_fault,
)
from strider.contracts.generated.enums import JobEvent as JobEventKind
from strider.contracts.generated.events import JobEvent
from strider.crawl.runs.control import RunControl
from strider.runtime.settings.loader import validation_message

from .auth import USER, require_json
from .problem_details import ProblemError, read_request_body
from .response_models import RunResponse, problems

MAX_BODY_BYTES: Final = 4_096
SENDER: Final = "api"

_SUMMARIES: Final[Mapping[JobEventKind, str]] = {
    JobEventKind.CLOSE: "Close a run: no more seeds of it come, and it ends when nothing of it is open.",
    JobEventKind.PAUSE: "Stop releasing requests of a run; its queued URLs are kept.",
    JobEventKind.RESUME: "Continue a run that was paused.",
    JobEventKind.CANCEL: "Stop a run, and close its queued URLs as cancelled. This cannot be undone.",
}


class RunStates(Protocol):
    """States of runs, and commands about them; may raise Unavailable."""

    async def find(self, execution_id: str) -> RunRecord | None:
        """Return a run; None where nothing is known of it."""

    async def publish(self, command: JobEvent) -> None:
        """Publish a command; return once it is acknowledged."""

    def now_ms(self) -> int:
        """Return the time of a command."""


class CommandRequest(BaseModel):
    """Body of a command about a run; every field may be left out."""

    model_config = ConfigDict(extra="forbid", strict=True)

    reason: Annotated[str, Field(max_length=500)] = ""
    """Shown with the state of the run; of a cancelled run the detail of each closed URL."""


def run_routes(states: RunStates) -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["runs"], dependencies=[USER])

    @router.get("/api/v1/runs/{execution_id}", responses=problems(401, 403, 404, 422, 503))
    async def show(execution_id: str) -> RunResponse:
        """Return the state of a run and its counts; of a run that has ended those of its end."""
        return _response_of(await _find(states, execution_id))

    for what in RUN_COMMANDS:
        _add_command(router, what, states)
    return router


def _add_command(router: APIRouter, what: JobEventKind, states: RunStates) -> None:
    async def apply(request: Request, execution_id: str) -> RunResponse:
        content = await read_request_body(request, limit=MAX_BODY_BYTES)
        if content.strip():
            require_json(request)
        body = _read_command(content)
        may_be_new = what is JobEventKind.CLOSE
        run = await _find(states, execution_id, may_be_new=may_be_new)
        try:
            command = command_about(run, what, by=SENDER, reason=body.reason, now_ms=states.now_ms())
        except RunCommandRefused as refusal:
            raise ProblemError(409, str(refusal), state=run.state) from refusal
        if command is not None:
            await states.publish(command)
            run = await _find(states, execution_id, may_be_new=may_be_new)
        return _response_of(run)

    apply.__doc__ = _SUMMARIES[what]
    router.post(
        f"/api/v1/runs/{{execution_id}}/{what.value}",
        name=f"{what.value}_run",
        responses=problems(401, 403, 404, 409, 413, 415, 422, 503),
        openapi_extra={"requestBody": _body_schema()},
    )(apply)


async def _find(states: RunStates, execution_id: str, *, may_be_new: bool = False) -> RunRecord:
    """Find a run. One whose seeds were acknowledged a moment ago may be closed before it is known."""
    if fault := run_id_fault(execution_id):
        raise ProblemError(422, fault)
    found = await states.find(execution_id)
    if found is None and may_be_new:
        return open_run(execution_id, FrontierRun(), RunControl())
    if found is None:
        raise ProblemError(404, f"no run {execution_id!r}; a run is known once a seed of it is accepted")
    return found


def _read_command(body: bytes) -> CommandRequest:
    if not body.strip():
        return CommandRequest()
    try:
        return CommandRequest.model_validate_json(body)
    except ValidationError as failure:
        faults = (
            f"{'.'.join(map(str, error['loc'])) or 'body'}: {validation_message(error)}"
            for error in failure.errors()
        )
        raise ProblemError(422, "; ".join(faults)) from failure


def _response_of(run: RunRecord) -> RunResponse:
    ended_at = datetime.fromtimestamp(run.ended_at_ms / 1000, UTC) if run.ended_at_ms else None
    return RunResponse(
        execution_id=run.execution_id,
        job_id=run.job_id,
        state=run.state,
        by=run.by,
        reason=run.reason,
        open=run.open,
        accepted=run.accepted,
        crawl_spec_ids=list(run.crawl_spec_ids),
        ended_at=ended_at,
        pages=run.pages,
        bytes=run.bytes,
        seconds=run.seconds,
        outcomes=dict(run.outcomes),
    )


def _body_schema() -> dict[str, Any]:
    return {
        "required": True,
        "content": {
            "application/json": {
                "schema": CommandRequest.model_json_schema(),
                "examples": {
                    "without a reason": {"value": {}},
                    "with a reason": {"value": {"reason": "The site asked us to."}},
                },
            }
        },
    }
