"""A process in which nothing moves: noticed from within and from outside, diagnosed, ended."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from strider.echo.settings import EchoSettings
from strider.runtime import service_patient, watchdog_diagnosis
from strider.runtime.exits import ExitCode
from strider.runtime.readiness import Dependency
from strider.runtime.service import Process, Wiring

from .asking import Hanging, ask, with_echo
from .living import a_broker, eventually, living


@pytest.mark.req("S2.1.5", "S2.1.9", "S2.1.10")
async def test_a_stall_is_noticed_diagnosed_and_ends_the_process() -> None:
    """Nothing is mocked: a handler hangs while messages wait, and nobody has said why."""
    broker, hanging, asked = a_broker(), Hanging(), []

    async def select_1() -> None:
        asked.append("SELECT 1")

    async def reconnect() -> None:
        asked.append("reconnect")

    def build(process: Process[EchoSettings]) -> Wiring:
        dependency = Dependency("postgres", select_1, reconnect=reconnect)
        return replace(hanging.build(process), dependencies=(dependency,))

    environ = {"STALL_THRESHOLD": "1500ms", "STRIDER_GRACE": "200ms"}
    async with living(EchoSettings, build, broker, environ) as process:
        await eventually(lambda: process.said("Running"))
        await ask(broker, *["hello"] * 20)
        code = await process.code()
        metrics = process.start._metrics.render().decode()

    assert code == ExitCode.STALLED
    detected, diagnosed, treated = (
        process.said(f"Stall {what}")[0] for what in ("Detected", "Diagnosed", "Treated")
    )
    assert detected["lag"] > 0
    assert diagnosed["dependencies"] == {"postgres": "ok", "kafka": "ok"}
    assert any("on_request" in line for line in diagnosed["tasks"])
    assert treated["postgres"] == "reconnected"
    assert "reconnect" in asked
    assert 'strider_stalls_total{kind="stalled"} 1.0' in metrics


async def test_a_blocked_event_loop_is_noticed_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one stall that no coroutine can notice."""
    monkeypatch.setattr(watchdog_diagnosis, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(service_patient, "LAST_WORDS_SECONDS", 0.2)
    broker = a_broker()
    release = threading.Event()

    async def block() -> None:
        await asyncio.sleep(0.1)
        release.wait(30)
        await asyncio.Event().wait()

    def build(process: Process[EchoSettings]) -> Wiring:
        return with_echo(process, background=(block,))

    async with living(
        EchoSettings, build, broker, {"STALL_THRESHOLD": "1s", "STRIDER_GRACE": "0"}
    ) as process:
        await process.until_said("Running")
        process.start.running.vitals._exit_now = lambda code: (process.exits.append(code), release.set())
        timer = threading.Timer(30.0, release.set)
        timer.start()
        code = await asyncio.wait_for(asyncio.shield(process.ended), 30)
        timer.cancel()

    assert process.said("Stall Detected")[0]["kind"] == "blocked"
    assert "block" in str(process.said("Stall Diagnosed")[0]["threads"])
    assert code == ExitCode.STALLED
