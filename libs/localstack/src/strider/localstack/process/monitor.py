"""Monitoring of one process: start, readiness probes, restart with backoff.

Serves servers and services alike. The monitor decides when; how a process is started and probed is its own
matter. A frozen or busy process is never killed for not answering: only one that ended is restarted, and a
server that never became ready.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Final, Protocol

from strider.localstack.errors import SetupFailure, StackNotReady
from strider.localstack.stack_state import (
    FAILING,
    NOT_READY,
    READY,
    REFUSED,
    RESTARTING,
    STARTING,
    STOPPED,
    STOPPING,
    WAITING,
    ProcessStatus,
)
from strider.politeness.retry_policy import RetryPolicy

from .child import ChildProcess, LaunchSpec, last_log_lines, start_process

RESTART_POLICY: Final = RetryPolicy(
    retries=inf, first_seconds=0.5, factor=2, cap_seconds=30, jitter_seconds=0, deadline_seconds=inf
)
"""Pauses between the exits of a process and its next starts."""
STABLE_SECONDS: Final = 30.0
"""A process that ran this long starts with a fresh backoff."""
FAILING_AFTER: Final = 4
"""Exits in a row, without a stable time between them, that count as failing."""


@dataclass(frozen=True, slots=True)
class RestartBackoff:
    """Backoff by the number of exits in a row."""

    failures: int = 0

    @property
    def is_failing(self) -> bool:
        """Whether a person should look at it."""
        return self.failures >= FAILING_AFTER

    @property
    def pause_seconds(self) -> float:
        """Time to wait before the next start."""
        return RESTART_POLICY.base_seconds(max(self.failures, 1))

    def after_exit(self, ran_seconds: float) -> RestartBackoff:
        """Return the backoff after one more exit, of a process that ran so long."""
        return RestartBackoff(1 if ran_seconds >= STABLE_SECONDS else self.failures + 1)


FATAL_EXIT_CODES: Final = frozenset({2, 4})
"""Exit codes of services that only a person can resolve: wrong settings, a refused start."""
POLL_SECONDS: Final = 0.2
PROBE_INTERVAL_SECONDS: Final = 2.0
"""Time between probes of a ready process."""
STARTUP_TIMEOUT_SECONDS: Final = 90.0
"""A server that is not ready by then is restarted."""


class ManagedProcess(Protocol):
    """A process that a monitor can run."""

    @property
    def name(self) -> str:
        """Name in `strider status`."""

    @property
    def address(self) -> str:
        """Its address."""

    def prepare(self) -> None:
        """Prepare its next start."""

    def launch(self, *, log: Path, pid_file: Path) -> LaunchSpec:
        """Return the specification of its process."""

    async def probe(self) -> None:
        """Probe it; StackNotReady says why it does not answer."""


class ProcessMonitor:
    """The monitor of one process, restarts included."""

    def __init__(
        self,
        process: ManagedProcess,
        *,
        kind: str,
        log: Path,
        pid_file: Path,
        on_change: Callable[[], None],
        adopted: ChildProcess | None = None,
        start_after: asyncio.Event | None = None,
    ) -> None:
        self.process = process
        self.status = ProcessStatus(process.name, kind, WAITING, _now(), address=process.address)
        self.is_ready = asyncio.Event()
        self._log = log
        self._pid_file = pid_file
        self._on_change = on_change
        self._child = adopted
        self._start_after = start_after
        self._backoff = RestartBackoff()
        self._retry_requested = asyncio.Event()
        self._starting: asyncio.Future[None] | None = None
        self._is_stopping = False

    async def run(self) -> None:
        """Keep the process running until cancelled; `stop` ends the process itself."""
        if self._start_after is not None:
            await self._start_after.wait()
        while True:
            began = asyncio.get_running_loop().time()
            try:
                await self._run_once()
            except SetupFailure as failure:
                await self._pause(str(failure), ran_seconds=0.0, is_fatal=True)
                continue
            except (OSError, subprocess.SubprocessError) as failure:
                await self._pause(str(failure), ran_seconds=0.0, is_fatal=False)
                continue
            code = self._child.exit_code if self._child else None
            self._child = None
            ran_seconds = asyncio.get_running_loop().time() - began
            await self._pause(
                self._exit_reason(code), ran_seconds=ran_seconds, is_fatal=code in self._fatal_exit_codes
            )

    async def stop(self) -> None:
        """Stop the process, gracefully within its timeout."""
        self._is_stopping = True
        if self._starting is not None:
            # A start in progress in its thread would leave an unknown process.
            await asyncio.wait((self._starting,))
        child = self._child
        if child is not None and child.is_alive():
            self._set_state(STOPPING)
            launch = self._launch()
            await asyncio.to_thread(
                child.stop, launch.stop_signal, timeout_seconds=launch.stop_timeout_seconds
            )
        self._child = None
        self._pid_file.unlink(missing_ok=True)
        self._set_state(STOPPED)

    def retry_now(self) -> None:
        """End a pause early."""
        self._retry_requested.set()

    def mark_failing(self, reason: str) -> None:
        """Set the state to failing: the monitor itself has failed."""
        self._set_state(FAILING, reason=reason)

    @property
    def _fatal_exit_codes(self) -> frozenset[int]:
        return FATAL_EXIT_CODES if self.status.kind == "service" else frozenset()

    async def _run_once(self) -> None:
        """Run the process once, from its start to its end."""
        if self._child is None:
            self._set_state(STARTING)
            self._starting = asyncio.ensure_future(asyncio.to_thread(self._start))
            await asyncio.shield(self._starting)
        self._set_state(STARTING)
        child, began = self._child, asyncio.get_running_loop().time()
        while child is not None and child.is_alive():
            try:
                await self.process.probe()
            except StackNotReady as failure:
                self._not_ready(failure.reason)
                if self._has_startup_timed_out(began):
                    await asyncio.to_thread(child.kill)
                await asyncio.sleep(POLL_SECONDS)
                continue
            self._set_state(READY)
            await self._wait_for_probe(child)

    def _start(self) -> None:
        self.process.prepare()
        if not self._is_stopping:
            self._child = start_process(self._launch())

    async def _wait_for_probe(self, child: ChildProcess) -> None:
        until = asyncio.get_running_loop().time() + PROBE_INTERVAL_SECONDS
        # The end of a process with another parent is not signalled, so it is polled.
        while child.is_alive() and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110  # see above
            await asyncio.sleep(POLL_SECONDS)

    def _has_startup_timed_out(self, began: float) -> bool:
        ran_seconds = asyncio.get_running_loop().time() - began
        is_coming_up = self.status.kind == "server" and self.status.state == STARTING
        return is_coming_up and ran_seconds > STARTUP_TIMEOUT_SECONDS

    def _not_ready(self, reason: str) -> None:
        answered_before = self.status.state in (READY, NOT_READY)
        self._set_state(NOT_READY if answered_before else STARTING, reason=reason)

    async def _pause(self, reason: str, *, ran_seconds: float, is_fatal: bool) -> None:
        self._backoff = self._backoff.after_exit(ran_seconds)
        self.status = replace(self.status, restarts=self.status.restarts + 1)
        self._retry_requested.clear()
        if is_fatal:
            self._set_state(REFUSED, reason=reason)
            await self._retry_requested.wait()
            self._backoff = RestartBackoff()
            return
        self._set_state(FAILING if self._backoff.is_failing else RESTARTING, reason=reason)
        try:
            async with asyncio.timeout(self._backoff.pause_seconds):
                await self._retry_requested.wait()
        except TimeoutError:
            pass

    def _exit_reason(self, code: int | None) -> str:
        ended = "it ended" if code is None else f"it ended with status {code}"
        last_line = last_log_lines(self._log)[-200:]
        return f"{ended}; last line of its log: {last_line}" if last_line else ended

    def _launch(self) -> LaunchSpec:
        return self.process.launch(log=self._log, pid_file=self._pid_file)

    def _set_state(self, state: str, *, reason: str = "") -> None:
        identity = self._child.identity if self._child else None
        status = replace(
            self.status,
            state=state,
            reason=reason,
            pid=identity.pid if identity else None,
            started=identity.started if identity else None,
            since=self.status.since if state == self.status.state else _now(),
        )
        if state == READY:
            self.is_ready.set()
        elif state != NOT_READY:
            self.is_ready.clear()
        if status != self.status:
            self.status = status
            self._on_change()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
