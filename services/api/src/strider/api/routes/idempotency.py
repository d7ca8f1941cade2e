"""Requests with an Idempotency-Key are carried out once.

    router = APIRouter(route_class=IdempotentRoute, dependencies=[USER])

makes every POST route of a router accept the header (draft-ietf-httpapi-idempotency-key-header): the response
to the first request is kept for 24 hours, by caller and key, and sent again to the same request. Only a
success is kept: a request that was refused, or failed, has its key free again. Without the header nothing
is stored, and Redis is not needed.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.types import Message, Receive

from strider.api import log_events
from strider.api.core import KeptResponse, RequestRecord, fingerprint_of, kept_response, scope_of
from strider.messaging.errors import Unavailable
from strider.runtime.access_tokens import Caller, Role
from strider.runtime.observability.logging import logger

from .auth import authorize, role_of
from .problem_details import RETRY_AFTER_SECONDS, ProblemError, read_request_body
from .response_models import problems

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotent-Replayed"
"""Header of a response that was kept."""
HANDLING_SECONDS: Final = 45.0
"""Longest time of a request with a key: shorter than its record in progress is kept."""
RETRY_SECONDS: Final = 1
"""When a request that is in progress may be sent again."""

_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
_PARAMETER: Final[dict[str, Any]] = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "A text that is new for each request, such as a UUID. The same request with the same key "
    "is carried out once in 24 hours; its response is sent again, with `Idempotent-Replayed: true`.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\x21-\\x7e]{1,255}$"},
    "example": "8e03978e-40d5-43dd-bc93-6894a57f9324",
}

_log = logger("api")

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class ResponseStore(Protocol):
    """Records of requests; each method may raise Unavailable."""

    async def begin(self, scope: str, record: RequestRecord) -> RequestRecord | None:
        """Store a record in progress; return the one that is stored already, or None."""

    async def finish(self, scope: str, begun: RequestRecord, done: RequestRecord) -> None:
        """Replace the record of an attempt."""

    async def forget(self, scope: str, begun: RequestRecord) -> None:
        """Delete the record of an attempt."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """The store of records, and the largest body of a request with a key."""

    store: ResponseStore
    max_body_bytes: int
    handling_seconds: float = HANDLING_SECONDS


class IdempotentRoute(APIRoute):
    """A route that carries out a POST with an Idempotency-Key once. It declares a role, as all routes do."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if "POST" in (options.get("methods") or ()):
            options["responses"] = {**problems(409, 422, 503), **(options.get("responses") or {})}
            extra = dict(options.get("openapi_extra") or {})
            options["openapi_extra"] = extra | {"parameters": [*extra.get("parameters", ()), _PARAMETER]}
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Handler:
        """Return the handler, which the library calls for each request."""
        handle = super().get_route_handler()

        async def handle_once(request: Request) -> Response:
            if request.method != "POST" or HEADER not in request.headers:
                return await handle(request)
            caller = await authorize(request, role_of(self) or Role.ADMIN)
            return await _carry_out_once(request, caller, handle)

        return handle_once


async def _carry_out_once(request: Request, caller: Caller, handle: Handler) -> Response:
    """Carry out a request, or return the response to the one before with the same key."""
    options: Idempotency = request.app.state.idempotency
    scope = scope_of(caller.subject, _key_of(request))
    body = await read_request_body(request, limit=options.max_body_bytes)
    fingerprint = fingerprint_of(
        request.method,
        request.url.path,
        request.scope["query_string"],
        request.headers.items(),
        body,
    )
    begun = RequestRecord(fingerprint, secrets.token_hex(8))
    earlier = await options.store.begin(scope, begun)
    if earlier is not None:
        return _repeated(earlier, fingerprint)
    repeatable = Request(request.scope, _with_body(body, request.receive))
    try:
        response = await _within(options.handling_seconds, handle(repeatable))
    except BaseException:
        await _forget(options.store, scope, begun)
        raise
    if response.status_code >= 300:  # noqa: PLR2004  # no success
        await _forget(options.store, scope, begun)
    else:
        await _keep(options.store, scope, begun, response)
    return response


def _key_of(request: Request) -> str:
    keys = request.headers.getlist(HEADER)
    if len(keys) != 1 or not _KEY.fullmatch(keys[0]):
        raise _refused("send one key of 1 to 255 visible ASCII characters without blanks, such as a UUID")
    return keys[0]


def _refused(detail: str) -> ProblemError:
    return ProblemError(422, f"{HEADER}: {detail}", errors=[{"field": HEADER, "detail": detail}])


def _repeated(earlier: RequestRecord, fingerprint: str) -> Response:
    """Return the response to a request whose key was used before."""
    if earlier.fingerprint != fingerprint:
        raise _refused("this key was used for another request; send a new key")
    if (kept := earlier.response) is None:
        raise ProblemError(
            409,
            f"{HEADER}: the request with this key is in progress; send it again later",
            headers={"Retry-After": str(RETRY_SECONDS)},
        )
    if kept.body is None:
        raise ProblemError(
            409,
            f"{HEADER}: the request with this key was carried out, with status {kept.status}; its response "
            "was too large to be kept",
        )
    return _replay(kept, kept.body)


def _replay(kept: KeptResponse, body: bytes) -> Response:
    response = Response(body, kept.status)
    for name, value in kept.headers:
        response.headers.append(name, value)
    response.headers[REPLAYED] = "true"
    return response


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Return a channel that gives a body which was read already."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def give() -> Message:
        return parts.pop() if parts else await receive()

    return give


async def _within(seconds: float, handling: Coroutine[Any, Any, Response]) -> Response:
    """Raise ProblemError for a request that takes longer than its record in progress would last."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await handling
    except TimeoutError:
        if limit.expired():
            raise ProblemError(
                503,
                f"the request took longer than {seconds:g} s; send it again",
                headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
            ) from None
        raise


async def _keep(store: ResponseStore, scope: str, begun: RequestRecord, response: Response) -> None:
    """Keep a response. Where Redis has gone meanwhile, the response is sent all the same: it is true."""
    headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.raw_headers)
    kept = kept_response(response.status_code, headers, bytes(response.body))
    try:
        await store.finish(scope, begun, replace(begun, response=kept))
    except Unavailable as failure:
        _log.emit(log_events.RESPONSE_NOT_KEPT, why=failure.detail[:300])


async def _forget(store: ResponseStore, scope: str, begun: RequestRecord) -> None:
    """Make a key free again. Where Redis has gone meanwhile, it is within a minute."""
    try:
        await asyncio.shield(store.forget(scope, begun))
    except Unavailable as failure:
        _log.emit(log_events.RESPONSE_NOT_KEPT, why=failure.detail[:300])
