"""When does a process that does nothing have to end?

When messages wait, nothing has moved for the threshold and nobody has said why. A stated pause, an
empty topic and slow work are no stall. `judge` decides; the `Watchdog` looks from a thread of its
own, so that a blocked event loop is seen too, diagnoses, reconnects, and only then ends the process.
Whoever starts processes (a supervisor, a platform) starts it again: it needs to know no more than
the exit code.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

from strider.runtime.observability.logging import logger

from .exit_codes import ExitCode
from .heartbeat import Heartbeat
from .stall_diagnosis import LOOP_TIMEOUT_SECONDS

MAX_CHECK_INTERVAL_SECONDS: Final = 10.0
CHECKS_PER_THRESHOLD: Final = 10
MAX_RECOVERY_SECONDS: Final = 30.0
"""How long new connections may take to bring movement back, before the process ends."""
LATE_CHECK_INTERVALS: Final = 3
"""Intervals without a look that mean that the process itself stood still (SIGSTOP, a starved machine)."""
CHECKS_OVER_MEMORY: Final = 3
"""Looks in a row above the memory limit before it counts: a peak is no leak."""
BLOCKED_LOOP_TIMEOUT_SECONDS: Final = 0.4
"""For each question to an event loop that was silent for the threshold: it has had its time."""
_log = logger("watchdog")


class WatchdogVerdict(StrEnum):
    """What a look at the process finds."""

    MOVING = "moving"
    IDLE = "idle"
    PAUSED = "paused"
    STALLED = "stalled"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class ProcessObservation:
    """What can be seen of the process at one moment; times are monotonic seconds."""

    now: float
    last_activity: float
    last_loop_tick: float
    """When the event loop last had a turn."""
    lag: int | None
    """Messages that wait; None where the broker did not say, although it answers."""
    pauses: tuple[str, ...] = ()
    """Stated reasons for doing nothing; a dependency that does not answer is one."""


def assess(
    observation: ProcessObservation, *, last_justified_idle: float, threshold_seconds: float
) -> WatchdogVerdict:
    """Judge what was seen; `quiet_since` is when there was last a good reason to be still."""
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


class Patient(Protocol):
    """The process, as the watchdog sees and treats it. Every method is called from its thread."""

    def lag(self) -> int | None:
        """Count what waits (messages, shards to be taken); None where the broker did not say."""

    def pauses(self) -> tuple[str, ...]:
        """List the stated reasons that excuse doing nothing."""

    def last_loop_tick(self) -> float:
        """Say when the event loop last had a turn."""

    def diagnose(self, *, timeout_seconds: float) -> dict[str, Any]:
        """Say what the dependencies, the loop and the stacks look like; so long may the loop take."""

    def reconnect(self) -> dict[str, str]:
        """Make new connections; what came of it, by dependency. Empty where the loop does not answer."""

    def exit(self, code: ExitCode, *, timeout_seconds: float) -> None:
        """End the process: in order if the loop answers within that time, at once if not."""


class Watchdog:
    """Looks after one process."""

    def __init__(
        self,
        target: Patient,
        heartbeat: Heartbeat,
        *,
        monotonic: Callable[[], float],
        threshold_seconds: float,
        memory_limit_bytes: int = 0,
        resident_bytes: Callable[[], int] = lambda: 0,
        on_stall: Callable[[str], None] = lambda _kind: None,
    ) -> None:
        self._patient = target
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
        """Time between two looks."""
        return min(MAX_CHECK_INTERVAL_SECONDS, self._threshold_seconds / CHECKS_PER_THRESHOLD)

    def start(self) -> None:
        """Look from a thread of its own until `stop`."""
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Stop looking."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self.interval_seconds):
            try:
                self.check()
            except Exception:  # noqa: BLE001  # nobody watches the watchdog: it must go on looking
                _log.exception("Watchdog check failed")

    def check(self) -> WatchdogVerdict:
        """Look once, and do what must be done."""
        self._check_memory()
        now = self._monotonic()
        if now - self._last_check > LATE_CHECK_INTERVALS * self.interval_seconds:
            # This thread was not running either: the whole process was stopped, and is owed its time.
            self._last_justified_idle = self._awake_since = now
        self._last_check = now
        sight = ProcessObservation(
            now=now,
            last_activity=self._heartbeat.last_activity,
            last_loop_tick=max(self._patient.last_loop_tick(), self._awake_since),
            lag=self._patient.lag(),
            pauses=self._patient.pauses(),
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
        """Whether the loop turned lately; a silent one is waited for until it turns, or counts as blocked."""
        return observation.now - observation.last_loop_tick < self._threshold_seconds / 2

    def _recover(self, observation: ProcessObservation, verdict: WatchdogVerdict) -> None:
        self._on_stall(verdict.value)
        _log.error(
            "Stall detected",
            kind=verdict.value,
            quiet_seconds=round(observation.now - observation.last_activity, 1),
            loop_silent_seconds=round(observation.now - observation.last_loop_tick, 1),
            lag=observation.lag,
            **self._heartbeat.report(),
        )
        _log.error("Stall diagnosed", **self._patient.diagnose(timeout_seconds=_loop_timeout(verdict)))
        results = {} if verdict is WatchdogVerdict.BLOCKED else self._patient.reconnect()
        if not results:
            self._end(observation, verdict, "nothing can be reconnected")
            return
        _log.warning("Stalled connections reopened", **results)
        self._deadline = observation.now + min(MAX_RECOVERY_SECONDS, self._threshold_seconds)

    def _await_recovery(self, observation: ProcessObservation, verdict: WatchdogVerdict) -> None:
        """After treatment: movement or a stated reason ends the alarm, time ends the process."""
        assert self._deadline is not None
        if verdict not in {WatchdogVerdict.STALLED, WatchdogVerdict.BLOCKED}:
            self._deadline = None
            _log.info("Stall resolved", now=verdict.value)
        elif observation.now >= self._deadline:
            self._end(observation, verdict, "reconnecting did not help")

    def _end(self, observation: ProcessObservation, verdict: WatchdogVerdict, why: str) -> None:
        _log.critical(
            "Stalled process ended",
            why=why,
            quiet_seconds=round(observation.now - observation.last_activity, 1),
        )
        self._stopped.set()
        self._patient.exit(ExitCode.STALLED, timeout_seconds=_loop_timeout(verdict))

    def _check_memory(self) -> None:
        used = self._resident_bytes()
        is_over = 0 < self._memory_limit_bytes < used
        self._checks_over_memory = self._checks_over_memory + 1 if is_over else 0
        if self._checks_over_memory >= CHECKS_OVER_MEMORY:
            _log.critical(
                "Memory limit exceeded", why="memory", used_bytes=used, limit=self._memory_limit_bytes
            )
            self._stopped.set()
            self._patient.exit(ExitCode.FAILED, timeout_seconds=LOOP_TIMEOUT_SECONDS)


def _loop_timeout(verdict: WatchdogVerdict) -> float:
    return BLOCKED_LOOP_TIMEOUT_SECONDS if verdict is WatchdogVerdict.BLOCKED else LOOP_TIMEOUT_SECONDS


def resident_bytes() -> int:
    """Resident memory of this process; 0 where the system does not say (then there is no limit)."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    except (OSError, ValueError, IndexError):
        return 0
