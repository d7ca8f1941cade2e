"""Authentication by token, or by loopback.

With a token, every client that sends it. Without one the API listens on loopback only, and a request must
name this machine: a page in a browser here can be made to send requests under a foreign name and in forms
that need no permission (CSRF), and those are refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hmac import compare_digest
from typing import Annotated, Final

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from strider.api.core import is_own_name

from .problem_details import ProblemError

_BEARER: Final = HTTPBearer(auto_error=False, description="STRIDER_API_TOKEN, where one is set.")

Guard = Callable[..., Awaitable[None]]


def token_check(token: str) -> Guard:
    """Return the dependency that checks a request."""
    expected = token.encode()

    async def with_token(
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
    ) -> None:
        given = credentials.credentials if credentials is not None else ""
        if not compare_digest(given.encode(), expected):
            raise ProblemError(
                401,
                "send the token of this API as `Authorization: Bearer …`",
                headers={"WWW-Authenticate": "Bearer"},
            )

    async def from_here(request: Request) -> None:
        if not is_own_name(request.headers.get("host", "")):
            raise ProblemError(421, "without a token this API accepts the names of its own machine only")

    return with_token if token else from_here


def require_json(request: Request) -> None:
    """Refuse bodies that a foreign web page may send: only JSON makes a browser ask for permission first."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ProblemError(415, "send JSON, with `Content-Type: application/json`")
