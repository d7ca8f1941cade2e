"""Keep a number of worker processes running.

Decides when a worker is started, killed or stopped. Knows nothing of pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from strider.contracts.generated.enums import ParseOutcome
from strider.messaging.errors import Unavailable
from strider.parser import log_events
from strider.runtime.observability.logging import logger

from .process import WorkerExit, WorkerProcess, start_worker
from .protocol import WorkerResponse
from .worker import WorkerConfig

DEPENDENCY: Final = "parser-workers"

START_TIMEOUT_SECONDS: Final = 30.0
"""Until a worker is ready: it imports a few libraries, on a machine that may be busy."""

RESTART_DELAY_SECONDS: Final = 0.5
"""Pause before the next start after a worker that did not become ready; doubles with each further one."""
MAX_RESTART_DELAY_SECONDS: Final = 30.0

CLOSE_TIMEOUT_SECONDS: Final = 2.0

_log = logger("parser")


class WorkerSupervisor:
    """Starts, replaces and stops workers."""

    def __init__(
        self,
        config: WorkerConfig,
        *,
        count: int,
        environ: Mapping[str, str],
        on_response: Callable[[WorkerProcess, WorkerResponse], None],
        on_started: Callable[[WorkerProcess], None],
        on_exit: Callable[[WorkerProcess, WorkerExit], None],
        on_no_workers: Callable[[Unavailable], None],
    ) -> None:
        """`on_no_workers` is called when no worker runs and none could be started."""
        self._config = config
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
        """Start all workers; raises Unavailable where not even one could be started."""
        self.ensure_workers()
        assert self._starting is not None
        await asyncio.shield(self._starting)
        if not self.workers:
            raise Unavailable(DEPENDENCY, self._start_error)

    def ensure_workers(self) -> None:
        """Start the missing workers in the background."""
        if self._starting is None or (self._starting.done() and len(self.workers) < self._count):
            self._starting = asyncio.create_task(self._start_missing())

    async def close(self) -> None:
        """Stop all workers, and wait until they are gone."""
        self._is_closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait((self._starting,))
        workers = list(self.workers)
        for worker in workers:
            worker.disconnect()
        waits = [asyncio.create_task(worker.wait()) for worker in workers]
        if waits:
            await asyncio.wait(waits, timeout=CLOSE_TIMEOUT_SECONDS)
            for worker in workers:
                worker.kill(WorkerExit(ParseOutcome.CRASHED, "the parser is closing"))
            await asyncio.wait(waits)
        self.workers.clear()

    async def _start_missing(self) -> None:
        """Start workers until all run; with none left, pages wait elsewhere, and the next one tries again."""
        delay_seconds = RESTART_DELAY_SECONDS
        while len(self.workers) < self._count and not self._is_closed:
            if await self._start_one():
                continue
            await asyncio.sleep(delay_seconds)
            delay_seconds = min(2 * delay_seconds, MAX_RESTART_DELAY_SECONDS)
            _log.emit(log_events.PARSER_WORKERS_NOT_STARTED, why=self._start_error)
            if not self.workers:
                self._on_no_workers(Unavailable(DEPENDENCY, self._start_error))
                return

    async def _start_one(self) -> bool:
        try:
            worker = await start_worker(
                self._config, self._environ, on_response=self._on_response, on_disconnect=self._on_disconnect
            )
        except OSError as failure:
            self._start_error = str(failure)
            return False
        self.workers.add(worker)
        done, _ = await asyncio.wait((worker.is_ready,), timeout=START_TIMEOUT_SECONDS)
        if done and worker.is_ready.result():
            self._on_started(worker)
            return True
        worker.kill(WorkerExit(ParseOutcome.CRASHED, "the worker was not ready in time"))
        self.workers.discard(worker)
        self._start_error = "a worker exited before it was ready; see its standard error"
        return False

    def _on_disconnect(self, worker: WorkerProcess) -> None:
        if not self._is_closed:
            task = asyncio.create_task(self._reap(worker))
            self._reaping.add(task)
            task.add_done_callback(self._reaping.discard)

    async def _reap(self, worker: WorkerProcess) -> None:
        await worker.wait()
        self.workers.discard(worker)
        self._on_exit(worker, worker.exit_reason(memory_mb=self._config.memory_mb))
        self.ensure_workers()
