"""Probes: alive, ready or not and why, and the metrics. The socket is an integration test's matter."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from strider.messaging.errors import Unavailable
from strider.messaging.inprocess.virtual_clock import EventLoopClock, simulate
from strider.runtime.process.health import (
    RUNNING,
    STOPPING,
    BadHealthRequest,
    Dependency,
    HealthResponse,
    HealthServer,
    Readiness,
    probe_dependency,
    read_request,
    render_response,
)


class StillClock(EventLoopClock):
    """A clock for tests that do not wait."""

    def monotonic(self) -> float:
        return 100.0


def a_server(readiness: Readiness) -> HealthServer:
    return HealthServer(
        service="echo", readiness=readiness, metrics=lambda: b"up 1\n", details=lambda: {"heartbeat": {}}
    )


async def ready_answer(readiness: Readiness) -> tuple[int, dict[str, Any]]:
    answer = a_server(readiness).respond("GET", "/readyz")
    return answer.status, json.loads(answer.body)


async def test_a_process_is_not_ready_before_it_runs_and_reports_what_it_waits_for() -> None:
    readiness = Readiness(StillClock())
    readiness.step = "waiting for kafka"
    readiness.register("kafka")

    status, answer = await ready_answer(readiness)

    assert status == 503
    assert answer == {
        "service": "echo",
        "ready": False,
        "phase": "starting",
        "reasons": ["starting: waiting for kafka", "kafka: not probed yet"],
        "dependencies": {"kafka": {"ok": False, "why": "not probed yet", "for_seconds": 0.0}},
        "pauses": [],
        "heartbeat": {},
    }


async def test_a_dependency_that_is_not_vital_does_not_affect_readiness() -> None:
    """It is shown for information; nothing here needs it."""
    readiness = Readiness(StillClock())
    readiness.register("redis", is_vital=False)
    readiness.record("redis", ok=False, detail="connection refused")
    readiness.phase = RUNNING

    status, answer = await ready_answer(readiness)

    assert (status, answer["reasons"]) == (200, [])
    assert answer["dependencies"] == {"redis": {"ok": False, "why": "connection refused", "for_seconds": 0.0}}


async def test_a_process_that_runs_with_all_it_needs_is_ready() -> None:
    readiness = Readiness(StillClock())
    readiness.record("kafka", ok=True)
    readiness.phase = RUNNING

    status, answer = await ready_answer(readiness)

    assert (status, answer["ready"], answer["reasons"]) == (200, True, [])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param("dependency", "redis: connection refused", id="dependency-down"),
        pytest.param("pause", "paused: flood of bad messages", id="stated-pause"),
        pytest.param("stopping", "stopping", id="stopping"),
    ],
)
async def test_whatever_keeps_it_from_working_turns_it_red(change: str, reason: str) -> None:
    readiness = Readiness(StillClock())
    readiness.phase = RUNNING
    if change == "dependency":
        readiness.record("redis", ok=False, detail="connection refused")
    elif change == "pause":
        readiness.watch_pauses(lambda: ["flood of bad messages", "flood of bad messages"])
    else:
        readiness.phase = STOPPING

    status, answer = await ready_answer(readiness)

    assert (status, answer["reasons"]) == (503, [reason])


async def test_a_pause_that_excuses_nothing_is_not_ready_all_the_same() -> None:
    """The watchdog must not be put off by it; readiness must."""
    readiness = Readiness(StillClock())
    readiness.phase = RUNNING
    readiness.watch_pauses(lambda: ["shards: not ready yet", "redis: gone"], exempt=lambda: ["redis: gone"])
    readiness.watch_pauses(lambda: ["a release that waits"])

    status, answer = await ready_answer(readiness)

    assert (status, answer["pauses"]) == (
        503,
        ["shards: not ready yet", "redis: gone", "a release that waits"],
    )
    assert readiness.exempt_reasons() == ["paused: redis: gone", "paused: a release that waits"]


async def test_livez_responds_even_while_nothing_is_ready() -> None:
    """A process that waits for its broker must not be restarted for it."""
    server = a_server(Readiness(StillClock()))

    answer = server.respond("GET", "/livez")

    assert (answer.status, answer.body) == (200, b"alive\n")


@pytest.mark.req("S1.2.28")
async def test_metrics_have_their_own_content_type() -> None:
    answer = a_server(Readiness(StillClock())).respond("GET", "/metrics")

    assert answer.body == b"up 1\n"
    assert answer.content_type.startswith("text/plain; version=0.0.4")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/", 404, id="other-path"),
        pytest.param("POST", "/livez", 405, id="other-method"),
        pytest.param("HEAD", "/livez", 200, id="head"),
    ],
)
def test_unknown_paths_and_methods_are_refused(method: str, path: str, status: int) -> None:
    assert a_server(Readiness(StillClock())).respond(method, path).status == status


def test_a_report_that_fails_returns_its_reason() -> None:
    """A probe that is cut off gives no reason."""

    def broken() -> bytes:
        raise RuntimeError("no counters")

    server = HealthServer(service="echo", readiness=Readiness(StillClock()), metrics=broken)

    assert server.respond("GET", "/metrics").status == 500
    assert b"no counters" in server.respond("GET", "/metrics").body


async def question(sent: bytes) -> tuple[str, str]:
    reader = asyncio.StreamReader()
    reader.feed_data(sent)
    reader.feed_eof()
    return await read_request(reader)


async def test_a_question_is_its_first_line_without_its_query() -> None:
    asked = await question(b"GET /metrics?name[]=up HTTP/1.1\r\nHost: a\r\n\r\n")

    assert asked == ("GET", "/metrics")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"hello\r\n\r\n", 400, id="no-http"),
        pytest.param(b"GET / HTTP/2\r\n\r\n", 400, id="other-version"),
        pytest.param(b"GET / HTTP/1.1\r\nA: " + b"a" * 40_000, 431, id="endless-head"),
    ],
)
async def test_a_malformed_request_is_refused(sent: bytes, status: int) -> None:
    with pytest.raises(BadHealthRequest) as refused:
        await question(sent)

    assert refused.value.status == status


async def test_a_connection_closed_before_its_request_is_ignored() -> None:
    with pytest.raises(ConnectionError):
        await question(b"GET /livez HT")


def test_a_response_ends_its_connection_and_a_head_has_no_body() -> None:
    answer = HealthResponse(503, "text/plain", b"no\n", (("Allow", "GET"),))
    head = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n"
    rest = b"Allow: GET\r\nConnection: close\r\n\r\n"

    assert render_response(answer, has_body=True) == head + rest + b"no\n"
    assert render_response(answer, has_body=False) == head + rest


def test_a_change_is_news_once_and_its_time_is_kept() -> None:
    async def scenario() -> tuple[list[bool], float]:
        readiness = Readiness(EventLoopClock())
        news = [readiness.record("kafka", ok=False, detail="gone")]
        await asyncio.sleep(30)
        news.append(readiness.record("kafka", ok=False, detail="still gone"))
        seconds = readiness.report()["dependencies"]["kafka"]["for_seconds"]
        news.append(readiness.record("kafka", ok=True))
        return news, seconds

    assert simulate(scenario()) == ([True, False, True], 30.0)


def test_a_dependency_that_hangs_counts_as_unavailable() -> None:
    async def silent() -> None:
        await asyncio.sleep(3600)

    async def refusing() -> None:
        raise Unavailable("redis", "connection refused")

    async def fine() -> None:
        return

    async def scenario() -> list[str]:
        return [await probe_dependency(Dependency("redis", ping)) for ping in (silent, refusing, fine)]

    assert simulate(scenario()) == ["no response within 5 s", "connection refused", ""]
