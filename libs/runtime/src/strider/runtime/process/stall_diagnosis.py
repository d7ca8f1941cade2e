"""Diagnosis of a stall: state of the dependencies, the event loop and the stacks.

Runs partly on the watchdog's thread (an event loop that is blocked cannot diagnose itself), partly on the
loop. Changes nothing but connections, and those only in `reconnect_dependencies`.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Coroutine, Iterable, Iterator
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Final, TypeVar

from strider.messaging.errors import Unavailable

from .readiness import PROBE_TIMEOUT_SECONDS, Dependency, probe_dependency

T = TypeVar("T")

MAX_STACKS: Final = 40
"""Stacks in one report: a stalled process may have thousands of tasks that all wait for the same."""
STACK_FRAMES: Final = 6
MAX_WAIT_DEPTH: Final = 12
LOOP_TIMEOUT_SECONDS: Final = 2 * PROBE_TIMEOUT_SECONDS
"""How long the loop may take for one step of a diagnosis before it counts as blocked."""


def run_on_loop(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], *, timeout_seconds: float
) -> T | None:
    """Run a coroutine on the loop from another thread; None where the loop does not respond in time."""
    try:
        future = asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError:  # the loop is closed already
        work.close()
        return None
    try:
        return future.result(timeout_seconds)
    except FutureTimeoutError:
        future.cancel()
        return None


async def check_dependencies(dependencies: Iterable[Dependency]) -> dict[str, str]:
    """Probe every dependency at once; return `ok` or what is wrong, by name."""
    asked = tuple(dependencies)
    answers = await asyncio.gather(*(probe_dependency(dependency) for dependency in asked))
    return {dependency.name: answer or "ok" for dependency, answer in zip(asked, answers, strict=True)}


async def reconnect_dependencies(dependencies: Iterable[Dependency]) -> dict[str, str]:
    """Reconnect every dependency that can; return the result, by name."""
    results: dict[str, str] = {}
    for dependency in dependencies:
        if dependency.reconnect is None:
            continue
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
                await dependency.reconnect()
            results[dependency.name] = "reconnected"
        except Unavailable as error:
            results[dependency.name] = error.detail
        except TimeoutError:
            results[dependency.name] = f"no connection within {PROBE_TIMEOUT_SECONDS:g} s"
    return results


def thread_stacks() -> dict[str, list[str]]:
    """Return the stack of every thread; the event loop's own thread shows what blocks it."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return {
        names.get(ident, str(ident)): _stack_lines(traceback.extract_stack(frame))
        for ident, frame in sys._current_frames().items()  # noqa: SLF001  # the one way to see other threads
        if ident != threading.get_ident()
    }


def task_stacks(loop: asyncio.AbstractEventLoop) -> list[str]:
    """Return where the tasks of the loop wait, equal ones counted together, most frequent first."""
    try:
        tasks = asyncio.all_tasks(loop)
    except RuntimeError:  # the set changed during the call: the loop does run
        return ["tasks come and go too fast to be listed"]
    counts: dict[str, int] = {}
    for task in tasks:
        key = " > ".join(_await_chain(task.get_coro())) or task.get_name()
        counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: -item[1])[:MAX_STACKS]
    return [f"{count} x {key}" for key, count in ordered]


def _await_chain(awaited: Any) -> Iterator[str]:
    """Follow a coroutine to what it awaits: a task's own stack shows only its outermost frame."""
    for _ in range(MAX_WAIT_DEPTH):
        frame = getattr(awaited, "cr_frame", None)
        if frame is None:
            return
        code = frame.f_code
        yield f"{code.co_qualname} {_short_path(code.co_filename)}:{frame.f_lineno}"
        awaited = awaited.cr_await


def _stack_lines(stack: traceback.StackSummary) -> list[str]:
    return [f"{_short_path(frame.filename)}:{frame.lineno} {frame.name}" for frame in stack[-STACK_FRAMES:]]


def _short_path(path: str) -> str:
    return "/".join(path.rsplit("/", 2)[-2:])
