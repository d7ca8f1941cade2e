"""Authentication by bearer token (JWT) or session, and the roles of routes.

Every route but those of `PUBLIC_PATHS` declares the role that it needs, as a dependency of its router or of
itself: `dependencies=[USER]`, or `[ADMIN]`; an endpoint that needs the caller has a parameter of type
`Annotated[Caller, USER]`. `check_roles` refuses an application with a route that declares none. A request
without a valid token is refused whatever it names (401), and one whose role does not suffice by the name of
the needed one (403). A token is sent by programs alone, never by a browser on behalf of another page. The
cookie of a session is sent by a browser, for pages of this site alone (`SameSite=Strict`); a request that may
change something needs the session's own token beside it, which no other page can read, so neither the names
of hosts nor the origins of requests need to be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Protocol

from fastapi import FastAPI, Request, Security
from fastapi.routing import APIRoute, iter_route_contexts
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from strider.api.core import MERGE_PATCH_TYPE
from strider.runtime.access_tokens import AccessToken, Caller, Role, TokenFault, TokenRefused, read_token
from strider.runtime.sessions import Session, is_csrf_token, read_cookie

from .problem_details import ProblemError

PUBLIC_PATHS: Final = frozenset({"/health", "/api/v1/health", "/api/v1/stats", "/openapi.json"})
"""Paths without a role: a load balancer has no token, and neither has a client that is being generated."""
PUBLIC_ROUTES: Final = frozenset({("POST", "/api/v1/session")})
"""Further routes without a role: a login has its token in the body."""
SESSION_COOKIE: Final = "strider_session"
CSRF_HEADER: Final = "X-CSRF-Token"
READING_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing, so that a request of a session needs no further token."""
REALM: Final = "strider"
_BEARER: Final = HTTPBearer(
    scheme_name="token",
    bearerFormat="JWT",
    auto_error=False,
    description="JWT (HS256) with the claims `sub`, `role` (user or admin) and `exp`.",
)
_COOKIE: Final = APIKeyCookie(
    name=SESSION_COOKIE,
    scheme_name="session",
    auto_error=False,
    description="Cookie of POST /api/v1/session, for browsers. Requests that may change something send the "
    f"`csrf_token` of that response in `{CSRF_HEADER}`.",
)
_Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]
_Cookie = Annotated[str | None, Security(_COOKIE)]


class SessionStore(Protocol):
    """Records of sessions; each method may raise Unavailable."""

    async def save(self, session: Session) -> None:
        """Store a session until its end."""

    async def find(self, session_id: str) -> Session | None:
        """Return a session; None where it has ended."""

    async def end(self, session_id: str) -> None:
        """Delete a session."""


@dataclass(frozen=True, slots=True)
class SessionRules:
    """The store of sessions, their longest duration, and the secret of their cookies."""

    store: SessionStore
    secrets: str = field(repr=False)
    lifetime_seconds: float = 86_400.0
    is_cookie_secure: bool = True
    """Whether browsers send the cookie by HTTPS alone."""


@dataclass(frozen=True, slots=True)
class TokenVerifier:
    """Secrets of tokens, and the time."""

    secrets: str = field(repr=False)
    now_seconds: Callable[[], float]

    def caller(self, authorization: str) -> Caller:
        """Return the caller of an Authorization header; raises TokenRefused."""
        return self.from_header(authorization).caller

    def from_header(self, authorization: str) -> AccessToken:
        """Return the token of an Authorization header; raises TokenRefused."""
        scheme, _, token = authorization.strip().partition(" ")
        if authorization and scheme.lower() != "bearer":
            raise TokenRefused(
                TokenFault.MISSING, "send a token as `Authorization: Bearer …`, no other scheme"
            )
        return self.read(token)

    def read(self, token: str) -> AccessToken:
        """Return what a token says; raises TokenRefused."""
        return read_token(token.strip(), self.secrets, now_seconds=self.now_seconds())


async def require_user(request: Request, _credentials: _Credentials, _cookie: _Cookie) -> Caller:
    """Return the caller, a user or an admin."""
    return await authorize(request, Role.USER)


async def require_admin(request: Request, _credentials: _Credentials, _cookie: _Cookie) -> Caller:
    """Return the caller, an admin."""
    return await authorize(request, Role.ADMIN)


USER: Final[Any] = Security(require_user, scopes=[Role.USER])
ADMIN: Final[Any] = Security(require_admin, scopes=[Role.ADMIN])
_ROLES: Final[dict[object, Role]] = {require_user: Role.USER, require_admin: Role.ADMIN}


async def authorize(request: Request, needed: Role) -> Caller:
    """Return the caller of a request; raises ProblemError for one that may not send it."""
    caller = await _identify(request)
    request.state.subject = caller.subject
    if not caller.role.includes(needed):
        raise ProblemError(
            403,
            f"{request.method} {request.url.path[:200]} needs the role {needed}; this "
            f"{'token' if session_of(request) is None else 'session'} has the role {caller.role}",
            headers={
                "WWW-Authenticate": f'Bearer realm="{REALM}", error="insufficient_scope", scope="{needed}"'
            },
            needed_role=str(needed),
        )
    return caller


def session_of(request: Request) -> Session | None:
    """Return the session of an authorized request; None where it has a token of its own."""
    return getattr(request.state, "session", None)


async def _identify(request: Request) -> Caller:
    """Return the caller by the token of the header, else by the cookie."""
    verifier: TokenVerifier = request.app.state.tokens
    authorization, cookie = request.headers.get("authorization", ""), request.cookies.get(SESSION_COOKIE, "")
    if authorization or not cookie:
        try:
            return verifier.caller(authorization)
        except TokenRefused as refusal:
            raise unauthenticated(refusal) from refusal
    session = await _session_of_cookie(cookie, request.app.state.sessions, verifier.now_seconds())
    rules: SessionRules = request.app.state.sessions
    given = request.headers.get(CSRF_HEADER, "")
    if request.method not in READING_METHODS and not is_csrf_token(given, session.session_id, rules.secrets):
        raise ProblemError(
            403,
            f"{CSRF_HEADER}: send the csrf_token of the session, which GET /api/v1/session returns",
            reason="csrf",
        )
    request.state.session = session
    return session.caller


async def _session_of_cookie(cookie: str, rules: SessionRules, now_seconds: float) -> Session:
    """Return the session of a cookie; raises ProblemError for one that opens nothing."""
    session_id = read_cookie(cookie, rules.secrets)
    if session_id is None:
        raise _logged_out("session_invalid", "the cookie is not signed by this API; log in again")
    session = await rules.store.find(session_id)
    if session is None or now_seconds >= session.ends_at_seconds:
        raise _logged_out("session_ended", "the session has ended; log in again")
    return session


def _logged_out(reason: str, detail: str) -> ProblemError:
    return ProblemError(401, detail, headers={"WWW-Authenticate": f'Bearer realm="{REALM}"'}, reason=reason)


def unauthenticated(refusal: TokenRefused) -> ProblemError:
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
        if (role is None) != (path in PUBLIC_PATHS or (method, path) in PUBLIC_ROUTES):
            raise ValueError(f"{method} {path}: a route declares USER or ADMIN, or stands in PUBLIC_PATHS")


def require_json(request: Request) -> None:
    """Refuse a body that does not say that it is JSON; of a PATCH also JSON Merge Patch."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or (kind == MERGE_PATCH_TYPE and request.method == "PATCH"):
        return
    headers = {"Accept-Patch": f"{MERGE_PATCH_TYPE}, application/json"} if request.method == "PATCH" else None
    raise ProblemError(415, "send JSON, with `Content-Type: application/json`", headers=headers)
