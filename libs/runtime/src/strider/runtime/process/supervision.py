"""Supervision of tasks, and closing of what was opened.

A task that ends while the process runs is a fault, with or without an exception; `on_fault` decides what
happens to the process. What was opened is closed in reverse order, each within its own time, because one that
hangs must not keep the others open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger

CLOSE_TIMEOUT_SECONDS: Final = 5.0
"""How long one close may take; what hangs then is left to the system."""
_log = logger("service")


class TaskSupervisor:
    """The tasks of a process."""

    def __init__(self, on_fault: Callable[[BaseException | None], None]) -> None:
        self._on_fault = on_fault
        self._tasks: dict[asyncio.Task[Any], bool] = {}
        self._may_end = False

    def start(self, name: str, work: Coroutine[Any, Any, Any], *, is_consumer: bool = False) -> None:
        """Run a coroutine beside the rest until the process ends."""
        task = asyncio.create_task(work, name=name)
        self._tasks[task] = is_consumer
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.emit(log_events.TASK_DIED, task=task.get_name(), exc_info=error)
            self._on_fault(error)
        elif not self._may_end:
            _log.emit(log_events.TASK_DIED, task=task.get_name(), why="it ended without being cancelled")
            self._on_fault(None)

    def allow_task_end(self) -> None:
        """Allow tasks to end from now on."""
        self._may_end = True

    async def wait_for_consumers(self, seconds: float) -> bool:
        """Wait until every consumer has finished its messages in flight; False at the timeout."""
        consumers = [task for task, is_consumer in self._tasks.items() if is_consumer]
        if not consumers:
            return True
        _, unfinished = await asyncio.wait(consumers, timeout=seconds)
        return not unfinished

    async def cancel_all(self, seconds: float) -> None:
        """Cancel the remaining tasks, and wait a little for them to end."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            _, stubborn = await asyncio.wait(self._tasks, timeout=seconds)
            for task in stubborn:
                _log.emit(log_events.TASK_NOT_CANCELLED, task=task.get_name())


class CloseStack:
    """Open resources, and their closing."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, Callable[[], Awaitable[Any]]]] = []

    def add(self, name: str, close: Callable[[], Awaitable[Any]]) -> None:
        """Register something that was opened."""
        self._steps.append((name, close))

    async def close_all(self) -> None:
        """Close everything, the latest first; failures are logged and change nothing."""
        while self._steps:
            name, close = self._steps.pop()
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                    await close()
            except TimeoutError:
                _log.emit(log_events.CLOSE_TIMED_OUT, of=name, seconds=CLOSE_TIMEOUT_SECONDS)
            except Exception:  # noqa: BLE001  # the process ends: everything else must still be closed
                _log.emit(log_events.CLOSE_FAILED, exc_info=True, of=name)
