"""Requests of the client: what is sent, what is sent again, and what a response becomes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from strider.client.errors import (
    ApiProblem,
    ApiUnreachable,
    AuthenticationProblem,
    ClientError,
    ConflictProblem,
    NotFoundProblem,
    PermissionProblem,
    RequestProblem,
    ServerProblem,
    TransitionProblem,
    UnexpectedResponse,
    VersionProblem,
)
from strider.client.pagination import PAGE_ITEMS, iterate
from strider.client.requests import ApiRequests, ClientOptions
from strider.client.retries import CLIENT_RETRY

Reply = httpx.Response | Exception


class Server:
    """Responds with the given replies, one after the other, and keeps the requests."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def client(self, token: str = "") -> ApiRequests:
        return ApiRequests(
            ClientOptions(
                "http://api.test:8060",
                token,
                transport=httpx.MockTransport(self),
                sleep=self.waits.append,
                chance=NoChance(),
            )
        )


class NoChance:
    def uniform(self, low: float, high: float) -> float:
        return low


def problem(status: int, detail: str = "it cannot be", **members: Any) -> httpx.Response:
    headers = {"Content-Type": "application/problem+json", **members.pop("headers", {})}
    document = {"type": "about:blank", "title": "T", "status": status, "detail": detail, **members}
    return httpx.Response(status, content=json.dumps(document), headers=headers)


DONE = httpx.Response(200, json={"id": "j1"}, headers={"ETag": '"3"'})


def test_a_request_carries_the_token_and_leaves_out_what_is_not_given() -> None:
    server = Server(DONE)

    response = server.client("s3cret").get("/api/v1/jobs", {"status": "failed", "cursor": None})

    (request,) = server.requests
    assert str(request.url) == "http://api.test:8060/api/v1/jobs?status=failed"
    assert request.headers["Authorization"] == "Bearer s3cret"
    assert (response.document, response.etag) == ({"id": "j1"}, '"3"')


def test_the_token_is_not_part_of_a_representation() -> None:
    assert "s3cret" not in repr(ClientOptions("http://api.test", "s3cret"))


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_server_that_is_away_is_tried_again_with_growing_waits(status: int) -> None:
    server = Server(httpx.Response(status), httpx.ReadTimeout("slow"), problem(status), DONE)

    assert server.client().get("/x").document == {"id": "j1"}
    assert server.waits == [0.5, 1, 2]


def test_the_wait_is_at_least_that_of_the_response() -> None:
    server = Server(httpx.Response(503, headers={"Retry-After": "5"}), DONE)

    server.client().get("/x")

    assert server.waits == [5]


def test_an_hour_of_retry_after_is_not_waited_for() -> None:
    server = Server(httpx.Response(503, headers={"Retry-After": "3600"}))

    with pytest.raises(ApiUnreachable):
        server.client().get("/x")

    assert server.waits == []


def test_retries_end_with_the_reason_of_the_last_attempt() -> None:
    attempts = 1 + int(CLIENT_RETRY.retries)
    server = Server(*(problem(503, "postgres does not respond now") for _ in range(attempts)))

    with pytest.raises(ApiUnreachable) as failure:
        server.client().get("/x")

    assert str(failure.value) == (
        "the API at http://api.test:8060 does not answer: postgres does not respond now, "
        f"tried {attempts} times"
    )
    assert len(server.requests) == attempts


def test_a_post_is_sent_again_under_one_key_of_its_own() -> None:
    """The server does it once, however often the request arrives."""
    server = Server(httpx.ReadError("reset"), httpx.Response(504), DONE, DONE)
    client = server.client()

    client.post("/api/v1/jobs", {"url": "https://a.test/"})
    client.post("/api/v1/jobs", {"url": "https://a.test/"})

    keys = [request.headers["Idempotency-Key"] for request in server.requests]
    assert len(set(keys[:3])) == 1
    assert keys[3] != keys[0]
    assert [request.content for request in server.requests[:3]] == [server.requests[0].content] * 3


def test_a_post_whose_first_attempt_is_in_progress_is_sent_again_later() -> None:
    """The API refuses the second one as long as it carries out the first."""
    busy = problem(409, "the request with this key is in progress", headers={"Retry-After": "1"})
    server = Server(httpx.ReadTimeout("slow"), busy, DONE)

    assert server.client().post("/api/v1/jobs", {}).document == {"id": "j1"}
    assert server.waits == [0.5, 1]


def test_a_conditional_change_is_not_repeated_once_it_may_have_arrived() -> None:
    """The first one may have succeeded: the second would then be refused as stale."""
    server = Server(httpx.ReadError("reset"))

    with pytest.raises(ApiUnreachable):
        server.client().put("/x", {"url": "https://a.test/"}, etag='"3"')

    assert len(server.requests) == 1


def test_a_conditional_change_that_was_never_sent_is_repeated() -> None:
    server = Server(httpx.ConnectError("refused"), DONE)

    server.client().put("/x", {}, etag='"3"')

    assert [request.headers["If-Match"] for request in server.requests] == ['"3"', '"3"']


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, AuthenticationProblem),
        (403, PermissionProblem),
        (404, NotFoundProblem),
        (409, ConflictProblem),
        (412, VersionProblem),
        (413, RequestProblem),
        (415, RequestProblem),
        (422, RequestProblem),
        (500, ServerProblem),
    ],
)
def test_a_problem_document_becomes_its_exception(status: int, kind: type[ApiProblem]) -> None:
    server = Server(problem(status, "interval_minutes: it is 0"))

    with pytest.raises(kind, match="interval_minutes: it is 0") as failure:
        server.client().get("/x")

    assert (failure.value.status, len(server.requests)) == (status, 1)


def test_the_refused_fields_are_named() -> None:
    errors = [{"field": "interval_minutes", "detail": "it is 0"}, {"field": "colour", "detail": "unknown"}]

    with pytest.raises(RequestProblem) as failure:
        Server(problem(422, errors=errors)).client().post("/x", {})

    assert [(fault.field, fault.detail) for fault in failure.value.faults] == [
        ("interval_minutes", "it is 0"),
        ("colour", "unknown"),
    ]


def test_a_refused_transition_has_the_state_and_what_it_permits() -> None:
    with pytest.raises(TransitionProblem) as failure:
        Server(problem(409, state="paused", allowed=["resume", "cancel"])).client().post("/x")

    assert (failure.value.state, failure.value.allowed) == ("paused", ("resume", "cancel"))


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(httpx.Response(200, text="<html>"), id="a-web-page"),
        pytest.param(httpx.Response(200, json=[1]), id="a-list"),
        pytest.param(httpx.Response(404, text="no"), id="an-error-page"),
        pytest.param(httpx.Response(302, headers={"Location": "/login"}), id="a-login"),
        pytest.param(
            httpx.Response(422, content=b"{", headers={"Content-Type": "application/problem+json"}),
            id="a-cut-document",
        ),
    ],
)
def test_another_server_is_recognised(reply: httpx.Response) -> None:
    with pytest.raises(UnexpectedResponse, match=r"http://api.test:8060 responds with .* API of Strider\?"):
        Server(reply).client().get("/x")


@pytest.mark.parametrize("url", ["", "localhost:8060", "ftp://a.test", "http://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ClientError, match="URL"):
        ApiRequests(ClientOptions(url))


@pytest.fixture
def pages() -> Callable[[httpx.Request], httpx.Response]:
    """Serve the numbers 0 to 449, by pages."""

    def serve(request: httpx.Request) -> httpx.Response:
        first = int(request.url.params.get("cursor", "0"))
        items = list(range(first, min(450, first + int(request.url.params["limit"]))))
        following = first + len(items)
        return httpx.Response(200, json={"items": items, "next": str(following) if following < 450 else None})

    return serve


def numbers(serve: Callable[[httpx.Request], httpx.Response], limit: int | None = None) -> Iterator[int]:
    client = ApiRequests(ClientOptions("http://api.test", transport=httpx.MockTransport(serve)))
    return iterate(client, "/numbers", {}, read=int, limit=limit)


def test_a_list_is_read_to_its_end(pages: Callable[[httpx.Request], httpx.Response]) -> None:
    assert list(numbers(pages)) == list(range(450))


@pytest.mark.parametrize("limit", [0, 1, PAGE_ITEMS, PAGE_ITEMS + 1])
def test_a_list_ends_at_its_limit(pages: Callable[[httpx.Request], httpx.Response], limit: int) -> None:
    assert list(numbers(pages, limit)) == list(range(limit))


def test_a_cursor_that_repeats_itself_is_not_followed_for_ever() -> None:
    def serve(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"items": [1], "next": "same"})

    with pytest.raises(UnexpectedResponse, match="same cursor twice"):
        list(numbers(serve))
