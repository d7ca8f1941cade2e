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

from .exits import ExitCode
from .logs import logger
from .watchdog_diagnosis import ANSWER_SECONDS
from .watchdog_heartbeat import Heartbeat

LONGEST_LOOK_INTERVAL_SECONDS: Final = 10.0
LOOKS_PER_THRESHOLD: Final = 10
LONGEST_RECOVERY_SECONDS: Final = 30.0
"""How long new connections may take to bring movement back, before the process ends."""
LATE_LOOKS: Final = 3
"""Intervals without a look that mean that the process itself stood still (SIGSTOP, a starved machine)."""
LOOKS_OVER_MEMORY: Final = 3
"""Looks in a row above the memory limit before it counts: a peak is no leak."""
BLOCKED_ANSWER_SECONDS: Final = 0.4
"""For each question to an event loop that was silent for the threshold: it has had its time."""
_log = logger("watchdog")


class Verdict(StrEnum):
    """What a look at the process finds."""

    MOVING = "moving"
    IDLE = "idle"
    PAUSED = "paused"
    STALLED = "stalled"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Sight:
    """What can be seen of the process at one moment; times are monotonic seconds."""

    now: float
    last_activity: float
    last_turn: float
    """When the event loop last had a turn."""
    lag: int | None
    """Messages that wait; None where the broker did not say, although it answers."""
    pauses: tuple[str, ...] = ()
    """Stated reasons for doing nothing; a dependency that does not answer is one."""


def judge(sight: Sight, *, quiet_since: float, threshold_seconds: float) -> Verdict:
    """Judge what was seen; `quiet_since` is when there was last a good reason to be still."""
    if sight.now - sight.last_turn >= threshold_seconds:
        return Verdict.BLOCKED
    if sight.pauses:
        return Verdict.PAUSED
    if sight.lag == 0:
        return Verdict.IDLE
    still_since = max(quiet_since, sight.last_activity)
    return Verdict.STALLED if sight.now - still_since >= threshold_seconds else Verdict.MOVING


class Patient(Protocol):
    """The process, as the watchdog sees and treats it. Every method is called from its thread."""

    def lag(self) -> int | None:
        """Count what waits (messages, shards to be taken); None where the broker did not say."""

    def pauses(self) -> tuple[str, ...]:
        """List the stated reasons that excuse doing nothing."""

    def last_turn(self) -> float:
        """Say when the event loop last had a turn."""

    def diagnose(self, *, answer_seconds: float) -> dict[str, Any]:
        """Say what the dependencies, the loop and the stacks look like; so long may the loop take."""

    def reconnect(self) -> dict[str, str]:
        """Make new connections; what came of it, by dependency. Empty where the loop does not answer."""

    def end(self, code: ExitCode, *, answer_seconds: float) -> None:
        """End the process: in order if the loop answers within that time, at once if not."""


class Watchdog:
    """Looks after one process."""

    def __init__(
        self,
        patient: Patient,
        heartbeat: Heartbeat,
        *,
        monotonic: Callable[[], float],
        threshold_seconds: float,
        memory_limit_bytes: int = 0,
        resident_bytes: Callable[[], int] = lambda: 0,
        on_stall: Callable[[str], None] = lambda _kind: None,
    ) -> None:
        self._patient = patient
        self._heartbeat = heartbeat
        self._monotonic = monotonic
        self._threshold_seconds = threshold_seconds
        self._memory_limit_bytes = memory_limit_bytes
        self._resident_bytes = resident_bytes
        self._on_stall = on_stall
        self._quiet_since = self._awake_since = self._last_look = monotonic()
        self._deadline: float | None = None
        self._looks_over_memory = 0
        self._stopped = threading.Event()

    @property
    def interval_seconds(self) -> float:
        """Time between two looks."""
        return min(LONGEST_LOOK_INTERVAL_SECONDS, self._threshold_seconds / LOOKS_PER_THRESHOLD)

    def start(self) -> None:
        """Look from a thread of its own until `stop`."""
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Stop looking."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self.interval_seconds):
            try:
                self.look()
            except Exception:  # noqa: BLE001  # nobody watches the watchdog: it must go on looking
                _log.exception("Watchdog Failed")

    def look(self) -> Verdict:
        """Look once, and do what must be done."""
        self._look_at_memory()
        now = self._monotonic()
        if now - self._last_look > LATE_LOOKS * self.interval_seconds:
            # This thread was not running either: the whole process was stopped, and is owed its time.
            self._quiet_since = self._awake_since = now
        self._last_look = now
        sight = Sight(
            now=now,
            last_activity=self._heartbeat.last_activity,
            last_turn=max(self._patient.last_turn(), self._awake_since),
            lag=self._patient.lag(),
            pauses=self._patient.pauses(),
        )
        verdict = judge(sight, quiet_since=self._quiet_since, threshold_seconds=self._threshold_seconds)
        if verdict in {Verdict.IDLE, Verdict.PAUSED}:
            self._quiet_since = sight.now
        if self._deadline is not None:
            self._await_recovery(sight, verdict)
        elif verdict is Verdict.BLOCKED or (verdict is Verdict.STALLED and self._can_be_asked(sight)):
            self._treat(sight, verdict)
        return verdict

    def _can_be_asked(self, sight: Sight) -> bool:
        """Whether the loop turned lately; a silent one is waited for until it turns, or counts as blocked."""
        return sight.now - sight.last_turn < self._threshold_seconds / 2

    def _treat(self, sight: Sight, verdict: Verdict) -> None:
        self._on_stall(verdict.value)
        _log.error(
            "Stall Detected",
            kind=verdict.value,
            quiet_seconds=round(sight.now - sight.last_activity, 1),
            loop_silent_seconds=round(sight.now - sight.last_turn, 1),
            lag=sight.lag,
            **self._heartbeat.report(),
        )
        _log.error("Stall Diagnosed", **self._patient.diagnose(answer_seconds=_patience_with(verdict)))
        results = {} if verdict is Verdict.BLOCKED else self._patient.reconnect()
        if not results:
            self._end(sight, verdict, "nothing can be reconnected")
            return
        _log.warning("Stall Treated", **results)
        self._deadline = sight.now + min(LONGEST_RECOVERY_SECONDS, self._threshold_seconds)

    def _await_recovery(self, sight: Sight, verdict: Verdict) -> None:
        """After treatment: movement or a stated reason ends the alarm, time ends the process."""
        assert self._deadline is not None
        if verdict not in {Verdict.STALLED, Verdict.BLOCKED}:
            self._deadline = None
            _log.info("Stall Over", now=verdict.value)
        elif sight.now >= self._deadline:
            self._end(sight, verdict, "reconnecting did not help")

    def _end(self, sight: Sight, verdict: Verdict, why: str) -> None:
        _log.critical(
            "Process Ends Stalled", why=why, quiet_seconds=round(sight.now - sight.last_activity, 1)
        )
        self._stopped.set()
        self._patient.end(ExitCode.STALLED, answer_seconds=_patience_with(verdict))

    def _look_at_memory(self) -> None:
        used = self._resident_bytes()
        is_over = 0 < self._memory_limit_bytes < used
        self._looks_over_memory = self._looks_over_memory + 1 if is_over else 0
        if self._looks_over_memory >= LOOKS_OVER_MEMORY:
            _log.critical(
                "Unrecoverable State", why="memory", used_bytes=used, limit=self._memory_limit_bytes
            )
            self._stopped.set()
            self._patient.end(ExitCode.FAILED, answer_seconds=ANSWER_SECONDS)


def _patience_with(verdict: Verdict) -> float:
    return BLOCKED_ANSWER_SECONDS if verdict is Verdict.BLOCKED else ANSWER_SECONDS


def resident_bytes() -> int:
    """Resident memory of this process; 0 where the system does not say (then there is no limit)."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    except (OSError, ValueError, IndexError):
        return 0
