"""A process in which nothing moves: noticed from within and from outside, diagnosed, ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from strider.echo.settings import EchoSettings
from strider.runtime.observability import log_events
from strider.runtime.process.exit_codes import ExitCode
from strider.runtime.process.health import Dependency
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume
from strider.tally.__main__ import build as build_tally
from strider.tally.settings import TallySettings

from .echo_requests import HangingHandler, send_requests, with_echo
from .in_process_service import a_broker, eventually, run_in_process

BEAT_SECONDS = 0.25
PROGRESS_BEATS = 18
"""Together half as long again as the shortest threshold."""


@pytest.mark.req("S2.1.5", "S2.1.9", "S2.0.1")
async def test_a_stall_is_noticed_diagnosed_and_ends_the_process() -> None:
    """Nothing is mocked: a handler hangs while messages wait, and no pause explains it."""
    broker, hanging, asked = a_broker(), HangingHandler(), []

    async def select_1() -> None:
        asked.append("SELECT 1")

    async def reconnect() -> None:
        asked.append("reconnect")

    def build(process: ServiceContext[EchoSettings]) -> ServiceDefinition:
        dependency = Dependency("postgres", select_1, reconnect=reconnect)
        return replace(hanging.build(process), dependencies=(dependency,))

    environ = {"STALL_THRESHOLD": "3s", "STRIDER_GRACE": "200ms"}
    async with run_in_process(EchoSettings, build, broker, environ) as process:
        await eventually(lambda: process.lines_of(log_events.SERVICE_RUNNING.text))
        await send_requests(broker, *["hello"] * 20)
        code = await process.code()
        metrics = process.start._metrics.render().decode()

    assert code == ExitCode.STALLED
    detected, diagnosed, treated = (
        process.lines_of(event.text)[0]
        for event in (
            log_events.STALL_DETECTED,
            log_events.STALL_DIAGNOSED,
            log_events.STALLED_CONNECTIONS_REOPENED,
        )
    )
    assert detected["lag"] > 0
    assert diagnosed["dependencies"] == {"postgres": "ok", "kafka": "ok"}
    assert any("on_request" in line for line in diagnosed["tasks"])
    assert treated["postgres"] == "reconnected"
    assert "reconnect" in asked
    assert 'strider_stalls_total{kind="stalled"} 1.0' in metrics


async def test_a_blocked_event_loop_is_noticed_from_outside() -> None:
    """The one stall that no coroutine can notice; the shutdown time is not for those who cannot use it."""
    broker = a_broker()
    release = threading.Event()

    async def block() -> None:
        await asyncio.sleep(0.1)
        release.wait(30)
        await asyncio.Event().wait()

    def build(process: ServiceContext[EchoSettings]) -> ServiceDefinition:
        return with_echo(process, background=(block,))

    async with run_in_process(
        EchoSettings, build, broker, {"STALL_THRESHOLD": "3s", "STRIDER_GRACE": "25s"}
    ) as process:
        await process.wait_for_event(log_events.SERVICE_RUNNING.text)
        process.start.running.target._exit_now = lambda code: (process.exits.append(code), release.set())
        timer = threading.Timer(30.0, release.set)
        timer.start()
        code = await asyncio.wait_for(asyncio.shield(process.ended), 30)
        timer.cancel()

    assert process.lines_of(log_events.STALL_DETECTED.text)[0]["kind"] == "blocked"
    assert "block" in str(process.lines_of(log_events.STALL_DIAGNOSED.text)[0]["threads"])
    assert code == ExitCode.STALLED


class SlowThenHanging:
    """Hooks whose take-over gets on for longer than the threshold, and then does not."""

    def __init__(self, beat: Callable[[], None]) -> None:
        self._beat = beat
        self.last_beat = asyncio.Event()

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        for _ in range(PROGRESS_BEATS):
            await asyncio.sleep(BEAT_SECONDS)
            self._beat()
        self.last_beat.set()
        await asyncio.Event().wait()

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        """There is nothing to let go."""


@pytest.mark.req("S2.1.5")
async def test_a_takeover_needs_heartbeats_and_ends_without_them() -> None:
    """A long rebuild is no stall, a hanging one is; neither is ready. No message waits the while."""
    made: list[SlowThenHanging] = []

    def build(process: ServiceContext[TallySettings]) -> ServiceDefinition:
        wiring = build_tally(process)
        made.append(SlowThenHanging(process.heartbeat.beat))
        consumption = consume("tally", *wiring.consumers[0].subscriptions, shards=made[0])
        return replace(wiring, consumers=(consumption,))

    async with run_in_process(TallySettings, build, a_broker(), {"STALL_THRESHOLD": "3s"}) as process:
        await process.wait_for_event(log_events.PARTITIONS_ASSIGNED.text)
        await eventually(made[0].last_beat.is_set)
        while_it_moves = process.lines_of(log_events.STALL_DETECTED.text)
        answer = await process.get("/readyz")
        code = await process.code()

    assert while_it_moves == []
    assert answer.status_code == 503
    assert answer.json()["reasons"] == ["paused: tally: shards: not ready yet: 0, 1, 2, 3"]
    assert (code, process.lines_of(log_events.STALL_DETECTED.text)[0]["lag"]) == (ExitCode.STALLED, 4)
    assert any(
        "on_shards_taken" in line for line in process.lines_of(log_events.STALL_DIAGNOSED.text)[0]["tasks"]
    )
