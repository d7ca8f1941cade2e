"""The tasks of a process and what it has opened: no task dies unseen, nothing is left open.

A task that ends while the process runs is a fault, with or without an exception; what becomes of
the process then is decided by whoever is told. What was opened is closed in reverse order, each
part within its own time, because one that hangs must not keep the others open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from strider.runtime.observability.logging import logger

CLOSE_TIMEOUT_SECONDS: Final = 5.0
"""How long one part may take to be closed; what hangs then is left to the system."""
_log = logger("service")


class TaskSupervisor:
    """Holds the tasks of a process."""

    def __init__(self, on_fault: Callable[[BaseException | None], None]) -> None:
        self._on_fault = on_fault
        self._tasks: dict[asyncio.Task[Any], bool] = {}
        self._is_ending = False

    def start(self, name: str, work: Coroutine[Any, Any, Any], *, is_consumer: bool = False) -> None:
        """Run something beside the rest until the process ends."""
        task = asyncio.create_task(work, name=name)
        self._tasks[task] = is_consumer
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.critical("Task died", task=task.get_name(), exc_info=error)
            self._on_fault(error)
        elif not self._is_ending:
            _log.critical("Task died", task=task.get_name(), why="it ended although nobody asked it to")
            self._on_fault(None)

    def allow_task_end(self) -> None:
        """From now on a task may end."""
        self._is_ending = True

    async def wait_for_consumers(self, seconds: float) -> bool:
        """Wait until every consumer has finished what it has in hand; False where time ran out."""
        consumers = [task for task, is_consumer in self._tasks.items() if is_consumer]
        if not consumers:
            return True
        _, unfinished = await asyncio.wait(consumers, timeout=seconds)
        return not unfinished

    async def cancel_all(self, seconds: float) -> None:
        """Cancel what is left, and wait a little for it to go."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            _, stubborn = await asyncio.wait(self._tasks, timeout=seconds)
            for task in stubborn:
                _log.error("Task not cancelled", task=task.get_name())


class CloseStack:
    """What is open, and how each of it is closed."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, Callable[[], Awaitable[Any]]]] = []

    def add(self, name: str, close: Callable[[], Awaitable[Any]]) -> None:
        """Note that something was opened."""
        self._steps.append((name, close))

    async def close_all(self) -> None:
        """Close everything, the latest first; failures are told and change nothing."""
        while self._steps:
            name, close = self._steps.pop()
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                    await close()
            except TimeoutError:
                _log.warning("Close timed out", of=name, seconds=CLOSE_TIMEOUT_SECONDS)
            except Exception:  # noqa: BLE001  # the process ends: everything else must still be closed
                _log.exception("Close failed", of=name)
