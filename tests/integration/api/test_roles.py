"""Roles of all routes that the API describes, asked for with each token at a running process."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from strider.runtime.access_tokens import Role
from strider.testing.callers import bearer

from .test_service import Start, client_of, start, topics, url_of

__all__ = ["start", "topics"]

PUBLIC = {("GET", "/api/v1/health"), ("GET", "/api/v1/stats")}
REFUSED = {401, 403}
SESSION = "/api/v1/session"
"""Every caller ends a session of his own."""


def routes(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield method and path of every route, with a name that nothing has for each parameter."""
    for path, operations in document["paths"].items():
        for method in operations:
            if method.upper() in {"GET", "POST", "PUT", "PATCH", "DELETE"}:
                yield method.upper(), re.sub(r"\{[^}]+\}", "none-has-this-name", path)


def needs_admin(method: str, path: str) -> bool:
    """Whether the seed gives a route to admins: S3.17.13, and what else changes all jobs."""
    relative = re.sub(r"^/api(?=/)", "", re.sub(r"^/api/v\d", "/api", path))
    is_posted = method == "POST" and relative.startswith(("/frontier", "/admin/"))
    if path == SESSION:
        return False
    return is_posted or method == "DELETE" or relative == "/scheduler/rebalance"


async def statuses(client: httpx.AsyncClient, asked: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the status of each request, without waiting for the end of a stream."""

    async def status(method: str, path: str) -> int:
        body = b"{}" if method in {"POST", "PUT", "PATCH"} else None
        headers = {"Content-Type": "application/json"} if body else {}
        async with client.stream(method, path, content=body, headers=headers) as response:
            return response.status_code

    return {route: await status(*route) for route in asked}


@pytest.mark.req("S3.17.12", "S3.17.13")
@pytest.mark.req("S3.17.19", part="tokens; no sessions")
async def test_every_route_needs_its_role(topics: str, start: Start, database: str, redis_url: str) -> None:
    """No token: 401. A user may read everything, and an admin do everything: else 403."""
    process = start(topics, database, REDIS_URL=redis_url)
    await asyncio.to_thread(process.wait_for_event, "Service running")
    url = await url_of(process)
    async with client_of(url, {}) as client:
        every = sorted(routes((await client.get("/openapi.json")).json()))
        nobodys = await statuses(client, every)
    async with client_of(url, bearer(Role.USER)) as client:
        users = await statuses(client, [*every, ("GET", "/api/pages"), ("POST", "/api/frontier/recover")])
    async with client_of(url, bearer(Role.ADMIN)) as client:
        admins = await statuses(client, every)

    assert len(every) > 40
    assert {route for route, status in nobodys.items() if status != 401} == PUBLIC
    forbidden = {route for route, status in users.items() if status == 403}
    assert forbidden == {route for route in users if needs_admin(*route)}
    assert {method for method, _ in users} == {"GET", "POST", "PUT", "PATCH", "DELETE"}
    assert not {route for route, status in users.items() if status == 401}
    assert not REFUSED & set(admins.values())
    assert await asyncio.to_thread(process.stop) == 0
