"""Authentication by bearer token (JWT), and the roles of routes.

Every route but those of `PUBLIC_PATHS` declares the role that it needs, as a dependency of its router or of
itself: `dependencies=[USER]`, or `[ADMIN]`; an endpoint that needs the caller has a parameter of type
`Annotated[Caller, USER]`. `check_roles` refuses an application with a route that declares none. A request
without a valid token is refused whatever it names (401), and one whose role does not suffice by the name of
the needed one (403). A token is sent by programs alone, never by a browser on behalf of another page, so
neither the names of hosts nor the origins of requests need to be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from fastapi import FastAPI, Request, Security
from fastapi.routing import APIRoute, iter_route_contexts
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from strider.api.core import MERGE_PATCH_TYPE
from strider.runtime.access_tokens import Caller, Role, TokenFault, TokenRefused, verify_token

from .problem_details import ProblemError

PUBLIC_PATHS: Final = frozenset({"/health", "/api/v1/health", "/openapi.json"})
"""Paths without a role: a load balancer has no token, and neither has a client that is being generated."""
REALM: Final = "strider"
_BEARER: Final = HTTPBearer(
    scheme_name="token",
    bearerFormat="JWT",
    auto_error=False,
    description="JWT (HS256) with the claims `sub`, `role` (user or admin) and `exp`.",
)
_Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]


@dataclass(frozen=True, slots=True)
class TokenVerifier:
    """Secrets of tokens, and the time."""

    secrets: str = field(repr=False)
    now_seconds: Callable[[], float]

    def caller(self, authorization: str) -> Caller:
        """Return the caller of an Authorization header; raises TokenRefused."""
        scheme, _, token = authorization.strip().partition(" ")
        if authorization and scheme.lower() != "bearer":
            raise TokenRefused(
                TokenFault.MISSING, "send a token as `Authorization: Bearer …`, no other scheme"
            )
        return verify_token(token.strip(), self.secrets, now_seconds=self.now_seconds())


async def require_user(request: Request, _credentials: _Credentials) -> Caller:
    """Return the caller, a user or an admin."""
    return authorize(request, Role.USER)


async def require_admin(request: Request, _credentials: _Credentials) -> Caller:
    """Return the caller, an admin."""
    return authorize(request, Role.ADMIN)


USER: Final[Any] = Security(require_user, scopes=[Role.USER])
ADMIN: Final[Any] = Security(require_admin, scopes=[Role.ADMIN])
_ROLES: Final[dict[object, Role]] = {require_user: Role.USER, require_admin: Role.ADMIN}


def authorize(request: Request, needed: Role) -> Caller:
    """Return the caller of a request; raises ProblemError for one that may not send it."""
    verifier: TokenVerifier = request.app.state.tokens
    try:
        caller = verifier.caller(request.headers.get("authorization", ""))
    except TokenRefused as refusal:
        raise _unauthenticated(refusal) from refusal
    request.state.subject = caller.subject
    if not caller.role.includes(needed):
        raise ProblemError(
            403,
            f"{request.method} {request.url.path[:200]} needs the role {needed}; this token has the role "
            f"{caller.role}",
            headers={
                "WWW-Authenticate": f'Bearer realm="{REALM}", error="insufficient_scope", scope="{needed}"'
            },
            needed_role=str(needed),
        )
    return caller


def _unauthenticated(refusal: TokenRefused) -> ProblemError:
    """Return the error of a request without a valid token, as RFC 6750 describes it."""
    challenge = f'Bearer realm="{REALM}"'
    if refusal.reason is not TokenFault.MISSING:
        challenge += f', error="invalid_token", error_description="{refusal.detail}"'
    return ProblemError(
        401, refusal.detail, headers={"WWW-Authenticate": challenge}, reason=str(refusal.reason)
    )


def role_of(route: Any) -> Role | None:
    """Return the role that a route needs; None where it declares none."""
    roles = [_ROLES[each.call] for each in route.dependant.dependencies if each.call in _ROLES]
    return Role.ADMIN if Role.ADMIN in roles else next(iter(roles), None)


def route_roles(app: FastAPI) -> Iterator[tuple[str, str, Role | None]]:
    """Yield method, path and role of every route of the API."""
    for route in iter_route_contexts(app.routes):
        if isinstance(route.original_route, APIRoute):
            for method in sorted(route.methods or ()):
                yield method, str(route.path), role_of(route.original_route)


def check_roles(app: FastAPI) -> None:
    """Raise ValueError for an application with a route that declares no role and is not public."""
    for method, path, role in route_roles(app):
        if (role is None) != (path in PUBLIC_PATHS):
            raise ValueError(f"{method} {path}: a route declares USER or ADMIN, or stands in PUBLIC_PATHS")


def require_json(request: Request) -> None:
    """Refuse a body that does not say that it is JSON; of a PATCH also JSON Merge Patch."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or (kind == MERGE_PATCH_TYPE and request.method == "PATCH"):
        return
    headers = {"Accept-Patch": f"{MERGE_PATCH_TYPE}, application/json"} if request.method == "PATCH" else None
    raise ProblemError(415, "send JSON, with `Content-Type: application/json`", headers=headers)
