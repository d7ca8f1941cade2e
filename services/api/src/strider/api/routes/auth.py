"""Who may ask.

With a token, whoever sends it. Without one the API listens to this machine alone, and a request
must mean it: a page in this machine's browser may be made to send requests here, under a foreign
name and in forms that need nobody's leave, and those are turned away.
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
    """Make what lets a request pass."""
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
            raise ProblemError(421, "without a token this API answers to the names of its own machine only")

    return with_token if token else from_here


def require_json(request: Request) -> None:
    """Refuse what a foreign web page may send without asking: only JSON makes a browser ask first."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ProblemError(415, "send JSON, with `Content-Type: application/json`")
