"""Errors as RFC 9457 problem documents.

Unavailable infrastructure is 503 with Retry-After; what only the client can change is a 4xx that names what
to change. No internal details are exposed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.requests import ClientDisconnect
from starlette.routing import compile_path

from strider.api import log_events
from strider.api.core import InvalidBodyError, InvalidCursorError, InvalidFilterError
from strider.messaging.errors import Unavailable
from strider.runtime.observability.logging import logger
from strider.runtime.settings.loader import validation_message
from strider.storage.errors import StoreRejected

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_SECONDS: Final = 5
NOT_MIGRATED: Final = frozenset({"42P01", "42703", "42501"})
"""States of PostgreSQL: no such table or column, or no right to it."""

_log = logger("api")


class ProblemError(Exception):
    """An error with a problem document."""

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
    """Return the document."""
    document = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **members,
    }
    return Response(json.dumps(document), status, dict(headers or {}), MEDIA_TYPE)


def field_problem(faults: Sequence[tuple[str, str]], *, status: int = 422) -> Response:
    """Return the document about refused fields or parameters, each with its fault."""
    errors = [{"field": field, "detail": detail} for field, detail in faults]
    return problem(status, "; ".join(f"{field}: {detail}" for field, detail in faults), errors=errors)


def unavailable(failure: Unavailable) -> Response:
    """Return a 503 with Retry-After."""
    return problem(
        503,
        f"{failure.dependency} does not respond now",
        headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
        part=failure.dependency,
    )


async def read_request_body(request: Request, *, limit: int) -> bytes:
    """Read the body of a request; raises ProblemError where it is longer than the limit."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise ProblemError(413, f"the body is larger than {limit} bytes; send it in parts")
    return bytes(body)


def install_problem_handlers(app: FastAPI) -> None:
    """Turn every failure of a route into a problem document."""

    @app.exception_handler(ProblemError)
    async def _problem(_request: Request, failure: ProblemError) -> Response:
        return problem(failure.status, failure.detail, headers=failure.headers, **failure.members)

    @app.exception_handler(Unavailable)
    async def _unavailable(request: Request, failure: Unavailable) -> Response:
        _log.emit(
            log_events.API_DEPENDENCY_UNAVAILABLE,
            path=request.url.path,
            part=failure.dependency,
            why=failure.detail[:300],
        )
        return unavailable(failure)

    @app.exception_handler(404)
    async def _unknown(request: Request, _failure: Exception) -> Response:
        return problem(404, f"there is nothing at {request.url.path[:200]}; see /openapi.json")

    @app.exception_handler(405)
    async def _method(request: Request, failure: Exception) -> Response:
        detail = f"{request.method[:20]} is not allowed for {request.url.path[:200]}"
        headers = getattr(failure, "headers", None) or {}
        allowed = _methods_of(request)
        return problem(405, detail, headers={**headers, "Allow": ", ".join(allowed)} if allowed else headers)

    _install_callers_mistakes(app)
    _install_store_faults(app)

    @app.exception_handler(Exception)
    async def _fault(request: Request, failure: Exception) -> Response:
        _log.emit(log_events.API_REQUEST_FAILED, path=request.url.path, exc_info=failure)
        return problem(500, "internal error; see the log of the API")


def _install_store_faults(app: FastAPI) -> None:
    @app.exception_handler(StoreRejected)
    async def _rejected(request: Request, failure: StoreRejected) -> Response:
        if failure.code not in NOT_MIGRATED:
            _log.emit(log_events.API_REQUEST_FAILED, path=request.url.path, exc_info=failure)
            return problem(500, "internal error; see the log of the API")
        return unavailable(Unavailable(failure.part, f"{failure.detail}; run: strider migrate up"))


def _methods_of(request: Request) -> list[str]:
    """Return the methods of a path, which may have a route for each; of the first path that fits."""
    routes = [
        (str(route.path), route.methods or ())
        for route in iter_route_contexts(request.app.routes)
        if compile_path(str(route.path))[0].match(request.url.path)
    ]
    return sorted({method for path, methods in routes if path == routes[0][0] for method in methods})


def _install_callers_mistakes(app: FastAPI) -> None:
    @app.exception_handler(ClientDisconnect)
    async def _left(_request: Request, _failure: Exception) -> Response:
        # The response reaches no client; without this handler each such client would log a fault of the API.
        return problem(408, "the request ended before its body was complete")

    @app.exception_handler(RequestValidationError)
    async def _invalid(_request: Request, failure: RequestValidationError) -> Response:
        faults = [(str(error["loc"][-1]), validation_message(error)) for error in failure.errors()]
        return field_problem(faults)

    @app.exception_handler(InvalidFilterError)
    async def _filter(_request: Request, failure: InvalidFilterError) -> Response:
        return field_problem([(failure.name, failure.detail)])

    @app.exception_handler(InvalidBodyError)
    async def _bad(_request: Request, failure: InvalidBodyError) -> Response:
        return problem(422, str(failure))

    @app.exception_handler(InvalidCursorError)
    async def _cursor(_request: Request, failure: InvalidCursorError) -> Response:
        return problem(422, f"cursor: {failure}")
