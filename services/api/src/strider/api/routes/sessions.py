"""Routes of sessions: log in with a token, show the session, log out.

A session is for browsers: its cookie is sent by the browser alone, and no script can read it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from fastapi import APIRouter, Depends, Request, Response

from strider.runtime.access_tokens import TokenRefused
from strider.runtime.sessions import Session, csrf_token, new_session, sign_cookie

from .auth import SESSION_COOKIE, USER, SessionRules, TokenVerifier, session_of, unauthenticated
from .pages import only
from .problem_details import ProblemError
from .request_bodies import RequestDocument, body_schema, read_document
from .response_models import SessionResponse, problems

SESSION: Final = "/api/v1/session"
MAX_BODY_BYTES: Final = 8_192
_EXAMPLES: Final[dict[str, Any]] = {
    "token": {"token": "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl"},
    "the token of the header": {},
}
_NO_SESSION: Final = "this request has no session: it was sent with a token"


class SessionRequest(RequestDocument):
    """Body of a login; without it the token is that of the header `Authorization`."""

    token: str = ""
    """Token of the API, as `strider token` prints it."""


def session_routes() -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["sessions"])

    @router.post(
        SESSION,
        status_code=201,
        responses=problems(401, 413, 415, 422, 503),
        dependencies=[Depends(only())],
        openapi_extra=body_schema(SessionRequest, _EXAMPLES),
    )
    async def log_in(request: Request, response: Response) -> SessionResponse:
        """Begin a session with a valid token; it ends with the token, and after 24 hours at the latest."""
        body = await read_document(request, SessionRequest, limit=MAX_BODY_BYTES)
        rules: SessionRules = request.app.state.sessions
        session = _begin(request, body.token, rules)
        await rules.store.save(session)
        _set_cookie(response, sign_cookie(session.session_id, rules.secrets), session, rules)
        return _described(session, rules)

    _add_present_session(router)
    return router


def _add_present_session(router: APIRouter) -> None:
    @router.get(
        SESSION,
        responses=problems(401, 403, 404, 422, 503),
        dependencies=[USER, Depends(only())],
    )
    async def show(request: Request, response: Response) -> SessionResponse:
        """Return who is logged in, and the token that requests of the session send in `X-CSRF-Token`."""
        response.headers["Cache-Control"] = "no-store"
        return _described(_require_session(request), request.app.state.sessions)

    @router.delete(
        SESSION,
        status_code=204,
        responses=problems(401, 403, 404, 422, 503),
        dependencies=[USER, Depends(only())],
    )
    async def log_out(request: Request) -> Response:
        """End the session: its cookie opens nothing any more."""
        rules: SessionRules = request.app.state.sessions
        await rules.store.end(_require_session(request).session_id)
        response = Response(status_code=204)
        response.delete_cookie(
            SESSION_COOKIE, secure=rules.is_cookie_secure, httponly=True, samesite="strict"
        )
        return response


def _begin(request: Request, token: str, rules: SessionRules) -> Session:
    """Return a new session of the caller that a token identifies."""
    verifier: TokenVerifier = request.app.state.tokens
    try:
        verified = (
            verifier.read(token) if token else verifier.from_header(request.headers.get("authorization", ""))
        )
    except TokenRefused as refusal:
        raise unauthenticated(refusal) from refusal
    now = verifier.now_seconds()
    ends_at = min(verified.ends_at_seconds, now + rules.lifetime_seconds)
    return new_session(verified.caller, now_seconds=now, ends_at_seconds=ends_at)


def _set_cookie(response: Response, value: str, session: Session, rules: SessionRules) -> None:
    response.headers["Cache-Control"] = "no-store"
    response.set_cookie(
        SESSION_COOKIE,
        value,
        max_age=max(1, session.ends_at_seconds - session.created_at_seconds),
        secure=rules.is_cookie_secure,
        httponly=True,
        samesite="strict",
    )


def _require_session(request: Request) -> Session:
    session = session_of(request)
    if session is None:
        raise ProblemError(404, _NO_SESSION)
    return session


def _described(session: Session, rules: SessionRules) -> SessionResponse:
    return SessionResponse(
        subject=session.caller.subject,
        role=str(session.caller.role),
        created_at=datetime.fromtimestamp(session.created_at_seconds, UTC),
        ends_at=datetime.fromtimestamp(session.ends_at_seconds, UTC),
        csrf_token=csrf_token(session.session_id, rules.secrets),
    )
