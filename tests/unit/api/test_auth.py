"""Who may use which route: tokens, roles, aliases."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI

from strider.api.routes import build_app
from strider.api.routes.aliases import ALIASES
from strider.api.routes.auth import ADMIN, PUBLIC_PATHS, PUBLIC_ROUTES, USER, check_roles, route_roles
from strider.runtime.access_tokens import Caller, Role, issue_token
from strider.testing.callers import JWT_SECRET, bearer

from .world import JSON, KEY, World, client_of, problem_of

ADMINS_ROUTES = {
    ("POST", "/api/v1/frontier"),
    ("DELETE", "/api/v1/frontier/{key}"),
    ("DELETE", "/api/v1/discovered-links/{link_id}"),
    ("POST", "/api/v1/frontier/recover"),
    ("POST", "/api/v1/scheduler/rebalance"),
    ("DELETE", "/api/v1/jobs/{job_id}"),
    ("POST", "/api/v1/admin/sync-enabled-sources"),
    ("DELETE", "/api/v1/sources/{source_id}"),
}
"""S3.17.13; every other route is a user's. A session is ended by its caller."""


def token(*, secret: str = JWT_SECRET, role: str = "user", seconds: float = 60) -> str:
    caller = Caller("ada", Role(role))
    return issue_token(secret, caller, now_seconds=time.time(), lifetime_seconds=seconds)


def routes_of(world: World) -> list[tuple[str, str, Role | None]]:
    return list(route_roles(build_app(world.parts())))


async def sent(client: httpx.AsyncClient, method: str, path: str, **headers: str) -> httpx.Response:
    return await client.request(method, path.replace("{key}", KEY), headers=headers)


@pytest.mark.req("S3.17.12", part="the role is asked for")
@pytest.mark.req("S3.17.13", part="recovery of leases")
def test_every_route_declares_the_role_that_it_needs(world: World) -> None:
    roles = {(method, path): role for method, path, role in routes_of(world)}

    public = {route for route, role in roles.items() if role is None}
    assert public >= PUBLIC_ROUTES
    assert {path for _, path in public - PUBLIC_ROUTES} == PUBLIC_PATHS
    assert all(role in {Role.USER, None} for (method, _), role in roles.items() if method == "GET")
    deletions = {path for (method, path), role in roles.items() if method == "DELETE" and role != Role.ADMIN}
    assert deletions == {"/api/v1/session"}
    assert {route for route, role in roles.items() if role is Role.ADMIN} == ADMINS_ROUTES
    assert ("GET", "/api/v1/pages/{key}") in roles


async def no_role() -> None:
    """Check nothing."""


@pytest.mark.parametrize("path", ["/api/v1/new", "/new"])
def test_an_application_with_a_route_that_declares_none_is_not_built(world: World, path: str) -> None:
    """Also where it needs a dependency that is no role."""
    app = build_app(world.parts())
    router = APIRouter(dependencies=[Depends(no_role)])
    router.get(path)(no_role)
    app.include_router(router)

    with pytest.raises(ValueError, match=f"GET {path}: a route declares USER or ADMIN"):
        check_roles(app)


@pytest.mark.parametrize(
    ("authorization", "reason"),
    [
        pytest.param(None, "missing", id="nothing"),
        pytest.param("", "missing", id="empty"),
        pytest.param("Bearer", "missing", id="no-token"),
        pytest.param("Basic YTpi", "missing", id="another-scheme"),
        pytest.param("Bearer s3cret-token-of-16", "malformed", id="no-jwt"),
        pytest.param(f"Bearer {token()} x", "malformed", id="two-words"),
        pytest.param(f"Bearer {'x' * 5_000}", "too_long", id="oversized"),
        pytest.param(f"Bearer {token(secret='x' * 32)}", "signature", id="another-secret"),
        pytest.param(f"Bearer {token(seconds=-60)}", "expired", id="expired"),
        pytest.param("Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.", "algorithm", id="alg-none"),
    ],
)
async def test_every_route_refuses_a_request_without_a_valid_token(
    world: World, authorization: str | None, reason: str
) -> None:
    """Aliases too; the response names what is wrong, and whatever the request names is not looked at."""
    headers = {} if authorization is None else {"authorization": authorization}
    guarded = [(method, path) for method, path, role in routes_of(world) if role]
    guarded += [
        ("POST" if alias.endswith(("recover", "force-run")) else "GET", alias)
        for alias in ALIASES
        if not alias.endswith(("health", "stats"))
    ]
    async with client_of(world.parts(), {}) as client:
        answers = [
            await sent(client, method, path, **headers)
            for method, path in guarded
            if (method, path) != ("GET", "/api/seeds")
        ]

    assert {problem_of(each)[0] for each in answers} == {401}
    assert {each.json()["reason"] for each in answers} == {reason}
    challenges = {each.headers["www-authenticate"] for each in answers}
    assert all(each.startswith('Bearer realm="strider"') for each in challenges)
    assert all(('error="invalid_token"' in each) is (reason != "missing") for each in challenges)
    assert (world.door.submitted, world.records.asked, world.leases.asked) == ([], [], [])


async def test_a_header_that_is_no_text_is_no_fault(world: World) -> None:
    async with client_of(world.parts(), {}) as client:
        answer = await client.get("/api/v1/pages", headers={"authorization": "Bearer secrét".encode()})

    assert problem_of(answer)[0] == 401


@pytest.mark.req("S3.17.13", part="recovery of leases")
@pytest.mark.parametrize("path", ["/api/v1/frontier/recover", "/api/frontier/recover"])
async def test_a_role_that_does_not_suffice_is_refused_by_the_name_of_the_needed_one(
    world: World, path: str
) -> None:
    async with client_of(world.parts(), bearer(Role.USER)) as client:
        refused = await client.post(path, headers=JSON)
        wrong_body = await client.post(path, content=b"[]")
        allowed = await client.get("/api/v1/pages")
    async with client_of(world.parts(), bearer(Role.ADMIN)) as client:
        admins = await client.post(path, headers=JSON)

    assert problem_of(refused) == (
        403,
        "POST /api/v1/frontier/recover needs the role admin; this token has the role user",
    )
    assert refused.json()["needed_role"] == "admin"
    assert 'error="insufficient_scope", scope="admin"' in refused.headers["www-authenticate"]
    assert (wrong_body.status_code, allowed.status_code, admins.status_code) == (403, 200, 200)
    assert world.leases.asked == [300]


async def test_the_token_is_enough_under_any_name_and_from_any_page(world: World) -> None:
    """Behind a proxy the name is not ours; and no browser sends a token for another page."""
    page = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    async with client_of(world.parts(), base_url="http://api.example.org") as client:
        let_in = await client.get("/api/v1/pages", headers=page)
    async with client_of(world.parts(), {}, "http://evil.example") as client:
        refused = await client.post("/api/v1/seeds", json={"url": "https://a.test/"}, headers=page)

    assert (let_in.status_code, refused.status_code) == (200, 401)


@pytest.mark.req("S4.8.1", part="tokens of the API")
async def test_an_endpoint_may_have_the_caller() -> None:
    """As the routes that note who has changed something."""
    app = FastAPI()
    app.state.tokens = World().parts().tokens

    async def whoami(caller: Any = USER) -> dict[str, str]:
        return {"subject": caller.subject, "role": caller.role}

    app.get("/me")(whoami)
    app.delete("/me", dependencies=[ADMIN])(whoami)
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://a.test")

    answer = await client.get("/me", headers=bearer(Role.USER, subject="ada"))

    assert answer.json() == {"subject": "ada", "role": "user"}
    assert [(method, role) for method, _, role in route_roles(app)] == [("GET", "user"), ("DELETE", "admin")]


@pytest.mark.req("S1.3.8", part="aliases without the version")
async def test_an_alias_serves_what_its_path_serves(world: World, client: httpx.AsyncClient) -> None:
    """C-33: with the same parameters, checks and problems."""
    for alias, path in ALIASES.items():
        two = [each.replace("{key}", KEY) for each in (alias, path)]
        listed = [await client.get(f"{each}?limit=0") for each in two]
        posted = [await client.post(each, content=b"[", headers=JSON) for each in two]

        assert listed[0].status_code == listed[1].status_code in {200, 405, 422}
        assert posted[0].status_code == posted[1].status_code in {405, 422}
        for one, other in (listed, posted):
            assert one.status_code == 405 or one.json() == other.json()
            assert one.headers.get("allow") == other.headers.get("allow")


async def test_an_alias_takes_any_text_as_its_parameter(client: httpx.AsyncClient) -> None:
    """Blanks, percent signs and braces reach the route as they were sent."""
    for text in ("a%20b", "%25", "%7Bkey%7D", "%C3%A9"):
        pair = [await client.get(f"{base}/pages/{text}") for base in ("/api", "/api/v1")]
        assert [each.status_code for each in pair] == [422, 422]
        assert pair[0].json() == pair[1].json()


async def test_the_description_names_the_token_and_the_role_of_each_route(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()

    scheme = document["components"]["securitySchemes"]["token"]
    assert (scheme["type"], scheme["scheme"], scheme["bearerFormat"]) == ("http", "bearer", "JWT")
    needed = {
        (method.upper(), path): [
            role for each in operation.get("security", []) for role in each.get("token", ())
        ]
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert {route for route, roles in needed.items() if roles == ["admin"]} == ADMINS_ROUTES
    public = {"/api/v1/health", "/api/v1/stats"}
    assert {path for (_, path), roles in needed.items() if not roles} == {*public, "/api/v1/session"}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert ("401" in operation["responses"]) is (path not in public)
