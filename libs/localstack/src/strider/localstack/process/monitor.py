"""Keeps one process alive: starts it, asks whether it answers, starts it again when it has ended.

Part or service makes no difference here. The keeper decides when; what is started and how it is
asked is the unit's matter. A frozen or busy process is never killed for not answering: only one
that ended is started again, and a part that never came up.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
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

from .child import ChildProcess, LaunchSpec, last_log_lines, start_process
from .restart_backoff import RestartBackoff

FATAL_EXIT_CODES: Final = frozenset({2, 4})
"""Exit codes of services that only a person can do something about: wrong settings, a refused start."""
POLL_SECONDS: Final = 0.2
PROBE_INTERVAL_SECONDS: Final = 2.0
"""How often a process that answered is asked again."""
COMING_UP_SECONDS: Final = 90.0
"""A part that has not answered by then is started again."""


class ManagedProcess(Protocol):
    """What is kept alive."""

    @property
    def name(self) -> str:
        """What it is called in `strider status`."""

    @property
    def address(self) -> str:
        """Where it is."""

    def prepare(self) -> None:
        """Make its next start possible."""

    def launch(self, *, log: Path, pid_file: Path) -> LaunchSpec:
        """Say how its process is started."""

    async def probe(self) -> None:
        """Ask whether it answers; NotReady says why not."""


class ProcessMonitor:
    """The life of one process, restarts included."""

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
        self._number = pid_file
        self._changed = on_change
        self._child = adopted
        self._after = start_after
        self._backoff = RestartBackoff()
        self._retry_requested = asyncio.Event()
        self._work: asyncio.Future[None] | None = None
        self._is_ending = False

    async def run(self) -> None:
        """Keep it alive until cancelled; the process itself is ended by `stop`."""
        if self._after is not None:
            await self._after.wait()
        while True:
            began = asyncio.get_running_loop().time()
            try:
                await self._live()
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
                self._last_words(code), ran_seconds=ran_seconds, is_fatal=code in self._fatal_exit_codes
            )

    async def stop(self) -> None:
        """End the process, as gracefully as its grace allows."""
        self._is_ending = True
        if self._work is not None:
            # A start that is under way in its thread would leave a process that nobody knows.
            await asyncio.wait((self._work,))
        child = self._child
        if child is not None and child.is_alive():
            self._tell(STOPPING)
            launch = self._launch()
            await asyncio.to_thread(child.stop, launch.stop_signal, grace_seconds=launch.stop_timeout_seconds)
        self._child = None
        self._number.unlink(missing_ok=True)
        self._tell(STOPPED)

    def retry_now(self) -> None:
        """End a pause early: somebody has asked for another try."""
        self._retry_requested.set()

    def mark_failing(self, reason: str) -> None:
        """Say that nobody looks after the process any more."""
        self._tell(FAILING, reason=reason)

    @property
    def _fatal_exit_codes(self) -> frozenset[int]:
        return FATAL_EXIT_CODES if self.status.kind == "service" else frozenset()

    async def _live(self) -> None:
        """One life of the process, from its start to its end."""
        if self._child is None:
            self._tell(STARTING)
            self._work = asyncio.ensure_future(asyncio.to_thread(self._start))
            await asyncio.shield(self._work)
        self._tell(STARTING)
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
            self._tell(READY)
            await self._watch(child)

    def _start(self) -> None:
        self.process.prepare()
        if not self._is_ending:
            self._child = start_process(self._launch())

    async def _watch(self, child: ChildProcess) -> None:
        until = asyncio.get_running_loop().time() + PROBE_INTERVAL_SECONDS
        # Nobody tells us of the end of a process that another parent has started, so we look.
        while child.is_alive() and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110  # see above
            await asyncio.sleep(POLL_SECONDS)

    def _has_startup_timed_out(self, began: float) -> bool:
        ran_seconds = asyncio.get_running_loop().time() - began
        is_coming_up = self.status.kind == "part" and self.status.state == STARTING
        return is_coming_up and ran_seconds > COMING_UP_SECONDS

    def _not_ready(self, reason: str) -> None:
        answered_before = self.status.state in (READY, NOT_READY)
        self._tell(NOT_READY if answered_before else STARTING, reason=reason)

    async def _pause(self, reason: str, *, ran_seconds: float, is_fatal: bool) -> None:
        self._backoff = self._backoff.after_exit(ran_seconds)
        self.status = replace(self.status, restarts=self.status.restarts + 1)
        self._retry_requested.clear()
        if is_fatal:
            self._tell(REFUSED, reason=reason)
            await self._retry_requested.wait()
            self._backoff = RestartBackoff()
            return
        self._tell(FAILING if self._backoff.is_failing else RESTARTING, reason=reason)
        try:
            async with asyncio.timeout(self._backoff.pause_seconds):
                await self._retry_requested.wait()
        except TimeoutError:
            pass

    def _last_words(self, code: int | None) -> str:
        ended = "it ended" if code is None else f"it ended with status {code}"
        said = last_log_lines(self._log)[-200:]
        return f"{ended}; last line of its log: {said}" if said else ended

    def _launch(self) -> LaunchSpec:
        return self.process.launch(log=self._log, pid_file=self._number)

    def _tell(self, state: str, *, reason: str = "") -> None:
        identity = self._child.identity if self._child else None
        told = replace(
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
        if told != self.status:
            self.status = told
            self._changed()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
