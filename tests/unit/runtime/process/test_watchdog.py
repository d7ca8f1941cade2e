"""The watchdog: sees what stands still without a reason, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from strider.runtime.observability import log_events
from strider.runtime.process.exit_codes import ExitCode
from strider.runtime.process.heartbeat import MAX_DOMAINS, Heartbeat
from strider.runtime.process.watchdog import (
    CHECKS_OVER_MEMORY,
    ProcessObservation,
    Watchdog,
    WatchdogVerdict,
    assess,
    resident_bytes,
)
from strider.runtime.process.watchdog_target import LOOP_TIMEOUT_SECONDS

THRESHOLD = 300.0


@dataclass
class ManualClock:
    """A clock moved by hand."""

    seconds: float = 1000.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(1_800_000_000 + self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class FakeTarget:
    """A process whose state a test sets."""

    clock: ManualClock
    waiting: int | None = 5
    stated: tuple[str, ...] = ()
    turn: float | None = None
    reconnects: dict[str, str] = field(default_factory=lambda: {"postgres": "reconnected"})
    calls: list[str] = field(default_factory=list)
    ended: list[ExitCode] = field(default_factory=list)
    patience: list[float] = field(default_factory=list)
    """How long the event loop was given for each response."""

    def lag(self) -> int | None:
        return self.waiting

    def pauses(self) -> tuple[str, ...]:
        return self.stated

    def last_loop_tick(self) -> float:
        return self.clock.seconds if self.turn is None else self.turn

    def diagnose(self, *, timeout_seconds: float) -> dict[str, Any]:
        self.calls.append("diagnose")
        self.patience.append(timeout_seconds)
        return {"postgres": "SELECT 1: no answer"}

    def reconnect(self) -> dict[str, str]:
        self.calls.append("reconnect")
        return self.reconnects

    def exit(self, code: ExitCode, *, timeout_seconds: float) -> None:
        self.ended.append(code)
        self.patience.append(timeout_seconds)


@dataclass
class WatchdogScenario:
    """A watchdog with everything around it."""

    clock: ManualClock = field(default_factory=ManualClock)
    resident: int = 0
    stalls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        structlog.reset_defaults()
        self.process = FakeTarget(self.clock)
        self.heartbeat = Heartbeat(self.clock)
        self.watchdog = Watchdog(
            self.process,
            self.heartbeat,
            monotonic=self.clock.monotonic,
            threshold_seconds=THRESHOLD,
            memory_limit_bytes=1000,
            resident_bytes=lambda: self.resident,
            on_stall=self.stalls.append,
        )

    def watch(self, seconds: float) -> tuple[list[WatchdogVerdict], list[str]]:
        """Let time pass, checking as often as the watchdog would; verdicts without repeats, and log lines."""
        verdicts: list[WatchdogVerdict] = []
        with capture_logs() as lines:
            passed = 0.0
            while passed < seconds and not self.process.ended:
                self.clock.seconds += self.watchdog.interval_seconds
                passed += self.watchdog.interval_seconds
                verdicts.append(self.watchdog.check())
        kinds = [one for one, before in zip(verdicts, [None, *verdicts], strict=False) if one != before]
        return kinds, [line["event"] for line in lines]


@pytest.fixture
def kennel() -> WatchdogScenario:
    return WatchdogScenario()


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        pytest.param({}, WatchdogVerdict.STALLED, id="work-waits-and-nothing-moves"),
        pytest.param({"last_activity": 701.0}, WatchdogVerdict.MOVING, id="just-below-the-threshold"),
        pytest.param({"last_activity": 700.0}, WatchdogVerdict.STALLED, id="just-at-the-threshold"),
        pytest.param({"lag": 0}, WatchdogVerdict.IDLE, id="nothing-waits"),
        pytest.param({"lag": None}, WatchdogVerdict.STALLED, id="a-broker-that-responds-without-offsets"),
        pytest.param({"pauses": ("redis",)}, WatchdogVerdict.PAUSED, id="a-stated-pause"),
        pytest.param({"last_loop_tick": 700.0}, WatchdogVerdict.BLOCKED, id="the-loop-does-not-turn"),
        pytest.param(
            {"last_loop_tick": 700.0, "pauses": ("x",)}, WatchdogVerdict.BLOCKED, id="blocked-while-paused"
        ),
        pytest.param({"last_loop_tick": 700.0, "lag": 0}, WatchdogVerdict.BLOCKED, id="blocked-while-idle"),
    ],
)
def test_an_observation_is_assessed(changes: dict[str, Any], verdict: WatchdogVerdict) -> None:
    seen = {"now": 1000.0, "last_activity": 0.0, "last_loop_tick": 1000.0, "lag": 5, **changes}

    assert assess(ProcessObservation(**seen), last_justified_idle=0.0, threshold_seconds=THRESHOLD) == verdict


def test_a_good_reason_to_be_still_ends_slowly() -> None:
    """The first message after an idle night must get the whole threshold."""
    sight = ProcessObservation(now=1000.0, last_activity=0.0, last_loop_tick=1000.0, lag=1)

    assert assess(sight, last_justified_idle=990.0, threshold_seconds=THRESHOLD) == WatchdogVerdict.MOVING


@pytest.mark.req("S2.1.4", "S2.1.5")
def test_a_stall_is_logged_diagnosed_reconnected_and_ends_the_process(kennel: WatchdogScenario) -> None:
    """In that order, each once; the exit code makes the supervisor start again."""
    verdicts, lines = kennel.watch(THRESHOLD + 60)

    assert verdicts == [WatchdogVerdict.MOVING, WatchdogVerdict.STALLED]
    assert lines == [
        log_events.STALL_DETECTED.text,
        log_events.STALL_DIAGNOSED.text,
        log_events.STALLED_CONNECTIONS_REOPENED.text,
        log_events.STALLED_PROCESS_ENDED.text,
    ]
    assert kennel.process.calls == ["diagnose", "reconnect"]
    assert kennel.process.ended == [ExitCode.STALLED]
    assert kennel.process.patience == [LOOP_TIMEOUT_SECONDS, LOOP_TIMEOUT_SECONDS]
    assert kennel.stalls == ["stalled"]


@pytest.mark.req("S2.1.1")
def test_new_connections_that_help_save_the_process(kennel: WatchdogScenario) -> None:
    """Basic recovery needs nothing from outside."""
    kennel.watch(THRESHOLD)
    kennel.heartbeat.beat()

    _, lines = kennel.watch(60)

    assert lines == [log_events.STALL_RESOLVED.text]
    assert kennel.process.ended == []


def test_a_stall_may_come_again_after_a_recovery(kennel: WatchdogScenario) -> None:
    kennel.watch(THRESHOLD)
    kennel.heartbeat.beat()

    kennel.watch(2 * THRESHOLD)

    assert kennel.stalls == ["stalled", "stalled"]
    assert kennel.process.ended == [ExitCode.STALLED]


def test_a_loop_that_is_silent_when_the_stall_is_due_is_reported_as_blocked(kennel: WatchdogScenario) -> None:
    """It was idle a little longer than it was silent; a call or reconnect would only cost time."""
    kennel.watch(20)
    kennel.process.turn = kennel.clock.seconds
    kennel.watch(THRESHOLD + 10)

    assert (kennel.stalls, kennel.process.calls) == (["blocked"], ["diagnose"])
    assert kennel.process.ended == [ExitCode.STALLED]


def test_a_silent_loop_that_turns_again_is_treated_as_stalled(kennel: WatchdogScenario) -> None:
    kennel.watch(20)
    kennel.process.turn = kennel.clock.seconds
    kennel.watch(THRESHOLD - 20)
    assert kennel.stalls == []

    kennel.process.turn = None
    kennel.watch(10)

    assert (kennel.stalls, kennel.process.calls) == (["stalled"], ["diagnose", "reconnect"])


def test_a_process_whose_loop_does_not_respond_ends_at_once(kennel: WatchdogScenario) -> None:
    """What cannot be reached cannot be treated, and is not waited for again."""
    kennel.process.turn = kennel.clock.seconds

    verdicts, lines = kennel.watch(THRESHOLD)

    assert verdicts == [WatchdogVerdict.MOVING, WatchdogVerdict.BLOCKED]
    assert lines == [
        log_events.STALL_DETECTED.text,
        log_events.STALL_DIAGNOSED.text,
        log_events.STALLED_PROCESS_ENDED.text,
    ]
    assert kennel.process.calls == ["diagnose"]
    assert kennel.process.ended == [ExitCode.STALLED]
    assert sum(kennel.process.patience) < 1.0


@pytest.mark.parametrize(
    "still",
    [
        pytest.param({"stated": ("redis does not answer",)}, id="a-stated-pause"),
        pytest.param({"waiting": 0}, id="an-idle-topic"),
    ],
)
def test_a_reason_to_be_still_may_last(kennel: WatchdogScenario, still: dict[str, Any]) -> None:
    """An outage of hours, or a quiet night, restarts nothing."""
    for name, value in still.items():
        setattr(kennel.process, name, value)

    _, lines = kennel.watch(20 * THRESHOLD)

    assert lines == []
    assert kennel.process.ended == []


def test_the_clock_starts_when_the_reason_ends(kennel: WatchdogScenario) -> None:
    kennel.process.stated = ("redis does not answer",)
    kennel.watch(20 * THRESHOLD)
    kennel.process.stated = ()

    _, before = kennel.watch(THRESHOLD - 20)
    _, after = kennel.watch(40)

    assert before == []
    assert after[:1] == [log_events.STALL_DETECTED.text]


def test_slow_work_that_moves_is_no_stall(kennel: WatchdogScenario) -> None:
    """One page in four minutes is slow, and it is work."""
    for _ in range(10):
        kennel.watch(THRESHOLD - 20)
        kennel.heartbeat.record_success()

    assert kennel.stalls == []


def test_a_process_that_was_stopped_is_owed_its_time(kennel: WatchdogScenario) -> None:
    """After SIGCONT the watchdog may run first: the loop had no chance to turn, nor the work to move."""
    kennel.watch(20)
    kennel.process.turn = kennel.clock.seconds
    kennel.clock.seconds += 10 * THRESHOLD

    verdict = kennel.watchdog.check()

    assert verdict == WatchdogVerdict.MOVING
    assert kennel.stalls == []


@pytest.mark.req("S2.1.14")
def test_memory_over_its_limit_is_unrecoverable(kennel: WatchdogScenario) -> None:
    kennel.process.waiting = 0
    kennel.resident = 1001

    _, lines = kennel.watch(kennel.watchdog.interval_seconds * CHECKS_OVER_MEMORY)

    assert lines == [log_events.MEMORY_LIMIT_EXCEEDED.text]
    assert kennel.process.ended == [ExitCode.FAILED]


def test_a_peak_of_memory_is_no_leak(kennel: WatchdogScenario) -> None:
    kennel.process.waiting = 0
    for _ in range(5):
        kennel.resident = 1001
        kennel.watch(kennel.watchdog.interval_seconds * (CHECKS_OVER_MEMORY - 1))
        kennel.resident = 999
        kennel.watch(kennel.watchdog.interval_seconds)

    assert kennel.process.ended == []


def test_resident_memory_is_known_where_the_system_reports_it() -> None:
    assert resident_bytes() == 0 or resident_bytes() > 1_000_000


@pytest.mark.req("S2.1.2", part="last success and failures in a row; no service counts errors of domains")
def test_the_heartbeat_keeps_the_health_state() -> None:
    clock = ManualClock()
    heartbeat = Heartbeat(clock)

    heartbeat.record_success()
    success = clock.now()
    clock.seconds += 10
    heartbeat.record_failure("a.test")
    heartbeat.record_failure("b.test")
    heartbeat.record_failure("a.test")
    clock.seconds += 5

    assert heartbeat.report() == {
        "last_activity": datetime.fromtimestamp(1_800_000_000 + 1010, UTC).isoformat(),
        "last_success": success.isoformat(),
        "consecutive_failures": 3,
        "domain_errors": {"a.test": 2, "b.test": 1},
    }
    heartbeat.record_success()
    assert heartbeat.consecutive_failures == 0


def test_domains_with_errors_are_bounded() -> None:
    """A wildcard domain has endless hosts."""
    heartbeat = Heartbeat(ManualClock())
    heartbeat.record_failure("old.test")
    for number in range(MAX_DOMAINS):
        heartbeat.record_failure(f"{number}.test")

    assert len(heartbeat.domain_errors()) == MAX_DOMAINS
    assert "old.test" not in heartbeat.domain_errors()
