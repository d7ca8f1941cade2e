"""What goes wrong, told alike everywhere: RFC 9457 problem documents.

Infrastructure that is away is 503 with a time to come again; what only the caller can change is a
4xx that names what to change. Nothing of our inside is told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError

from strider.api.core import InvalidBodyError, InvalidCursorError, InvalidFilterError
from strider.runtime.errors import Unavailable
from strider.runtime.faulttexts import fault_text
from strider.runtime.logs import logger

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_SECONDS: Final = 5

_log = logger("api")


class ProblemError(Exception):
    """An answer that is a problem."""

    def __init__(
        self, status: int, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = members


def problem(
    status: int, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
) -> Response:
    """Make the document."""
    document = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **members,
    }
    return Response(json.dumps(document), status, dict(headers or {}), MEDIA_TYPE)


def unavailable(failure: Unavailable) -> Response:
    """Ask to come again."""
    return problem(
        503,
        f"{failure.part} does not answer now",
        headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
        part=failure.part,
    )


def install_problem_handlers(app: FastAPI) -> None:
    """Let every failure of a route end as a problem document."""

    @app.exception_handler(ProblemError)
    async def _problem(_request: Request, failure: ProblemError) -> Response:
        return problem(failure.status, failure.detail, headers=failure.headers, **failure.members)

    @app.exception_handler(Unavailable)
    async def _unavailable(request: Request, failure: Unavailable) -> Response:
        _log.warning("Unavailable", path=request.url.path, part=failure.part, why=failure.detail[:300])
        return unavailable(failure)

    @app.exception_handler(404)
    async def _unknown(request: Request, _failure: Exception) -> Response:
        return problem(404, f"there is nothing at {request.url.path[:200]}; see /openapi.json")

    @app.exception_handler(405)
    async def _method(request: Request, failure: Exception) -> Response:
        detail = f"{request.method[:20]} is not what is asked of {request.url.path[:200]}"
        return problem(405, detail, headers=getattr(failure, "headers", None))

    _install_callers_mistakes(app)

    @app.exception_handler(Exception)
    async def _fault(request: Request, failure: Exception) -> Response:
        _log.error("Request Failed", path=request.url.path, exc_info=failure)
        return problem(500, "a fault of ours; the log has it")


def _install_callers_mistakes(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def _invalid(_request: Request, failure: RequestValidationError) -> Response:
        return problem(422, _sentence(failure))

    @app.exception_handler(InvalidFilterError)
    @app.exception_handler(InvalidBodyError)
    async def _bad(_request: Request, failure: Exception) -> Response:
        return problem(422, str(failure))

    @app.exception_handler(InvalidCursorError)
    async def _cursor(_request: Request, failure: InvalidCursorError) -> Response:
        return problem(422, f"cursor: {failure}")


def _sentence(failure: RequestValidationError) -> str:
    """Name what is wrong, parameter by parameter."""
    return "; ".join(f"{error['loc'][-1]}: {fault_text(error)}" for error in failure.errors())
