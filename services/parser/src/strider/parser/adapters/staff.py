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

from .frames import Answer
from .processes import Death, WorkerProcess, start_worker
from .worker import WorkerOrders

PART: Final = "parser-workers"

START_SECONDS: Final = 30.0
"""For a worker to begin: it imports a few libraries, on a machine that may be busy."""

RESTART_SECONDS: Final = 0.5
"""Pause before the next start where a worker did not even begin."""

CLOSE_SECONDS: Final = 2.0

_log = logger("parser")


class Staff:
    """The workers that there are, and those that are missing."""

    def __init__(
        self,
        orders: WorkerOrders,
        *,
        count: int,
        environ: Mapping[str, str],
        on_answer: Callable[[WorkerProcess, Answer], None],
        on_hired: Callable[[WorkerProcess], None],
        on_dead: Callable[[WorkerProcess, Death], None],
        on_despair: Callable[[Unavailable], None],
    ) -> None:
        """`on_despair` is told when not one worker is there and none could be started."""
        self._orders = orders
        self._count = count
        self._environ = environ
        self._on_answer = on_answer
        self._on_hired = on_hired
        self._on_dead = on_dead
        self._on_despair = on_despair
        self.workers: set[WorkerProcess] = set()
        self._hiring: asyncio.Task[None] | None = None
        self._burying: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._trouble = ""

    async def start(self) -> None:
        """Have all workers started; raises Unavailable where not even one could be."""
        self.hire_soon()
        assert self._hiring is not None
        await asyncio.shield(self._hiring)
        if not self.workers:
            raise Unavailable(PART, self._trouble)

    def hire_soon(self) -> None:
        """See to it that nobody is missing."""
        if self._hiring is None or (self._hiring.done() and len(self.workers) < self._count):
            self._hiring = asyncio.create_task(self._hire())

    async def close(self) -> None:
        """Let all go, and wait until they are gone."""
        self._is_closed = True
        if self._hiring is not None:
            self._hiring.cancel()
            await asyncio.wait((self._hiring,))
        workers = list(self.workers)
        for worker in workers:
            worker.hang_up()
        waits = [asyncio.create_task(worker.wait()) for worker in workers]
        if waits:
            await asyncio.wait(waits, timeout=CLOSE_SECONDS)
            for worker in workers:
                worker.kill(Death(ParseOutcome.CRASHED, "the parser ends"))
            await asyncio.wait(waits)
        self.workers.clear()

    async def _hire(self) -> None:
        while len(self.workers) < self._count and not self._is_closed:
            if not await self._hire_one():
                await asyncio.sleep(RESTART_SECONDS)
                _log.error("Workers Do Not Start", why=self._trouble)
                if not self.workers:
                    self._on_despair(Unavailable(PART, self._trouble))
                return

    async def _hire_one(self) -> bool:
        try:
            worker = await start_worker(
                self._orders, self._environ, on_answer=self._on_answer, on_gone=self._on_gone
            )
        except OSError as failure:
            self._trouble = str(failure)
            return False
        self.workers.add(worker)
        done, _ = await asyncio.wait((worker.is_ready,), timeout=START_SECONDS)
        if done and worker.is_ready.result():
            self._on_hired(worker)
            return True
        worker.kill(Death(ParseOutcome.CRASHED, "it was not ready in time"))
        self.workers.discard(worker)
        self._trouble = "a worker ends before it is ready; its standard error says why"
        return False

    def _on_gone(self, worker: WorkerProcess) -> None:
        if not self._is_closed:
            task = asyncio.create_task(self._bury(worker))
            self._burying.add(task)
            task.add_done_callback(self._burying.discard)

    async def _bury(self, worker: WorkerProcess) -> None:
        await worker.wait()
        self.workers.discard(worker)
        self._on_dead(worker, worker.death(memory_mb=self._orders.memory_mb))
        self.hire_soon()
