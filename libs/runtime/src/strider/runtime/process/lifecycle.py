"""Lifecycle of a process: run until a signal, the watchdog or a failure ends it.

The first request to exit decides the exit code, unless something fails during an orderly one. Shutdown is
orderly within its time; a second signal ends at once. `startup` knows what the process consists of.
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
from .health import RUNNING, STOPPING
from .startup import RunningService, ServiceStartup

CANCEL_SECONDS: Final = 2.0
"""How long tasks may take to end after they were cancelled."""
SIGNAL_CODES: Final = {signal.SIGTERM: ExitCode.TERMINATED, signal.SIGINT: ExitCode.INTERRUPTED}
_log = logger("service")


class ServiceLifecycle:
    """One run of one process."""

    def __init__(self, start: ServiceStartup[Any]) -> None:
        self._startup = start
        self._exit_requested = asyncio.Event()
        self._code: ExitCode | None = None
        self._timeout_code = ExitCode.FAILED
        """Exit code where the shutdown times out."""
        start.on_exit = self.request_exit

    async def run(self) -> ExitCode:
        """Run until something ends the process; return the exit code."""
        self._install_signal_handlers()
        running: RunningService | None = None
        try:
            running = await self._unless_exiting(self._startup.run())
            if running is not None:
                self._startup.readiness.phase = RUNNING
                _log.emit(log_events.SERVICE_RUNNING)
                await self._exit_requested.wait()
        except StartRefused as refusal:
            _log.emit(log_events.STARTUP_REFUSED, why=str(refusal))
            self.request_exit(ExitCode.REFUSED)
        except InfrastructureError as failure:
            _log.emit(log_events.STARTUP_FAILED, why=str(failure))
            self.request_exit(ExitCode.FAILED)
        except Exception:  # noqa: BLE001  # outside of a message: logged, closed, and restarted by the supervisor
            _log.emit(log_events.STARTUP_FAILED, exc_info=True)
            self.request_exit(ExitCode.FAILED)
        return await self._stop()

    def request_exit(self, code: ExitCode) -> None:
        """Request the exit; the first request counts, unless a failure follows an orderly one."""
        if self._code is None or self._code is ExitCode.OK:
            self._code = code
            self._exit_requested.set()

    async def _unless_exiting(self, work: Awaitable[RunningService]) -> RunningService | None:
        """Await the work, or cancel it where the process has to end meanwhile."""
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
        readiness, tasks = self._startup.readiness, self._startup.tasks
        shutdown_seconds = self._startup.shutdown_seconds
        readiness.phase = STOPPING
        _log.emit(log_events.SERVICE_STOPPING, code=self._code, grace_seconds=shutdown_seconds)
        if self._startup.running is not None:
            self._startup.running.stop()
        tasks.allow_task_end()
        working = drain_seconds(shutdown_seconds)
        if not await tasks.wait_for_consumers(working):
            _log.emit(log_events.SHUTDOWN_TIMED_OUT)
            self._code = self._timeout_code if self._code == ExitCode.OK else self._code
            await tasks.wait_for_consumers(shutdown_seconds - working)
        await tasks.cancel_all(CANCEL_SECONDS)
        await self._startup.closers.close_all()
        if self._startup.running is not None:
            self._startup.running.target.cancel_forced_exit()
        code = self._code or ExitCode.OK
        _log.emit(log_events.SERVICE_STOPPED, code=int(code), meaning=code.name)
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
            _log.emit(log_events.SECOND_SIGNAL_RECEIVED, name=number.name)
            self._startup.exit_now(int(self._code or SIGNAL_CODES[number]))
