"""Errors of jobs as problem documents."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Request, Response

from strider.api.routes.problem_details import field_problem, problem
from strider.jobs.errors import (
    DuplicateJob,
    IllegalTransition,
    InvalidJobField,
    StaleVersion,
    UnfinishedRun,
    UnknownJob,
)

UNFINISHED_SECONDS: Final = 5
"""After which a run that is being cancelled has most likely ended."""


def install_job_problems(app: FastAPI) -> None:
    """Turn every error of jobs into a problem document."""

    @app.exception_handler(UnknownJob)
    async def _unknown(_request: Request, failure: UnknownJob) -> Response:
        return problem(404, f"{failure}; list them with GET /api/v1/jobs")

    @app.exception_handler(InvalidJobField)
    async def _field(_request: Request, failure: InvalidJobField) -> Response:
        return field_problem([(failure.field, failure.detail)])

    @app.exception_handler(IllegalTransition)
    async def _transition(_request: Request, failure: IllegalTransition) -> Response:
        return problem(409, str(failure), state=failure.state, allowed=list(failure.allowed))

    @app.exception_handler(StaleVersion)
    async def _stale(_request: Request, failure: StaleVersion) -> Response:
        return problem(412, str(failure), headers={"ETag": etag_of(failure.current)})

    @app.exception_handler(DuplicateJob)
    async def _duplicate(_request: Request, failure: DuplicateJob) -> Response:
        detail = f"another job has the {failure.field} {failure.value!r}"
        return field_problem([(failure.field, detail)], status=409)

    @app.exception_handler(UnfinishedRun)
    async def _unfinished(_request: Request, failure: UnfinishedRun) -> Response:
        headers = {"Retry-After": str(UNFINISHED_SECONDS)}
        return problem(409, str(failure), headers=headers, execution_id=failure.execution_id)


def etag_of(version: int) -> str:
    """Return the ETag of a version."""
    return f'"{version}"'
