"""Watchdog that ends a stalled process.

A process is stalled when messages wait, nothing has moved for the threshold and no pause explains it. A
pause, an empty topic and slow work are no stall. `assess` decides; the `Watchdog` runs in a thread of its
own, so that a blocked event loop is noticed too, diagnoses, reconnects, and only then ends the process. The
supervisor or platform starts it again: it needs no more than the exit code.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger

from .exit_codes import ExitCode
from .heartbeat import Heartbeat
from .watchdog_target import LOOP_TIMEOUT_SECONDS

MAX_CHECK_INTERVAL_SECONDS: Final = 10.0
CHECKS_PER_THRESHOLD: Final = 10
MAX_RECOVERY_SECONDS: Final = 30.0
"""How long new connections may take to bring movement back, before the process ends."""
LATE_CHECK_INTERVALS: Final = 3
"""Intervals without a check that mean that the process itself was stopped (SIGSTOP, a starved machine)."""
CHECKS_OVER_MEMORY: Final = 3
"""Checks in a row above the memory limit before it counts: a peak is no leak."""
BLOCKED_LOOP_TIMEOUT_SECONDS: Final = 0.4
"""For each call to an event loop that was silent for the threshold: it has had its time."""
_log = logger("watchdog")


class WatchdogVerdict(StrEnum):
    """Result of one check of the process."""

    MOVING = "moving"
    IDLE = "idle"
    PAUSED = "paused"
    STALLED = "stalled"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class ProcessObservation:
    """Observation of the process at one moment; times are monotonic seconds."""

    now: float
    last_activity: float
    last_loop_tick: float
    """When the event loop last ran."""
    lag: int | None
    """Messages that wait; None where the broker gave no lag, although it responds."""
    pauses: tuple[str, ...] = ()
    """Stated reasons for doing nothing; an unavailable dependency is one."""


def assess(
    observation: ProcessObservation, *, last_justified_idle: float, threshold_seconds: float
) -> WatchdogVerdict:
    """Assess an observation; `last_justified_idle` is when there was last a good reason for no movement."""
    if observation.now - observation.last_loop_tick >= threshold_seconds:
        return WatchdogVerdict.BLOCKED
    if observation.pauses:
        return WatchdogVerdict.PAUSED
    if observation.lag == 0:
        return WatchdogVerdict.IDLE
    still_since = max(last_justified_idle, observation.last_activity)
    return (
        WatchdogVerdict.STALLED
        if observation.now - still_since >= threshold_seconds
        else WatchdogVerdict.MOVING
    )


class WatchdogTarget(Protocol):
    """The process that the watchdog observes and ends. Every method is called from its thread."""

    def lag(self) -> int | None:
        """Return what waits (messages, shards to be taken over); None where the broker gave no lag."""

    def pauses(self) -> tuple[str, ...]:
        """Return the reasons that justify doing nothing."""

    def last_loop_tick(self) -> float:
        """Return when the event loop last ran."""

    def diagnose(self, *, timeout_seconds: float) -> dict[str, Any]:
        """Return the state of dependencies, loop and stacks; the loop may take so long for it."""

    def reconnect(self) -> dict[str, str]:
        """Reconnect; return the result by dependency. Empty where the loop does not respond."""

    def exit(self, code: ExitCode, *, timeout_seconds: float) -> None:
        """End the process: in order if the loop responds within that time, at once if not."""


class Watchdog:
    """Watches one process."""

    def __init__(
        self,
        target: WatchdogTarget,
        heartbeat: Heartbeat,
        *,
        monotonic: Callable[[], float],
        threshold_seconds: float,
        memory_limit_bytes: int = 0,
        resident_bytes: Callable[[], int] = lambda: 0,
        on_stall: Callable[[str], None] = lambda _kind: None,
    ) -> None:
        self._target = target
        self._heartbeat = heartbeat
        self._monotonic = monotonic
        self._threshold_seconds = threshold_seconds
        self._memory_limit_bytes = memory_limit_bytes
        self._resident_bytes = resident_bytes
        self._on_stall = on_stall
        self._last_justified_idle = self._awake_since = self._last_check = monotonic()
        self._deadline: float | None = None
        self._checks_over_memory = 0
        self._stopped = threading.Event()

    @property
    def interval_seconds(self) -> float:
        """Time between two checks."""
        return min(MAX_CHECK_INTERVAL_SECONDS, self._threshold_seconds / CHECKS_PER_THRESHOLD)

    def start(self) -> None:
        """Check from a thread of its own until `stop`."""
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Stop checking."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self.interval_seconds):
            try:
                self.check()
            except Exception:  # noqa: BLE001  # nothing watches the watchdog: it must continue
                _log.emit(log_events.WATCHDOG_CHECK_FAILED, exc_info=True)

    def check(self) -> WatchdogVerdict:
        """Check once, and do what follows."""
        self._check_memory()
        now = self._monotonic()
        if now - self._last_check > LATE_CHECK_INTERVALS * self.interval_seconds:
            # This thread was not running either: the whole process was stopped, and gets its time back.
            self._last_justified_idle = self._awake_since = now
        self._last_check = now
        sight = ProcessObservation(
            now=now,
            last_activity=self._heartbeat.last_activity,
            last_loop_tick=max(self._target.last_loop_tick(), self._awake_since),
            lag=self._target.lag(),
            pauses=self._target.pauses(),
        )
        verdict = assess(
            sight, last_justified_idle=self._last_justified_idle, threshold_seconds=self._threshold_seconds
        )
        if verdict in {WatchdogVerdict.IDLE, WatchdogVerdict.PAUSED}:
            self._last_justified_idle = sight.now
        if self._deadline is not None:
            self._await_recovery(sight, verdict)
        elif verdict is WatchdogVerdict.BLOCKED or (
            verdict is WatchdogVerdict.STALLED and self._is_loop_responsive(sight)
        ):
            self._recover(sight, verdict)
        return verdict

    def _is_loop_responsive(self, observation: ProcessObservation) -> bool:
        """Whether the loop ran lately; a silent one is waited for until it runs, or counts as blocked."""
        return observation.now - observation.last_loop_tick < self._threshold_seconds / 2

    def _recover(self, observation: ProcessObservation, verdict: WatchdogVerdict) -> None:
        self._on_stall(verdict.value)
        _log.emit(
            log_events.STALL_DETECTED,
            kind=verdict.value,
            quiet_seconds=round(observation.now - observation.last_activity, 1),
            loop_silent_seconds=round(observation.now - observation.last_loop_tick, 1),
            lag=observation.lag,
            **self._heartbeat.report(),
        )
        _log.emit(log_events.STALL_DIAGNOSED, **self._target.diagnose(timeout_seconds=_loop_timeout(verdict)))
        results = {} if verdict is WatchdogVerdict.BLOCKED else self._target.reconnect()
        if not results:
            self._exit(observation, verdict, "nothing can be reconnected")
            return
        _log.emit(log_events.STALLED_CONNECTIONS_REOPENED, **results)
        self._deadline = observation.now + min(MAX_RECOVERY_SECONDS, self._threshold_seconds)

    def _await_recovery(self, observation: ProcessObservation, verdict: WatchdogVerdict) -> None:
        """After reconnecting: movement or a stated reason ends the alarm, the timeout ends the process."""
        assert self._deadline is not None
        if verdict not in {WatchdogVerdict.STALLED, WatchdogVerdict.BLOCKED}:
            self._deadline = None
            _log.emit(log_events.STALL_RESOLVED, now=verdict.value)
        elif observation.now >= self._deadline:
            self._exit(observation, verdict, "reconnecting did not help")

    def _exit(self, observation: ProcessObservation, verdict: WatchdogVerdict, why: str) -> None:
        _log.emit(
            log_events.STALLED_PROCESS_ENDED,
            why=why,
            quiet_seconds=round(observation.now - observation.last_activity, 1),
        )
        self._stopped.set()
        self._target.exit(ExitCode.STALLED, timeout_seconds=_loop_timeout(verdict))

    def _check_memory(self) -> None:
        used = self._resident_bytes()
        is_over = 0 < self._memory_limit_bytes < used
        self._checks_over_memory = self._checks_over_memory + 1 if is_over else 0
        if self._checks_over_memory >= CHECKS_OVER_MEMORY:
            _log.emit(
                log_events.MEMORY_LIMIT_EXCEEDED,
                why="memory",
                used_bytes=used,
                limit=self._memory_limit_bytes,
            )
            self._stopped.set()
            self._target.exit(ExitCode.FAILED, timeout_seconds=LOOP_TIMEOUT_SECONDS)


def _loop_timeout(verdict: WatchdogVerdict) -> float:
    return BLOCKED_LOOP_TIMEOUT_SECONDS if verdict is WatchdogVerdict.BLOCKED else LOOP_TIMEOUT_SECONDS


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 (no limit) where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    except (OSError, ValueError, IndexError):
        return 0
