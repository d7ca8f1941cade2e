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

from strider.localstack.errors import NotReady, SetupFailure
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

from .child import Child, Launch, start, tail
from .restart_backoff import Falls

NO_USE_IN_TRYING: Final = frozenset({2, 4})
"""Exit codes of services that only a person can do something about: wrong settings, a refused start."""
LOOK_SECONDS: Final = 0.2
ASK_SECONDS: Final = 2.0
"""How often a process that answered is asked again."""
COMING_UP_SECONDS: Final = 90.0
"""A part that has not answered by then is started again."""


class Unit(Protocol):
    """What is kept alive."""

    @property
    def name(self) -> str:
        """What it is called in `strider status`."""

    @property
    def address(self) -> str:
        """Where it is."""

    def prepare(self) -> None:
        """Make its next start possible."""

    def launch(self, *, log: Path, number: Path) -> Launch:
        """Say how its process is started."""

    async def probe(self) -> None:
        """Ask whether it answers; NotReady says why not."""


class Keeper:
    """The life of one process, restarts included."""

    def __init__(
        self,
        unit: Unit,
        *,
        kind: str,
        log: Path,
        number: Path,
        changed: Callable[[], None],
        adopted: Child | None = None,
        after: asyncio.Event | None = None,
    ) -> None:
        self.unit = unit
        self.status = ProcessStatus(unit.name, kind, WAITING, _now(), address=unit.address)
        self.is_ready = asyncio.Event()
        self._log = log
        self._number = number
        self._changed = changed
        self._child = adopted
        self._after = after
        self._falls = Falls()
        self._again = asyncio.Event()
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
                await self._pause(str(failure), ran_seconds=0.0, hopeless=True)
                continue
            except (OSError, subprocess.SubprocessError) as failure:
                await self._pause(str(failure), ran_seconds=0.0, hopeless=False)
                continue
            code = self._child.exit_code if self._child else None
            self._child = None
            ran_seconds = asyncio.get_running_loop().time() - began
            await self._pause(
                self._last_words(code), ran_seconds=ran_seconds, hopeless=code in self._hopeless
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
            await asyncio.to_thread(child.stop, launch.stop_signal, grace_seconds=launch.grace_seconds)
        self._child = None
        self._number.unlink(missing_ok=True)
        self._tell(STOPPED)

    def try_again(self) -> None:
        """End a pause early: somebody has asked for another try."""
        self._again.set()

    def give_up(self, reason: str) -> None:
        """Say that nobody looks after the process any more."""
        self._tell(FAILING, reason=reason)

    @property
    def _hopeless(self) -> frozenset[int]:
        return NO_USE_IN_TRYING if self.status.kind == "service" else frozenset()

    async def _live(self) -> None:
        """One life of the process, from its start to its end."""
        if self._child is None:
            self._tell(STARTING)
            self._work = asyncio.ensure_future(asyncio.to_thread(self._bring_up))
            await asyncio.shield(self._work)
        self._tell(STARTING)
        child, began = self._child, asyncio.get_running_loop().time()
        while child is not None and child.is_alive():
            try:
                await self.unit.probe()
            except NotReady as failure:
                self._not_ready(failure.reason)
                if self._never_came_up(began):
                    await asyncio.to_thread(child.kill)
                await asyncio.sleep(LOOK_SECONDS)
                continue
            self._tell(READY)
            await self._watch(child)

    def _bring_up(self) -> None:
        self.unit.prepare()
        if not self._is_ending:
            self._child = start(self._launch())

    async def _watch(self, child: Child) -> None:
        until = asyncio.get_running_loop().time() + ASK_SECONDS
        # Nobody tells us of the end of a process that another parent has started, so we look.
        while child.is_alive() and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110  # see above
            await asyncio.sleep(LOOK_SECONDS)

    def _never_came_up(self, began: float) -> bool:
        ran_seconds = asyncio.get_running_loop().time() - began
        is_coming_up = self.status.kind == "part" and self.status.state == STARTING
        return is_coming_up and ran_seconds > COMING_UP_SECONDS

    def _not_ready(self, reason: str) -> None:
        answered_before = self.status.state in (READY, NOT_READY)
        self._tell(NOT_READY if answered_before else STARTING, reason=reason)

    async def _pause(self, reason: str, *, ran_seconds: float, hopeless: bool) -> None:
        self._falls = self._falls.after(ran_seconds)
        self.status = replace(self.status, restarts=self.status.restarts + 1)
        self._again.clear()
        if hopeless:
            self._tell(REFUSED, reason=reason)
            await self._again.wait()
            self._falls = Falls()
            return
        self._tell(FAILING if self._falls.is_failing else RESTARTING, reason=reason)
        try:
            async with asyncio.timeout(self._falls.pause_seconds):
                await self._again.wait()
        except TimeoutError:
            pass

    def _last_words(self, code: int | None) -> str:
        ended = "it ended" if code is None else f"it ended with status {code}"
        said = tail(self._log)[-200:]
        return f"{ended}; last line of its log: {said}" if said else ended

    def _launch(self) -> Launch:
        return self.unit.launch(log=self._log, number=self._number)

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
