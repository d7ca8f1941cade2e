"""Sessions: log in with a token, what the cookie opens, what it does not, log out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from http.cookies import SimpleCookie

import httpx
import pytest

from strider.messaging.errors import Unavailable
from strider.runtime.access_tokens import Caller, Role, issue_token
from strider.runtime.sessions import (
    csrf_token,
    is_csrf_token,
    new_session,
    read_cookie,
    read_session,
    sign_cookie,
    write_session,
)
from strider.testing.callers import JWT_SECRET, access_token, bearer

from .world import JSON, World, client_of, problem_of

SESSION = "/api/v1/session"
OTHER_SECRET = "another-secret-of-32-characters-or-more"
CALLER = Caller("ada", Role.USER)


async def log_in(client: httpx.AsyncClient, role: Role = Role.USER) -> str:
    """Begin a session, whose cookie the client keeps; returns its CSRF token."""
    answer = await client.post(SESSION, json={"token": access_token(role)})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["csrf_token"])


@pytest.mark.req("S3.17.9", part="the attributes of the cookie")
async def test_the_cookie_is_for_browsers_of_this_site_alone(world: World) -> None:
    parts = world.parts()
    secure = replace(parts, sessions=replace(parts.sessions, is_cookie_secure=True))
    async with client_of(secure, {}) as client:
        answer = await client.post(SESSION, json={}, headers=bearer(Role.USER))

    (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "strict")
    assert (cookie["path"], cookie["domain"]) == ("/", "")
    ((session_id, session),) = world.sessions.sessions.items()
    assert 0 < int(cookie["max-age"]) == session.ends_at_seconds - session.created_at_seconds <= 86_400
    assert cookie.value.partition(".")[0] == session_id
    assert answer.headers["cache-control"] == "no-store"


async def test_a_session_ends_with_its_token(world: World) -> None:
    """An hour's token opens no day's session."""
    token = issue_token(JWT_SECRET, CALLER, now_seconds=time.time(), lifetime_seconds=3_600)
    async with client_of(world.parts(), {}) as client:
        answer = await client.post(SESSION, json={"token": token})

    (session,) = world.sessions.sessions.values()
    assert answer.status_code == 201
    assert session.ends_at_seconds - session.created_at_seconds <= 3_601


async def test_a_session_opens_what_its_role_may_and_nothing_after_its_end(world: World) -> None:
    async with client_of(world.parts(), {}) as client:
        without = await client.get("/api/v1/decisions")
        csrf = {"x-csrf-token": await log_in(client)}
        shown = await client.get(SESSION)
        allowed = await client.get("/api/v1/decisions")
        refused = await client.post("/api/v1/frontier/recover", headers={**JSON, **csrf})
        cookie = client.cookies["strider_session"]
        ended = await client.delete(SESSION, headers=csrf)
        kept = dict(client.cookies)
        after = await client.get("/api/v1/decisions", headers={"cookie": f"strider_session={cookie}"})

    assert (problem_of(without)[0], allowed.status_code, ended.status_code) == (401, 200, 204)
    assert (shown.json()["role"], shown.json()["csrf_token"]) == ("user", csrf["x-csrf-token"])
    assert problem_of(refused)[0] == 403
    assert "this session has the role user" in refused.json()["detail"]
    assert kept == {}
    assert (problem_of(after)[0], after.json()["reason"]) == (401, "session_ended")


@pytest.mark.parametrize(
    "header",
    [
        pytest.param({}, id="missing"),
        pytest.param({"x-csrf-token": ""}, id="empty"),
        pytest.param({"x-csrf-token": csrf_token("b" * 43, JWT_SECRET)}, id="of-another-session"),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/api/v1/seeds"), ("DELETE", SESSION), ("DELETE", "/api/v1/frontier/x")]
)
async def test_a_request_that_changes_something_needs_the_sessions_own_token(
    world: World, header: dict[str, str], method: str, path: str
) -> None:
    """Also one with an Idempotency-Key, before anything is stored; reading needs none."""
    key = {"idempotency-key": "k"} if method == "POST" else {}
    async with client_of(world.parts(), {}) as client:
        await log_in(client, Role.ADMIN)
        refused = await client.request(method, path, headers={**JSON, **header, **key})

    assert (problem_of(refused)[0], refused.json()["reason"]) == (403, "csrf")
    assert (world.door.submitted, world.responses.records, len(world.sessions.sessions)) == ([], {}, 1)


def a_cookie(secret: str = JWT_SECRET) -> str:
    session = new_session(CALLER, now_seconds=0, ends_at_seconds=1)
    return sign_cookie(session.session_id, secret)


@pytest.mark.parametrize(
    ("cookie", "reason"),
    [
        pytest.param(a_cookie(), "session_ended", id="unknown"),
        pytest.param(a_cookie(OTHER_SECRET), "session_invalid", id="another-secret"),
        pytest.param(a_cookie()[:-1] + "!", "session_invalid", id="forged"),
        pytest.param(a_cookie().partition(".")[0], "session_invalid", id="unsigned"),
        pytest.param("x" * 5_000, "session_invalid", id="oversized"),
        pytest.param(access_token(), "session_invalid", id="a-token"),
    ],
)
async def test_a_cookie_that_is_none_of_ours_opens_nothing(world: World, cookie: str, reason: str) -> None:
    """A valid token beside it does."""
    async with client_of(world.parts(), {"cookie": f"strider_session={cookie}"}) as client:
        answer = await client.get("/api/v1/pages")
        asked = list(world.records.asked)
        with_token = await client.get("/api/v1/decisions", headers=bearer(Role.USER))

    assert (problem_of(answer)[0], answer.json()["reason"]) == (401, reason)
    assert (asked, with_token.status_code) == ([], 200)


async def test_an_expired_session_opens_nothing_though_its_record_is_left(world: World) -> None:
    session = new_session(CALLER, now_seconds=time.time() - 90, ends_at_seconds=time.time() - 30)
    await world.sessions.save(session)
    cookie = sign_cookie(session.session_id, JWT_SECRET)
    async with client_of(world.parts(), {"cookie": f"strider_session={cookie}"}) as client:
        answer = await client.get("/api/v1/pages")

    assert (problem_of(answer)[0], answer.json()["reason"]) == (401, "session_ended")


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        pytest.param({}, 401, "send a token", id="no-token"),
        pytest.param({"token": "x"}, 401, "no JSON Web Token", id="no-jwt"),
        pytest.param({"token": 1}, 422, "token", id="a-number"),
        pytest.param({"tokens": "x"}, 422, "did you mean token?", id="unknown-field"),
        pytest.param([], 422, "one JSON object", id="a-list"),
        pytest.param({"token": "x" * 9_000}, 413, "larger than", id="oversized"),
    ],
)
async def test_a_login_without_a_valid_token_is_refused(
    world: World, body: object, status: int, said: str
) -> None:
    async with client_of(world.parts(), {}) as client:
        answer = await client.post(SESSION, json=body)

    assert problem_of(answer)[0] == status
    assert said in answer.json()["detail"]
    assert "set-cookie" not in answer.headers
    assert world.sessions.sessions == {}


async def test_a_form_of_another_page_begins_no_session(world: World) -> None:
    async with client_of(world.parts(), {}) as client:
        answer = await client.post(SESSION, data={"token": access_token()})

    assert problem_of(answer)[0] == 415


async def test_a_request_with_a_token_has_no_session_to_show_or_end(world: World) -> None:
    async with client_of(world.parts()) as client:
        answers = [await client.get(SESSION), await client.delete(SESSION)]

    assert {problem_of(each)[0] for each in answers} == {404}


async def test_without_the_store_sessions_are_unavailable_and_tokens_are_not(world: World) -> None:
    async with client_of(world.parts(), {}) as client:
        await log_in(client)
        world.sessions.failure = Unavailable("redis", "gone")
        by_session = await client.get("/api/v1/decisions")
        by_token = await client.get("/api/v1/decisions", headers=bearer(Role.USER))
        begun = await client.post(SESSION, json={"token": access_token()})

    assert [each.status_code for each in (by_session, by_token, begun)] == [503, 200, 503]


SIGNERS: list[Callable[[str], bool]] = [
    lambda secrets: read_cookie(sign_cookie("a" * 43, OTHER_SECRET), secrets) == "a" * 43,
    lambda secrets: is_csrf_token(csrf_token("a" * 43, OTHER_SECRET), "a" * 43, secrets),
]


@pytest.mark.parametrize("is_valid", SIGNERS, ids=["cookie", "csrf"])
def test_a_secret_is_replaced_without_an_interruption(is_valid: Callable[[str], bool]) -> None:
    """Each of several secrets verifies, the first one signs; another one does neither."""
    assert is_valid(f"{JWT_SECRET},{OTHER_SECRET}")
    assert not is_valid(JWT_SECRET)


def test_a_record_has_caller_role_and_time() -> None:
    session = new_session(CALLER, now_seconds=5, ends_at_seconds=90)
    stored = write_session(session)

    assert stored == b'{"userId": "ada", "role": "user", "createdAt": 5, "endsAt": 90}'
    assert read_session(session.session_id, stored) == session
    for faulty in (b"", b"[]", b"{}", stored.replace(b'user"', b'root"'), stored.replace(b"ada", b" ")):
        assert read_session(session.session_id, faulty) is None


@pytest.mark.parametrize("path", ["/api/v1/stats", "/api/stats"])
async def test_statistics_are_public(world: World, path: str) -> None:
    async with client_of(world.parts(), {}) as client:
        answer = await client.get(path)
        unknown = await client.get(path, params={"host": "a.test"})

    assert answer.status_code == 200
    figures = answer.json()
    assert (figures["pages"], figures["runs"], figures["hosts"]) == (3, {"running": 1}, None)
    assert problem_of(unknown)[0] == 422
