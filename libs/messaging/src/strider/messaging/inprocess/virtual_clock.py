"""Virtual time: an event loop whose clock jumps to the next timer instead of sleeping.

An hour of backoff takes milliseconds, and the same program takes the same steps each time. Nothing in a
simulation may use the machine's own clock; it gets an `EventLoopClock`.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from contextvars import Context
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

SIMULATION_START = datetime(2026, 1, 1, tzinfo=UTC)
"""The wall-clock time at which every simulation starts."""

EXTERNAL_EVENT_WAIT_SECONDS = 5.0
"""How long real outside events (a thread's result) are waited for when no timer is left."""


MIN_TIMER_SECONDS = 1e-6
"""Well above the resolution of the loop's clock, by which a timer may come early."""


class DeadlockError(RuntimeError):
    """Every task waits and no timer is set: without an outside event nothing will ever happen."""


class _JumpingSelector(selectors.BaseSelector):
    """Looks for real events without waiting, and lets the clock jump over the wait."""

    def __init__(self) -> None:
        self._real = selectors.DefaultSelector()
        self.elapsed_seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            ready = self._real.select(EXTERNAL_EVENT_WAIT_SECONDS)
            if not ready:
                raise DeadlockError("every task waits and no timer is set")
            return ready
        ready = self._real.select(0)
        if not ready and timeout > 0:
            self.elapsed_seconds += timeout
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An asyncio loop with virtual time; timers, timeouts and sleeps all follow it."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the seconds since the simulation began."""
        return self._jumping.elapsed_seconds

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Set a timer, never within the resolution of the clock.

        Several tasks that wait for what rounding has left of their time would else wake each other too early
        for ever, and the clock would not advance.
        """
        now = self.time()
        if now < when < now + MIN_TIMER_SECONDS:
            when = now + MIN_TIMER_SECONDS
        return super().call_at(when, callback, *args, context=context)


class EventLoopClock:
    """The running event loop's time as a `Clock`: virtual under VirtualTimeLoop, else real intervals."""

    def __init__(self, epoch: datetime = SIMULATION_START) -> None:
        self._epoch = epoch

    def now(self) -> datetime:
        """Return wall-clock time: the epoch plus what has passed."""
        return self._epoch + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        """Return seconds, for intervals."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running loop."""
        await asyncio.sleep(seconds)


def simulate(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
