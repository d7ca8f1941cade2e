"""Probes: alive, ready or not and why, and the metrics. The socket is an integration test's matter."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from strider.runtime.errors import Unavailable
from strider.runtime.health import HealthServer
from strider.runtime.inprocess.virtualtime import LoopClock, simulate
from strider.runtime.readiness import RUNNING, STOPPING, Dependency, Readiness, probe


class StillClock(LoopClock):
    """A clock for tests that do not wait."""

    def monotonic(self) -> float:
        return 100.0


def a_server(readiness: Readiness) -> HealthServer:
    return HealthServer(
        service="echo", readiness=readiness, metrics=lambda: b"up 1\n", details=lambda: {"heartbeat": {}}
    )


async def ready_answer(readiness: Readiness) -> tuple[int, dict[str, Any]]:
    response = await a_server(readiness).readyz(make_mocked_request("GET", "/readyz"))
    assert response.text is not None
    return response.status, json.loads(response.text)


async def test_a_process_is_not_ready_before_it_runs_and_says_what_it_waits_for() -> None:
    readiness = Readiness(StillClock())
    readiness.step = "waiting for kafka"
    readiness.expect("kafka")

    status, answer = await ready_answer(readiness)

    assert status == 503
    assert answer == {
        "service": "echo",
        "ready": False,
        "phase": "starting",
        "reasons": ["starting: waiting for kafka", "kafka: not asked yet"],
        "dependencies": {"kafka": {"ok": False, "why": "not asked yet", "for_seconds": 0.0}},
        "pauses": [],
        "heartbeat": {},
    }


async def test_what_is_only_shown_makes_nobody_unready() -> None:
    """Whoever asks how the crawler is wants to know of it; nothing here needs it."""
    readiness = Readiness(StillClock())
    readiness.expect("redis", is_vital=False)
    readiness.record("redis", ok=False, why="connection refused")
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
        readiness.record("redis", ok=False, why="connection refused")
    elif change == "pause":
        readiness.watch_pauses(lambda: ["flood of bad messages", "flood of bad messages"])
    else:
        readiness.phase = STOPPING

    status, answer = await ready_answer(readiness)

    assert (status, answer["reasons"]) == (503, [reason])


async def test_a_pause_that_excuses_nothing_is_not_ready_all_the_same() -> None:
    """Whoever looks for stalls must not be put off by it; whoever asks for readiness must."""
    readiness = Readiness(StillClock())
    readiness.phase = RUNNING
    readiness.watch_pauses(lambda: ["shards: not ready yet", "redis: gone"], excusing=lambda: ["redis: gone"])
    readiness.watch_pauses(lambda: ["a release that waits"])

    status, answer = await ready_answer(readiness)

    assert (status, answer["pauses"]) == (
        503,
        ["shards: not ready yet", "redis: gone", "a release that waits"],
    )
    assert readiness.excuses() == ["paused: redis: gone", "paused: a release that waits"]


async def test_alive_is_said_even_while_nothing_is_ready() -> None:
    """A process that waits for its broker must not be restarted for it."""
    server = a_server(Readiness(StillClock()))

    response = await server.livez(make_mocked_request("GET", "/livez"))

    assert (response.status, response.text) == (200, "alive\n")


@pytest.mark.req("S1.2.28")
async def test_metrics_are_answered_in_their_own_type() -> None:
    response = await a_server(Readiness(StillClock())).metrics(make_mocked_request("GET", "/metrics"))

    assert response.body == b"up 1\n"
    assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")


def test_a_change_is_news_once_and_its_time_is_kept() -> None:
    async def scenario() -> tuple[list[bool], float]:
        readiness = Readiness(LoopClock())
        news = [readiness.record("kafka", ok=False, why="gone")]
        await asyncio.sleep(30)
        news.append(readiness.record("kafka", ok=False, why="still gone"))
        seconds = readiness.report()["dependencies"]["kafka"]["for_seconds"]
        news.append(readiness.record("kafka", ok=True))
        return news, seconds

    assert simulate(scenario()) == ([True, False, True], 30.0)


def test_a_dependency_that_hangs_is_one_that_does_not_answer() -> None:
    async def silent() -> None:
        await asyncio.sleep(3600)

    async def refusing() -> None:
        raise Unavailable("redis", "connection refused")

    async def fine() -> None:
        return

    async def scenario() -> list[str]:
        return [await probe(Dependency("redis", ping)) for ping in (silent, refusing, fine)]

    assert simulate(scenario()) == ["no answer within 5 s", "connection refused", ""]
