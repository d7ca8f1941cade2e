"""Diagnosis of a process in which nothing moves."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from strider.messaging.errors import Unavailable
from strider.runtime.process.readiness import Dependency
from strider.runtime.process.stall_diagnosis import (
    check_dependencies,
    reconnect_dependencies,
    run_on_loop,
    task_stacks,
    thread_stacks,
)


async def fine() -> None:
    return


async def refused() -> None:
    raise Unavailable("postgres", "connection refused")


@pytest.mark.req("S2.1.9")
async def test_every_dependency_is_probed_in_its_own_way() -> None:
    asked: list[str] = []

    async def select_1() -> None:
        asked.append("SELECT 1")

    answers = await check_dependencies([Dependency("postgres", select_1), Dependency("redis", refused)])

    assert answers == {"postgres": "ok", "redis": "connection refused"}
    assert asked == ["SELECT 1"]


async def test_what_can_be_reconnected_is() -> None:
    results = await reconnect_dependencies(
        [
            Dependency("kafka", fine),
            Dependency("postgres", fine, reconnect=refused),
            Dependency("redis", fine, reconnect=fine),
        ]
    )

    assert results == {"postgres": "connection refused", "redis": "reconnected"}


async def test_stacks_show_where_tasks_wait() -> None:
    async def waiting_for_godot() -> None:
        await asyncio.Event().wait()

    tasks = [asyncio.create_task(waiting_for_godot()) for _ in range(3)]
    await asyncio.sleep(0)

    stacks = task_stacks(asyncio.get_running_loop())

    for task in tasks:
        task.cancel()
    (waiting,) = (line for line in stacks if "waiting_for_godot" in line)
    assert waiting.startswith("3 x ")
    assert "Event.wait" in waiting


def test_stacks_show_what_another_thread_does() -> None:
    release, entered = threading.Event(), threading.Event()

    def stands_here() -> None:
        entered.set()
        release.wait(10)

    thread = threading.Thread(target=stands_here, name="stander")
    thread.start()
    entered.wait(10)
    stacks = thread_stacks()
    release.set()
    thread.join()

    assert any("stands_here" in line for line in stacks["stander"])


def test_a_loop_runs_work_of_another_thread() -> None:
    """And one that is blocked does not, which is noticed within the time set for it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    release = threading.Event()

    answered = run_on_loop(loop, check_dependencies([Dependency("redis", fine)]), timeout_seconds=10)
    loop.call_soon_threadsafe(release.wait, 10)
    began = time.monotonic()
    unanswered = run_on_loop(loop, check_dependencies([Dependency("redis", fine)]), timeout_seconds=0.2)
    took = time.monotonic() - began
    release.set()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

    assert answered == {"redis": "ok"}
    assert unanswered is None
    assert took < 5
    assert run_on_loop(loop, check_dependencies([]), timeout_seconds=10) is None
