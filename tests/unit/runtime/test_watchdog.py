"""The watchdog: sees what stands still without a reason, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from strider.runtime.exits import ExitCode
from strider.runtime.watchdog import LOOKS_OVER_MEMORY, Sight, Verdict, Watchdog, judge, resident_bytes
from strider.runtime.watchdog_diagnosis import ANSWER_SECONDS
from strider.runtime.watchdog_heartbeat import MOST_DOMAINS, Heartbeat

THRESHOLD = 300.0


@dataclass
class HandClock:
    """A clock moved by hand."""

    seconds: float = 1000.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(1_800_000_000 + self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class Process:
    """A process whose state a test sets."""

    clock: HandClock
    waiting: int | None = 5
    stated: tuple[str, ...] = ()
    turn: float | None = None
    reconnects: dict[str, str] = field(default_factory=lambda: {"postgres": "reconnected"})
    calls: list[str] = field(default_factory=list)
    ended: list[ExitCode] = field(default_factory=list)
    patience: list[float] = field(default_factory=list)
    """How long the event loop was given for each answer."""

    def lag(self) -> int | None:
        return self.waiting

    def pauses(self) -> tuple[str, ...]:
        return self.stated

    def last_turn(self) -> float:
        return self.clock.seconds if self.turn is None else self.turn

    def diagnose(self, *, answer_seconds: float) -> dict[str, Any]:
        self.calls.append("diagnose")
        self.patience.append(answer_seconds)
        return {"postgres": "SELECT 1: no answer"}

    def reconnect(self) -> dict[str, str]:
        self.calls.append("reconnect")
        return self.reconnects

    def end(self, code: ExitCode, *, answer_seconds: float) -> None:
        self.ended.append(code)
        self.patience.append(answer_seconds)


@dataclass
class Kennel:
    """A watchdog with everything around it."""

    clock: HandClock = field(default_factory=HandClock)
    resident: int = 0
    stalls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        structlog.reset_defaults()
        self.process = Process(self.clock)
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

    def watch(self, seconds: float) -> tuple[list[Verdict], list[str]]:
        """Let time pass, looking as often as the watchdog would; verdicts without repeats, and log lines."""
        verdicts: list[Verdict] = []
        with capture_logs() as lines:
            passed = 0.0
            while passed < seconds and not self.process.ended:
                self.clock.seconds += self.watchdog.interval_seconds
                passed += self.watchdog.interval_seconds
                verdicts.append(self.watchdog.look())
        kinds = [one for one, before in zip(verdicts, [None, *verdicts], strict=False) if one != before]
        return kinds, [line["event"] for line in lines]


@pytest.fixture
def kennel() -> Kennel:
    return Kennel()


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        pytest.param({}, Verdict.STALLED, id="work-waits-and-nothing-moves"),
        pytest.param({"last_activity": 701.0}, Verdict.MOVING, id="just-below-the-threshold"),
        pytest.param({"last_activity": 700.0}, Verdict.STALLED, id="just-at-the-threshold"),
        pytest.param({"lag": 0}, Verdict.IDLE, id="nothing-waits"),
        pytest.param({"lag": None}, Verdict.STALLED, id="a-broker-that-answers-but-does-not-say"),
        pytest.param({"pauses": ("redis",)}, Verdict.PAUSED, id="a-stated-pause"),
        pytest.param({"last_turn": 700.0}, Verdict.BLOCKED, id="the-loop-does-not-turn"),
        pytest.param({"last_turn": 700.0, "pauses": ("x",)}, Verdict.BLOCKED, id="blocked-while-paused"),
        pytest.param({"last_turn": 700.0, "lag": 0}, Verdict.BLOCKED, id="blocked-while-idle"),
    ],
)
def test_a_look_is_judged(changes: dict[str, Any], verdict: Verdict) -> None:
    seen = {"now": 1000.0, "last_activity": 0.0, "last_turn": 1000.0, "lag": 5, **changes}

    assert judge(Sight(**seen), quiet_since=0.0, threshold_seconds=THRESHOLD) == verdict


def test_a_good_reason_to_be_still_ends_slowly() -> None:
    """The first message after an idle night must get the whole threshold."""
    sight = Sight(now=1000.0, last_activity=0.0, last_turn=1000.0, lag=1)

    assert judge(sight, quiet_since=990.0, threshold_seconds=THRESHOLD) == Verdict.MOVING


@pytest.mark.req("S2.1.4", "S2.1.5")
def test_a_stall_is_told_diagnosed_treated_and_ends_the_process(kennel: Kennel) -> None:
    """In that order, each once; the exit code tells the supervisor to start again."""
    verdicts, lines = kennel.watch(THRESHOLD + 60)

    assert verdicts == [Verdict.MOVING, Verdict.STALLED]
    assert lines == ["Stall Detected", "Stall Diagnosed", "Stall Treated", "Process Ends Stalled"]
    assert kennel.process.calls == ["diagnose", "reconnect"]
    assert kennel.process.ended == [ExitCode.STALLED]
    assert kennel.process.patience == [ANSWER_SECONDS, ANSWER_SECONDS]
    assert kennel.stalls == ["stalled"]


@pytest.mark.req("S2.1.1")
def test_new_connections_that_help_save_the_process(kennel: Kennel) -> None:
    """Basic recovery needs nobody from outside."""
    kennel.watch(THRESHOLD)
    kennel.heartbeat.beat()

    _, lines = kennel.watch(60)

    assert lines == ["Stall Over"]
    assert kennel.process.ended == []


def test_a_stall_may_come_again_after_a_recovery(kennel: Kennel) -> None:
    kennel.watch(THRESHOLD)
    kennel.heartbeat.beat()

    kennel.watch(2 * THRESHOLD)

    assert kennel.stalls == ["stalled", "stalled"]
    assert kennel.process.ended == [ExitCode.STALLED]


def test_a_loop_that_is_silent_when_the_stall_is_due_is_told_as_blocked(kennel: Kennel) -> None:
    """It was still a little longer than it was silent; to ask it or reconnect it would only cost time."""
    kennel.watch(20)
    kennel.process.turn = kennel.clock.seconds
    kennel.watch(THRESHOLD + 10)

    assert (kennel.stalls, kennel.process.calls) == (["blocked"], ["diagnose"])
    assert kennel.process.ended == [ExitCode.STALLED]


def test_a_silent_loop_that_turns_again_is_treated_as_stalled(kennel: Kennel) -> None:
    kennel.watch(20)
    kennel.process.turn = kennel.clock.seconds
    kennel.watch(THRESHOLD - 20)
    assert kennel.stalls == []

    kennel.process.turn = None
    kennel.watch(10)

    assert (kennel.stalls, kennel.process.calls) == (["stalled"], ["diagnose", "reconnect"])


def test_a_process_without_a_loop_that_answers_ends_at_once(kennel: Kennel) -> None:
    """What cannot be reached cannot be treated, and is not waited for again."""
    kennel.process.turn = kennel.clock.seconds

    verdicts, lines = kennel.watch(THRESHOLD)

    assert verdicts == [Verdict.MOVING, Verdict.BLOCKED]
    assert lines == ["Stall Detected", "Stall Diagnosed", "Process Ends Stalled"]
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
def test_a_reason_to_be_still_may_last(kennel: Kennel, still: dict[str, Any]) -> None:
    """An outage of hours, or a quiet night, restarts nothing."""
    for name, value in still.items():
        setattr(kennel.process, name, value)

    _, lines = kennel.watch(20 * THRESHOLD)

    assert lines == []
    assert kennel.process.ended == []


def test_the_clock_starts_when_the_reason_ends(kennel: Kennel) -> None:
    kennel.process.stated = ("redis does not answer",)
    kennel.watch(20 * THRESHOLD)
    kennel.process.stated = ()

    _, before = kennel.watch(THRESHOLD - 20)
    _, after = kennel.watch(40)

    assert before == []
    assert after[:1] == ["Stall Detected"]


@pytest.mark.req("S2.1.3", "S2.5.2")
def test_slow_work_that_moves_is_no_stall(kennel: Kennel) -> None:
    """One page in four minutes is slow, and it is work."""
    for _ in range(10):
        kennel.watch(THRESHOLD - 20)
        kennel.heartbeat.succeeded()

    assert kennel.stalls == []


def test_a_process_that_was_stopped_is_owed_its_time(kennel: Kennel) -> None:
    """After SIGCONT the watchdog may run first: the loop had no chance to turn, nor the work to move."""
    kennel.watch(20)
    kennel.process.turn = kennel.clock.seconds
    kennel.clock.seconds += 10 * THRESHOLD

    verdict = kennel.watchdog.look()

    assert verdict == Verdict.MOVING
    assert kennel.stalls == []


@pytest.mark.req("S2.1.14")
def test_memory_over_its_limit_is_unrecoverable(kennel: Kennel) -> None:
    kennel.process.waiting = 0
    kennel.resident = 1001

    _, lines = kennel.watch(kennel.watchdog.interval_seconds * LOOKS_OVER_MEMORY)

    assert lines == ["Unrecoverable State"]
    assert kennel.process.ended == [ExitCode.FAILED]


def test_a_peak_of_memory_is_no_leak(kennel: Kennel) -> None:
    kennel.process.waiting = 0
    for _ in range(5):
        kennel.resident = 1001
        kennel.watch(kennel.watchdog.interval_seconds * (LOOKS_OVER_MEMORY - 1))
        kennel.resident = 999
        kennel.watch(kennel.watchdog.interval_seconds)

    assert kennel.process.ended == []


def test_resident_memory_is_told_where_the_system_tells_it() -> None:
    assert resident_bytes() == 0 or resident_bytes() > 1_000_000


@pytest.mark.req("S2.1.2")
def test_the_heartbeat_keeps_the_health_state() -> None:
    clock = HandClock()
    heartbeat = Heartbeat(clock)

    heartbeat.succeeded()
    success = clock.now()
    clock.seconds += 10
    heartbeat.failed("a.test")
    heartbeat.failed("b.test")
    heartbeat.failed("a.test")
    clock.seconds += 5

    assert heartbeat.report() == {
        "last_activity": datetime.fromtimestamp(1_800_000_000 + 1010, UTC).isoformat(),
        "last_success": success.isoformat(),
        "consecutive_failures": 3,
        "domain_errors": {"a.test": 2, "b.test": 1},
    }
    heartbeat.succeeded()
    assert heartbeat.consecutive_failures == 0


def test_domains_with_errors_are_bounded() -> None:
    """A wildcard domain has endless hosts."""
    heartbeat = Heartbeat(HandClock())
    heartbeat.failed("old.test")
    for number in range(MOST_DOMAINS):
        heartbeat.failed(f"{number}.test")

    assert len(heartbeat.domain_errors()) == MOST_DOMAINS
    assert "old.test" not in heartbeat.domain_errors()
