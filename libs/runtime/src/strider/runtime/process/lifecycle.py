"""How a process lives and ends: by a signal, by the watchdog, by a task that died, or refused at the start.

The first wish to end decides the exit code, unless something fails on the way of an orderly one.
Ending is orderly within the grace; a second signal ends at once. What the process is made of is
`service_start`'s matter.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable
from typing import Any, Final

from strider.messaging.errors import InfrastructureError, StartRefused
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger

from .consumers import drain_seconds
from .exit_codes import ExitCode
from .readiness import RUNNING, STOPPING
from .startup import RunningService, ServiceStartup

CANCEL_SECONDS: Final = 2.0
"""How long tasks may take to go after they were cancelled."""
SIGNAL_CODES: Final = {signal.SIGTERM: ExitCode.TERMINATED, signal.SIGINT: ExitCode.INTERRUPTED}
_log = logger("service")


class ServiceLifecycle:
    """One run of one process."""

    def __init__(self, start: ServiceStartup[Any]) -> None:
        self._start = start
        self._exit_requested = asyncio.Event()
        self._code: ExitCode | None = None
        self._timeout_code = ExitCode.FAILED
        """What it ends with where the grace runs out."""
        start.on_exit = self.request_exit

    async def run(self) -> ExitCode:
        """Live until something ends it; the exit code says what."""
        self._install_signal_handlers()
        running: RunningService | None = None
        try:
            running = await self._unless_exiting(self._start.run())
            if running is not None:
                self._start.readiness.phase = RUNNING
                _log.info("Running")
                await self._exit_requested.wait()
        except StartRefused as refusal:
            _log.critical("Startup refused", why=str(refusal))
            self.request_exit(ExitCode.REFUSED)
        except InfrastructureError as failure:
            _log.critical("Startup failed", why=str(failure))
            self.request_exit(ExitCode.FAILED)
        except Exception:  # noqa: BLE001  # outside of a message: told, closed, and started again from outside
            _log.critical("Startup failed", exc_info=True)
            self.request_exit(ExitCode.FAILED)
        return await self._stop()

    def request_exit(self, code: ExitCode) -> None:
        """Wish for the end. The first wish counts; but what fails on the way did not end in order."""
        if self._code is None or self._code is ExitCode.OK:
            self._code = code
            self._exit_requested.set()

    async def _unless_exiting(self, work: Awaitable[RunningService]) -> RunningService | None:
        """Do the work, or leave it where the process has to end meanwhile."""
        doing = asyncio.ensure_future(work)
        ending = asyncio.ensure_future(self._exit_requested.wait())
        try:
            await asyncio.wait({doing, ending}, return_when=asyncio.FIRST_COMPLETED)
            return doing.result() if doing.done() else None
        finally:
            ending.cancel()
            if not doing.done():
                doing.cancel()
                await asyncio.wait({doing}, timeout=CANCEL_SECONDS)

    async def _stop(self) -> ExitCode:
        readiness, tasks, grace = self._start.readiness, self._start.tasks, self._start.shutdown_seconds
        readiness.phase = STOPPING
        _log.info("Stopping", code=self._code, grace_seconds=grace)
        if self._start.running is not None:
            self._start.running.stop()
        tasks.allow_task_end()
        working = drain_seconds(grace)
        if not await tasks.wait_for_consumers(working):
            _log.warning("Shutdown timed out", why="work in hand is left to be redelivered")
            self._code = self._timeout_code if self._code == ExitCode.OK else self._code
            await tasks.wait_for_consumers(grace - working)
        await tasks.cancel_all(CANCEL_SECONDS)
        await self._start.closers.close_all()
        if self._start.running is not None:
            self._start.running.vitals.cancel_forced_exit()
        code = self._code or ExitCode.OK
        _log.info("Stopped", code=int(code), meaning=code.name)
        return code

    def _install_signal_handlers(self) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNAL_CODES:
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: signal.Signals) -> None:
        if self._code is None:
            _log.emit(log_events.SIGNAL_RECEIVED, name=number.name)
            self._timeout_code = SIGNAL_CODES[number]
            self.request_exit(ExitCode.OK)
        else:
            _log.warning("Second signal received", name=number.name, why="ending at once")
            self._start.exit_now(int(self._code or SIGNAL_CODES[number]))
