"""The process as the watchdog observes it, diagnoses it and ends it.

Keeps what the watchdog's thread may read: when the event loop last ran, how much waits, which pauses are
stated. A loop that has partitions and cannot learn their lag does not count as idle: a client that is stuck
does not notice what it misses. A shard that is being taken over is work.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from strider.messaging.ports import Clock, TopicPartition
from strider.runtime.observability import log_events
from strider.runtime.observability import metrics as declared
from strider.runtime.observability.consumer_metrics import ConsumerMetrics
from strider.runtime.observability.logging import logger
from strider.runtime.observability.metrics import Metrics

from .exit_codes import ExitCode
from .heartbeat import Heartbeat
from .readiness import Dependency, Readiness, probe_dependency
from .stall_diagnosis import (
    LOOP_TIMEOUT_SECONDS,
    check_dependencies,
    reconnect_dependencies,
    run_on_loop,
    task_stacks,
    thread_stacks,
)

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
