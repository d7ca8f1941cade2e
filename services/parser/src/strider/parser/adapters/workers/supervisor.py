"""Keeps a number of workers alive.

Decides when a worker is started, given up or let go. Knows nothing of pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from strider.contracts.generated.enums import ParseOutcome
from strider.messaging.errors import Unavailable
from strider.runtime.observability.logging import logger

from .process import WorkerExit, WorkerProcess, start_worker
from .protocol import WorkerResponse
from .worker import WorkerConfig

DEPENDENCY: Final = "parser-workers"

START_TIMEOUT_SECONDS: Final = 30.0
"""For a worker to begin: it imports a few libraries, on a machine that may be busy."""

RESTART_DELAY_SECONDS: Final = 0.5
"""Pause before the next start where a worker did not even begin."""

CLOSE_SECONDS: Final = 2.0

_log = logger("parser")


class WorkerSupervisor:
    """The workers that there are, and those that are missing."""

    def __init__(
        self,
        orders: WorkerConfig,
        *,
        count: int,
        environ: Mapping[str, str],
        on_response: Callable[[WorkerProcess, WorkerResponse], None],
        on_started: Callable[[WorkerProcess], None],
        on_exit: Callable[[WorkerProcess, WorkerExit], None],
        on_no_workers: Callable[[Unavailable], None],
    ) -> None:
        """`on_despair` is told when not one worker is there and none could be started."""
        self._orders = orders
        self._count = count
        self._environ = environ
        self._on_response = on_response
        self._on_started = on_started
        self._on_exit = on_exit
        self._on_no_workers = on_no_workers
        self.workers: set[WorkerProcess] = set()
        self._starting: asyncio.Task[None] | None = None
        self._reaping: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._start_error = ""

    async def start(self) -> None:
        """Have all workers started; raises Unavailable where not even one could be."""
        self.ensure_workers()
        assert self._starting is not None
        await asyncio.shield(self._starting)
        if not self.workers:
            raise Unavailable(DEPENDENCY, self._start_error)

    def ensure_workers(self) -> None:
        """See to it that nobody is missing."""
        if self._starting is None or (self._starting.done() and len(self.workers) < self._count):
            self._starting = asyncio.create_task(self._start_missing())

    async def close(self) -> None:
        """Let all go, and wait until they are gone."""
        self._is_closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait((self._starting,))
        workers = list(self.workers)
        for worker in workers:
            worker.disconnect()
        waits = [asyncio.create_task(worker.wait()) for worker in workers]
        if waits:
            await asyncio.wait(waits, timeout=CLOSE_SECONDS)
            for worker in workers:
                worker.kill(WorkerExit(ParseOutcome.CRASHED, "the parser ends"))
            await asyncio.wait(waits)
        self.workers.clear()

    async def _start_missing(self) -> None:
        while len(self.workers) < self._count and not self._is_closed:
            if not await self._start_one():
                await asyncio.sleep(RESTART_DELAY_SECONDS)
                _log.error("Workers Do Not Start", why=self._start_error)
                if not self.workers:
                    self._on_no_workers(Unavailable(DEPENDENCY, self._start_error))
                return

    async def _start_one(self) -> bool:
        try:
            worker = await start_worker(
                self._orders, self._environ, on_response=self._on_response, on_gone=self._on_gone
            )
        except OSError as failure:
            self._start_error = str(failure)
            return False
        self.workers.add(worker)
        done, _ = await asyncio.wait((worker.is_ready,), timeout=START_TIMEOUT_SECONDS)
        if done and worker.is_ready.result():
            self._on_started(worker)
            return True
        worker.kill(WorkerExit(ParseOutcome.CRASHED, "it was not ready in time"))
        self.workers.discard(worker)
        self._start_error = "a worker ends before it is ready; its standard error says why"
        return False

    def _on_gone(self, worker: WorkerProcess) -> None:
        if not self._is_closed:
            task = asyncio.create_task(self._bury(worker))
            self._reaping.add(task)
            task.add_done_callback(self._reaping.discard)

    async def _bury(self, worker: WorkerProcess) -> None:
        await worker.wait()
        self.workers.discard(worker)
        self._on_exit(worker, worker.death(memory_mb=self._orders.memory_mb))
        self.ensure_workers()
