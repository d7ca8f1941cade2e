"""The process as the watchdog observes it, diagnoses it and ends it.

Keeps what the watchdog's thread may read: when the event loop last ran, how much waits, which pauses are
stated. A loop that has partitions and cannot learn their lag does not count as idle: a client that is stuck
does not notice what it misses. A shard that is being taken over is work.

The diagnosis of a stall names the state of the dependencies, of the event loop and the stacks. It runs partly
on the watchdog's thread (an event loop that is blocked cannot diagnose itself), partly on the loop, and
changes nothing but connections, and those only in `reconnect_dependencies`.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock, TopicPartition
from strider.runtime.observability import log_events
from strider.runtime.observability import metrics as declared
from strider.runtime.observability.consumer_metrics import ConsumerMetrics
from strider.runtime.observability.logging import logger
from strider.runtime.observability.metrics import Metrics

from .exit_codes import ExitCode
from .health import PROBE_TIMEOUT_SECONDS, Dependency, Readiness, probe_dependency
from .heartbeat import Heartbeat

T = TypeVar("T")

MAX_STACKS: Final = 40
"""Stacks in one report: a stalled process may have thousands of tasks that all wait for the same."""
STACK_FRAMES: Final = 6
MAX_WAIT_DEPTH: Final = 12
LOOP_TIMEOUT_SECONDS: Final = 2 * PROBE_TIMEOUT_SECONDS
"""How long the loop may take for one step of a diagnosis before it counts as blocked."""


def run_on_loop(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], *, timeout_seconds: float
) -> T | None:
    """Run a coroutine on the loop from another thread; None where the loop does not respond in time."""
    try:
        future = asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError:  # the loop is closed already
        work.close()
        return None
    try:
        return future.result(timeout_seconds)
    except FutureTimeoutError:
        future.cancel()
        return None


async def check_dependencies(dependencies: Iterable[Dependency]) -> dict[str, str]:
    """Probe every dependency at once; return `ok` or what is wrong, by name."""
    asked = tuple(dependencies)
    answers = await asyncio.gather(*(probe_dependency(dependency) for dependency in asked))
    return {dependency.name: answer or "ok" for dependency, answer in zip(asked, answers, strict=True)}


async def reconnect_dependencies(dependencies: Iterable[Dependency]) -> dict[str, str]:
    """Reconnect every dependency that can; return the result, by name."""
    results: dict[str, str] = {}
    for dependency in dependencies:
        if dependency.reconnect is None:
            continue
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
                await dependency.reconnect()
            results[dependency.name] = "reconnected"
        except Unavailable as error:
            results[dependency.name] = error.detail
        except TimeoutError:
            results[dependency.name] = f"no connection within {PROBE_TIMEOUT_SECONDS:g} s"
    return results


def thread_stacks() -> dict[str, list[str]]:
    """Return the stack of every thread; the event loop's own thread shows what blocks it."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return {
        names.get(ident, str(ident)): _stack_lines(traceback.extract_stack(frame))
        for ident, frame in sys._current_frames().items()  # noqa: SLF001  # the one way to see other threads
        if ident != threading.get_ident()
    }


def task_stacks(loop: asyncio.AbstractEventLoop) -> list[str]:
    """Return where the tasks of the loop wait, equal ones counted together, most frequent first."""
    try:
        tasks = asyncio.all_tasks(loop)
    except RuntimeError:  # the set changed during the call: the loop does run
        return ["tasks come and go too fast to be listed"]
    counts: dict[str, int] = {}
    for task in tasks:
        key = " > ".join(_await_chain(task.get_coro())) or task.get_name()
        counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: -item[1])[:MAX_STACKS]
    return [f"{count} x {key}" for key, count in ordered]


def _await_chain(awaited: Any) -> Iterator[str]:
    """Follow a coroutine to what it awaits: a task's own stack shows only its outermost frame."""
    for _ in range(MAX_WAIT_DEPTH):
        frame = getattr(awaited, "cr_frame", None)
        if frame is None:
            return
        code = frame.f_code
        yield f"{code.co_qualname} {_short_path(code.co_filename)}:{frame.f_lineno}"
        awaited = awaited.cr_await


def _stack_lines(stack: traceback.StackSummary) -> list[str]:
    return [f"{_short_path(frame.filename)}:{frame.lineno} {frame.name}" for frame in stack[-STACK_FRAMES:]]


def _short_path(path: str) -> str:
    return "/".join(path.rsplit("/", 2)[-2:])


TICK_SECONDS: Final = 1.0
"""How often the event loop records that it runs."""
PROBE_INTERVAL_SECONDS: Final = 5.0
MAX_LAG_AGE_SECONDS: Final = 60.0
"""An older lag says nothing about what waits now."""
FORCED_EXIT_DELAY_SECONDS: Final = 5.0
"""How long an orderly exit may take, beyond the shutdown time, once the event loop has begun it."""
_log = logger("watchdog")


class WatchedConsumer(Protocol):
    """A consumer loop, as far as the watchdog observes it."""

    @property
    def last_activity(self) -> float:
        """Monotonic time of its last activity."""

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that it has now."""

    @property
    def opening(self) -> int:
        """Number of shards that it is taking over."""


@dataclass(frozen=True, slots=True)
class WatchedLoop:
    """One loop, and the metrics that hold its lag."""

    loop: WatchedConsumer
    meter: ConsumerMetrics


class ServiceWatchdogTarget:
    """Observes this process, and ends it."""

    def __init__(
        self,
        *,
        clock: Clock,
        heartbeat: Heartbeat,
        readiness: Readiness,
        metrics: Metrics,
        dependencies: Iterable[Dependency],
        consumers: Iterable[WatchedLoop],
        stop: Callable[[ExitCode], None],
        shutdown_seconds: float,
        exit_now: Callable[[int], Any],
    ) -> None:
        self._clock = clock
        self._heartbeat = heartbeat
        self._readiness = readiness
        self._metrics = metrics
        self._dependencies = tuple(dependencies)
        self._consumers = tuple(consumers)
        self._stop = stop
        self._shutdown_seconds = shutdown_seconds
        self._exit_now = exit_now
        self._loop = asyncio.get_running_loop()
        self._last_tick = clock.monotonic()
        self._forced_exit: threading.Timer | None = None

    # Called from the watchdog's thread.

    def lag(self) -> int | None:
        """Return messages that wait, and shards that are being taken over; None where the lag is too old."""
        oldest = self._clock.monotonic() - MAX_LAG_AGE_SECONDS
        if any(
            consumer.loop.assignment and consumer.meter.lag_measured_at < oldest
            for consumer in self._consumers
        ):
            return None
        return sum(consumer.meter.total_lag + consumer.loop.opening for consumer in self._consumers)

    def pauses(self) -> tuple[str, ...]:
        """Return every reason why the process need not move."""
        return tuple(self._readiness.exempt_reasons())

    def last_loop_tick(self) -> float:
        """Return when the event loop last ran."""
        return self._last_tick

    def diagnose(self, *, timeout_seconds: float) -> dict[str, Any]:
        """Return the stacks as they are, then the result of every probe."""
        stacks = {"tasks": task_stacks(self._loop), "threads": thread_stacks()}
        before = self._clock.monotonic()
        answers = run_on_loop(
            self._loop, check_dependencies(self._dependencies), timeout_seconds=timeout_seconds
        )
        took = self._clock.monotonic() - before
        return {
            "dependencies": answers or "the event loop does not respond",
            "loop_answer_seconds": round(took, 3),
            **stacks,
        }

    def reconnect(self) -> dict[str, str]:
        """Reconnect every dependency that can."""
        return (
            run_on_loop(
                self._loop, reconnect_dependencies(self._dependencies), timeout_seconds=LOOP_TIMEOUT_SECONDS
            )
            or {}
        )

    def exit(self, code: ExitCode, *, timeout_seconds: float) -> None:
        """End the process: in order if the loop begins it in time and proceeds, at once if not."""
        seconds = self._shutdown_seconds + FORCED_EXIT_DELAY_SECONDS
        self._forced_exit = threading.Timer(seconds, self._exit_now, args=(int(code),))
        self._forced_exit.daemon = True
        self._forced_exit.start()
        received = threading.Event()

        def stop() -> None:
            received.set()
            self._stop(code)

        try:
            self._loop.call_soon_threadsafe(stop)
        except RuntimeError:  # the loop is closed: the process ends anyway
            return
        if not received.wait(timeout_seconds):
            self.cancel_forced_exit()
            self._exit_now(int(code))

    def cancel_forced_exit(self) -> None:
        """Cancel the forced exit: the orderly one came first."""
        if self._forced_exit is not None:
            self._forced_exit.cancel()

    # Run on the event loop, to keep the state current.

    async def tick(self) -> None:
        """Record that the event loop runs, and how late it was."""
        while True:
            before = self._clock.monotonic()
            await self._clock.sleep(TICK_SECONDS)
            self._last_tick = self._clock.monotonic()
            self._metrics.set(declared.LOOP_DELAY, value=max(0.0, self._last_tick - before - TICK_SECONDS))
            for consumer in self._consumers:
                self._heartbeat.observe(consumer.loop.last_activity)
            self._metrics.set(declared.LAST_ACTIVITY, value=self._last_tick - self._heartbeat.last_activity)

    async def probe_dependencies(self) -> None:
        """Probe every dependency, again and again."""
        while True:
            for dependency in self._dependencies:
                why = await probe_dependency(dependency)
                if self._readiness.record(dependency.name, ok=not why, detail=why):
                    event = log_events.DEPENDENCY_LOST if why else log_events.DEPENDENCY_RECOVERED
                    _log.emit(event, part=dependency.name, ok=not why, why=why)
                self._metrics.set(declared.DEPENDENCY_UP, dependency.name, value=int(not why))
            await self._clock.sleep(PROBE_INTERVAL_SECONDS)
