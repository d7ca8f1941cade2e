"""Following a log: where it continues, how long it waits, and with which token."""

from __future__ import annotations

import json

import httpx
import pytest

from strider.client.errors import ApiUnreachable, AuthenticationProblem
from strider.client.logs import LogsApi
from strider.client.requests import ApiRequests, ClientOptions
from strider.client.retries import STREAM_RETRY

from .test_requests import DONE, NoChance, Server, problem


def stream(*events: tuple[str, int]) -> httpx.Response:
    """Return a stream: each event with its name and the number of its line."""
    parts = ["retry: 3000\n\n"]
    for name, number in events:
        data = {"execution_id": "j1-1", "number": number} if name == "log" else {"reason": "r"}
        parts.append(f"id: {number}-0\nevent: {name}\ndata: {json.dumps(data)}\n\n")
    return httpx.Response(200, content="".join(parts), headers={"Content-Type": "text/event-stream"})


def numbers(api: ApiRequests) -> list[int]:
    return [line["number"] for line in LogsApi(api).follow("j1")]


def renewing(server: Server, *tokens: str) -> ApiRequests:
    rest = iter(tokens[1:])
    return ApiRequests(
        ClientOptions(
            "http://api.test:8060",
            tokens[0],
            renew=lambda: next(rest),
            transport=httpx.MockTransport(server),
            sleep=server.waits.append,
            chance=NoChance(),
        )
    )


class NotingServer(Server):
    """Notes the token of each request: one that is sent again is the same object."""

    def __init__(self, *replies: httpx.Response) -> None:
        super().__init__(*replies)
        self.tokens: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.tokens.append(request.headers["authorization"].removeprefix("Bearer "))
        return super().__call__(request)


def test_a_stream_continues_behind_its_last_line() -> None:
    """After a loss, after an end without a word, and after the server's request to come back."""
    server = Server(
        stream(("log", 1), ("closing", 0)),
        httpx.ReadError("reset"),
        stream(("log", 2)),
        problem(503),
        stream(("log", 3), ("end", 3)),
    )

    assert numbers(server.client()) == [1, 2, 3]

    asked = [request.headers.get("last-event-id") for request in server.requests]
    assert asked == [None, "1-0", "1-0", "2-0", "2-0"]
    assert {request.url.params.get("run") for request in server.requests[1:]} == {"j1-1"}
    assert len(server.waits) == 4
    assert min(server.waits) >= STREAM_RETRY.first_seconds


def test_streams_that_end_at_once_are_opened_less_and_less_often() -> None:
    """Also one that has no lines for hours: it responds, so that the client does not give up."""
    server = Server(*[stream(("closing", 0))] * 20, *[stream()] * 20, stream(("log", 1), ("end", 1)))

    assert numbers(server.client()) == [1]

    assert server.waits[:6] == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert sum(server.waits) > 200


def test_an_api_that_starts_again_has_a_minute() -> None:
    away = Server(*[httpx.ConnectError("refused")] * 30)

    with pytest.raises(ApiUnreachable):
        numbers(away.client())

    assert sum(away.waits) > 60
    assert len(away.waits) == STREAM_RETRY.retries


def test_a_token_that_has_expired_is_renewed_and_no_line_lost() -> None:
    server = NotingServer(
        stream(("log", 1), ("closing", 0)), problem(401), stream(("log", 2), ("end", 2)), problem(401), DONE
    )
    api = renewing(server, "first", "second", "third")

    assert numbers(api) == [1, 2]
    api.post("/api/v1/jobs/j1/pause")

    assert server.tokens == ["first", "first", "second", "second", "third"]
    assert server.requests[2].headers["last-event-id"] == "1-0"
    assert server.requests[3].headers["idempotency-key"] == server.requests[4].headers["idempotency-key"]


def test_a_renewed_token_that_is_refused_too_is_the_end() -> None:
    server = Server(problem(401), problem(401))

    with pytest.raises(AuthenticationProblem):
        numbers(renewing(server, "first", "second"))


def test_a_token_that_was_given_is_not_replaced() -> None:
    server = Server(problem(401))

    with pytest.raises(AuthenticationProblem):
        numbers(server.client("given"))
