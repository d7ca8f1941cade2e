"""What the watchdog observes of a process, and how it ends one whose event loop responds, or does not."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from strider.messaging.errors import Unavailable
from strider.messaging.ports import TopicPartition
from strider.runtime.clocks import SystemClock
from strider.runtime.observability.consumer_metrics import ConsumerMetrics
from strider.runtime.observability.metrics import Metrics
from strider.runtime.process.exit_codes import ExitCode
from strider.runtime.process.health import RUNNING, Dependency, Readiness
from strider.runtime.process.heartbeat import Heartbeat
from strider.runtime.process.watchdog import (
    BLOCKED_LOOP_TIMEOUT_SECONDS,
    ProcessObservation,
    WatchdogVerdict,
    assess,
)
from strider.runtime.process.watchdog_target import (
    ServiceWatchdogTarget,
    WatchedLoop,
    check_dependencies,
    reconnect_dependencies,
    run_on_loop,
    task_stacks,
    thread_stacks,
)

PLACE = TopicPartition("notes", 0)


@dataclass
class StillLoop:
    """A consumer loop, as far as it is looked at."""

    last_activity: float = 0.0
    opening: int = 0
    assignment: frozenset[TopicPartition] = frozenset((PLACE,))


@dataclass
class Ends:
    """What happened to a process: asked to stop, ended at once."""

    asked: list[ExitCode] = field(default_factory=list)
    at_once: list[int] = field(default_factory=list)


@dataclass
class Patient:
    """A process with one consumer loop."""

    grace_seconds: float = 60.0

    def __post_init__(self) -> None:
        clock = SystemClock()
        self.loop, self.ends, self.readiness = StillLoop(), Ends(), Readiness(clock)
        self.readiness.phase = RUNNING
        metrics, heartbeat = Metrics(), Heartbeat(clock)
        self.meter = ConsumerMetrics(metrics, heartbeat, group="readers", clock=clock)
        self.vitals = ServiceWatchdogTarget(
            clock=clock,
            heartbeat=heartbeat,
            readiness=self.readiness,
            metrics=metrics,
            dependencies=(),
            consumers=(WatchedLoop(self.loop, self.meter),),
            stop=self.ends.asked.append,
            shutdown_seconds=self.grace_seconds,
            exit_now=self.ends.at_once.append,
        )


async def seconds_of(work: Callable[[], object]) -> float:
    """Do something on another thread, as the watchdog does."""
    began = time.monotonic()
    await asyncio.to_thread(work)
    return time.monotonic() - began


async def test_a_shard_that_is_being_taken_is_work_that_waits() -> None:
    """Else a take-over that hangs on a quiet topic would pass for an idle process."""
    patient = Patient()
    patient.meter.lag("notes", 0, 0)
    idle = patient.vitals.lag()
    patient.loop.opening = 3

    assert (idle, patient.vitals.lag()) == (0, 3)


async def test_a_pause_that_excuses_nothing_is_no_pause_to_the_watchdog() -> None:
    patient = Patient()
    patient.loop.opening = 1
    patient.readiness.watch_pauses(lambda: ["shards: not ready yet"], exempt=list)
    sight = ProcessObservation(
        now=1000.0,
        last_activity=0.0,
        last_loop_tick=1000.0,
        lag=patient.vitals.lag(),
        pauses=patient.vitals.pauses(),
    )

    assert patient.readiness.reasons() == ["paused: shards: not ready yet"]
    assert assess(sight, last_justified_idle=0.0, threshold_seconds=300.0) == WatchdogVerdict.STALLED


async def test_a_loop_that_begins_the_exit_gets_its_shutdown_time() -> None:
    patient = Patient()

    took = await seconds_of(lambda: patient.vitals.exit(ExitCode.STALLED, timeout_seconds=30.0))
    patient.vitals.cancel_forced_exit()

    assert (patient.ends.asked, patient.ends.at_once) == ([ExitCode.STALLED], [])
    assert took < 10


async def test_a_loop_that_begins_the_exit_and_hangs_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("strider.runtime.process.watchdog_target.FORCED_EXIT_DELAY_SECONDS", 0.05)
    patient = Patient(grace_seconds=0.05)

    await seconds_of(lambda: patient.vitals.exit(ExitCode.STALLED, timeout_seconds=30.0))
    async with asyncio.timeout(10):
        while not patient.ends.at_once:
            await asyncio.sleep(0.01)

    assert (patient.ends.asked, patient.ends.at_once) == ([ExitCode.STALLED], [int(ExitCode.STALLED)])


@pytest.mark.req("S2.1.5")
async def test_a_blocked_loop_is_diagnosed_and_ended_within_a_second() -> None:
    """Nothing can respond: a shutdown time of a minute would be a minute in which nothing is done."""
    patient = Patient()
    diagnosed: dict[str, object] = {}
    ended = threading.Event()

    def treat() -> None:
        diagnosed.update(patient.vitals.diagnose(timeout_seconds=BLOCKED_LOOP_TIMEOUT_SECONDS))
        patient.vitals.exit(ExitCode.STALLED, timeout_seconds=BLOCKED_LOOP_TIMEOUT_SECONDS)
        ended.set()

    began = time.monotonic()
    threading.Thread(target=treat).start()
    ended.wait(30)  # which blocks this event loop
    took = time.monotonic() - began

    assert (patient.ends.asked, patient.ends.at_once) == ([], [int(ExitCode.STALLED)])
    assert diagnosed["dependencies"] == "the event loop does not respond"
    assert took < 2


async def fine() -> None:
    return


async def refused() -> None:
    raise Unavailable("postgres", "connection refused")


@pytest.mark.req("S2.1.9")
async def test_every_dependency_is_probed_in_its_own_way() -> None:
    asked: list[str] = []

    async def select_1() -> None:
        asked.append("SELECT 1")

    answers = await check_dependencies([Dependency("postgres", select_1), Dependency("redis", refused)])

    assert answers == {"postgres": "ok", "redis": "connection refused"}
    assert asked == ["SELECT 1"]


async def test_what_can_be_reconnected_is() -> None:
    results = await reconnect_dependencies(
        [
            Dependency("kafka", fine),
            Dependency("postgres", fine, reconnect=refused),
            Dependency("redis", fine, reconnect=fine),
        ]
    )

    assert results == {"postgres": "connection refused", "redis": "reconnected"}


async def test_stacks_show_where_tasks_wait() -> None:
    async def waiting_for_godot() -> None:
        await asyncio.Event().wait()

    tasks = [asyncio.create_task(waiting_for_godot()) for _ in range(3)]
    await asyncio.sleep(0)

    stacks = task_stacks(asyncio.get_running_loop())

    for task in tasks:
        task.cancel()
    (waiting,) = (line for line in stacks if "waiting_for_godot" in line)
    assert waiting.startswith("3 x ")
    assert "Event.wait" in waiting


def test_stacks_show_what_another_thread_does() -> None:
    release, entered = threading.Event(), threading.Event()

    def stands_here() -> None:
        entered.set()
        release.wait(10)

    thread = threading.Thread(target=stands_here, name="stander")
    thread.start()
    entered.wait(10)
    stacks = thread_stacks()
    release.set()
    thread.join()

    assert any("stands_here" in line for line in stacks["stander"])


def test_a_loop_runs_work_of_another_thread() -> None:
    """And one that is blocked does not, which is noticed within the time set for it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    release = threading.Event()

    answered = run_on_loop(loop, check_dependencies([Dependency("redis", fine)]), timeout_seconds=10)
    loop.call_soon_threadsafe(release.wait, 10)
    began = time.monotonic()
    unanswered = run_on_loop(loop, check_dependencies([Dependency("redis", fine)]), timeout_seconds=0.2)
    took = time.monotonic() - began
    release.set()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

    assert answered == {"redis": "ok"}
    assert unanswered is None
    assert took < 5
    assert run_on_loop(loop, check_dependencies([]), timeout_seconds=10) is None
