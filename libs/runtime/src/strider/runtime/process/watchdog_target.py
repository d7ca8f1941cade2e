"""The process as the watchdog sees and treats it.

Keeps what the watchdog's thread may look at: when the event loop last turned, how much waits, which
pauses are stated. A loop that has partitions and cannot learn what waits in them does not count as
idle: a client that is stuck is the last to know what it misses. A shard that is being taken is work.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from strider.messaging.ports import Clock, TopicPartition
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
"""How often the event loop shows that it turns."""
PROBE_INTERVAL_SECONDS: Final = 5.0
MAX_LAG_AGE_SECONDS: Final = 60.0
"""An older answer says nothing about what waits now."""
FORCED_EXIT_DELAY_SECONDS: Final = 5.0
"""How long an orderly end may take, beyond the grace, where the event loop has heard of it."""
_log = logger("watchdog")


class WatchedConsumer(Protocol):
    """A consumer loop, as far as the watchdog looks at it."""

    @property
    def last_activity(self) -> float:
        """When anything of it last moved, in monotonic seconds."""

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that it has now."""

    @property
    def opening(self) -> int:
        """How many shards it is taking."""


@dataclass(frozen=True, slots=True)
class WatchedLoop:
    """One loop, and the meter that it tells what waits."""

    loop: WatchedConsumer
    meter: ConsumerMetrics


class ServiceWatchdogTarget:
    """What can be seen of this process, and what can be done to it."""

    def __init__(
        self,
        *,
        clock: Clock,
        heartbeat: Heartbeat,
        readiness: Readiness,
        metrics: Metrics,
        dependencies: Iterable[Dependency],
        wards: Iterable[WatchedLoop],
        stop: Callable[[ExitCode], None],
        shutdown_seconds: float,
        exit_now: Callable[[int], Any],
    ) -> None:
        self._clock = clock
        self._heartbeat = heartbeat
        self._readiness = readiness
        self._metrics = metrics
        self._dependencies = tuple(dependencies)
        self._consumers = tuple(wards)
        self._stop = stop
        self._shutdown_seconds = shutdown_seconds
        self._exit_now = exit_now
        self._loop = asyncio.get_running_loop()
        self._turn = clock.monotonic()
        self._last_words: threading.Timer | None = None

    # What the watchdog's thread asks.

    def lag(self) -> int | None:
        """Messages that wait, and shards that are being taken; None where that could not be learnt lately."""
        oldest = self._clock.monotonic() - MAX_LAG_AGE_SECONDS
        if any(ward.loop.assignment and ward.meter.lag_measured_at < oldest for ward in self._consumers):
            return None
        return sum(ward.meter.total_lag + ward.loop.opening for ward in self._consumers)

    def pauses(self) -> tuple[str, ...]:
        """Everything that states why the process need not move."""
        return tuple(self._readiness.exempt_reasons())

    def last_loop_tick(self) -> float:
        """When the event loop last had a turn."""
        return self._turn

    def diagnose(self, *, timeout_seconds: float) -> dict[str, Any]:
        """Look at the stacks as they are, then ask everything that can be asked."""
        stacks = {"tasks": task_stacks(self._loop), "threads": thread_stacks()}
        before = self._clock.monotonic()
        answers = run_on_loop(
            self._loop, check_dependencies(self._dependencies), timeout_seconds=timeout_seconds
        )
        took = self._clock.monotonic() - before
        return {
            "dependencies": answers or "the event loop does not answer",
            "loop_answer_seconds": round(took, 3),
            **stacks,
        }

    def reconnect(self) -> dict[str, str]:
        """Make new connections wherever a dependency knows how."""
        return (
            run_on_loop(
                self._loop, reconnect_dependencies(self._dependencies), timeout_seconds=LOOP_TIMEOUT_SECONDS
            )
            or {}
        )

    def exit(self, code: ExitCode, *, timeout_seconds: float) -> None:
        """End the process: in order if the loop hears of it in time and gets on, at once if not."""
        seconds = self._shutdown_seconds + FORCED_EXIT_DELAY_SECONDS
        self._last_words = threading.Timer(seconds, self._exit_now, args=(int(code),))
        self._last_words.daemon = True
        self._last_words.start()
        heard = threading.Event()

        def stop() -> None:
            heard.set()
            self._stop(code)

        try:
            self._loop.call_soon_threadsafe(stop)
        except RuntimeError:  # the loop is closed: the process ends anyway
            return
        if not heard.wait(timeout_seconds):
            self.cancel_forced_exit()
            self._exit_now(int(code))

    def cancel_forced_exit(self) -> None:
        """Take back the sudden end: the orderly one came first."""
        if self._last_words is not None:
            self._last_words.cancel()

    # What keeps it up to date, on the event loop.

    async def tick(self) -> None:
        """Show that the event loop turns, and how late it was."""
        while True:
            before = self._clock.monotonic()
            await self._clock.sleep(TICK_SECONDS)
            self._turn = self._clock.monotonic()
            self._metrics.set(declared.LOOP_DELAY, value=max(0.0, self._turn - before - TICK_SECONDS))
            for ward in self._consumers:
                self._heartbeat.observe(ward.loop.last_activity)
            self._metrics.set(declared.LAST_ACTIVITY, value=self._turn - self._heartbeat.last_activity)

    async def probe_dependencies(self) -> None:
        """Ask every dependency how it is, again and again."""
        while True:
            for dependency in self._dependencies:
                why = await probe_dependency(dependency)
                if self._readiness.record(dependency.name, ok=not why, detail=why):
                    tell = _log.warning if why else _log.info
                    tell("Dependency lost", part=dependency.name, ok=not why, why=why)
                self._metrics.set(declared.DEPENDENCY_UP, dependency.name, value=int(not why))
            await self._clock.sleep(PROBE_INTERVAL_SECONDS)
