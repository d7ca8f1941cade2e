"""Who works: a fixed number of workers that take what is ready, and a sweeper for their deadlines.

A handler that does not wait costs no task: one worker goes through all that is ready. When one
waits, the next worker is woken and goes on. What waits for acknowledgements occupies no worker.
Decides only who runs next; what is done with a unit is `loop_stages`'s.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from .messages import AssignedPartition, InFlightMessage, Stage
from .pauses import Pauses, Spawn, resolve_probe
from .spec import ConsumerPorts, ConsumerSettings

MESSAGES_PER_YIELD = 128
"""After so many units without a wait, a worker lets the others (heartbeats, health) have a turn."""

SECONDS_PER_YIELD = 0.02

SWEEPS_PER_DEADLINE = 20


class WorkerPool:
    """Units that are ready, and those that work on them."""

    def __init__(self, *, ports: ConsumerPorts, settings: ConsumerSettings, pauses: Pauses) -> None:
        self._ports = ports
        self._settings = settings
        self._pauses = pauses
        self._fresh: deque[InFlightMessage] = deque()
        self._begun: deque[InFlightMessage] = deque()
        """Probes, and units whose acknowledgements have come: they pass closed gates."""
        self._idle: deque[asyncio.Future[None]] = deque()
        self._active: dict[InFlightMessage, asyncio.Task[None] | None] = {}
        """Started and neither done nor waiting for infrastructure; with its worker while it has one."""
        self._changed: asyncio.Future[None] | None = None
        self._is_waking = False
        """One worker was woken and has not run yet: it will wake the next one where there is more."""

    def start(self, spawn: Spawn, advance: Callable[[InFlightMessage], Awaitable[None]]) -> None:
        """Start the workers and the sweeper."""
        for _ in range(self._settings.concurrency):
            spawn(self._work(advance))
        spawn(self._sweep())

    def add(self, message: InFlightMessage) -> None:
        """Take a unit that may start, or start again."""
        self._fresh.append(message)
        self._wake()

    def add_all(self, messages: Sequence[InFlightMessage]) -> None:
        """Take many that may start."""
        if messages:
            self._fresh.extend(messages)
            self._wake()

    def add_priority(self, message: InFlightMessage) -> None:
        """Take a unit that has to go on whatever is paused."""
        self._begun.append(message)
        self._wake()

    def remove(self, message: InFlightMessage) -> None:
        """Note that nothing happens to a unit now: it is done, parked or dropped."""
        self._active.pop(message, None)
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    @property
    def running(self) -> int:
        """How many units have a worker now."""
        return sum(task is not None for task in self._active.values())

    def resume(self) -> None:
        """Let the workers look again: a pause has ended."""
        if self._fresh:
            self._wake()

    async def wait_until_idle(self, partitions: frozenset[int], *, seconds: float) -> bool:
        """Wait until nothing of these partitions (by identity) is in hand; False when time is up.

        In hand is also what has its turn next and may be started: while partitions leave, that is
        what would be a gap before work that is done. What a pause keeps from starting is not.
        """
        timer = asyncio.ensure_future(self._ports.clock.sleep(seconds))
        try:
            while self._has_work_of(partitions):
                self._changed = asyncio.get_running_loop().create_future()
                await asyncio.wait((self._changed, timer), return_when=asyncio.FIRST_COMPLETED)
                if timer.done():
                    return not self._has_work_of(partitions)
            return True
        finally:
            timer.cancel()

    def abandon(self, partitions: frozenset[int]) -> int:
        """Cancel what is still in hand of these partitions; says how many units."""
        units = self._active_of(partitions)
        for unit in units:
            task = self._active[unit]
            if unit.after_ack_task is not None:
                unit.after_ack_task.cancel()
            elif task is None:
                self.remove(unit)
                resolve_probe(unit, has_recovered=False)
            elif unit.cancelled_for is None:
                unit.cancelled_for = "revoked"
                task.cancel()
        return len(units)

    def _has_work_of(self, partitions: frozenset[int]) -> bool:
        if self._active_of(partitions):
            return True
        if self._pauses.is_blocked:
            return False
        return any(unit.can_start and _is_of(unit, partitions) for unit in self._fresh)

    def _active_of(self, partitions: frozenset[int]) -> list[InFlightMessage]:
        return [unit for unit in self._active if _is_of(unit, partitions)]

    def _wake(self) -> None:
        while self._idle and not self._is_waking:
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._is_waking = True
                return

    def _next(self) -> InFlightMessage | None:
        if self._begun:
            return self._begun.popleft()
        if self._pauses.is_blocked:
            return None
        while self._fresh:
            unit = self._fresh.popleft().startable()
            if unit is not None:
                unit.mark_started()
                return unit
        return None

    async def _work(self, advance: Callable[[InFlightMessage], Awaitable[None]]) -> None:
        task = asyncio.current_task()
        clock = self._ports.clock
        units, turn_began = 0, clock.monotonic()
        while True:
            unit = self._next()
            if unit is None:
                waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._idle.append(waiter)
                await waiter
                self._is_waking = False
                units, turn_began = 0, clock.monotonic()
                continue
            if self._fresh or self._begun:
                self._wake()  # in case the handler waits: somebody has to go on with the rest
            self._active[unit] = task
            await advance(unit)
            if unit in self._active:
                self._active[unit] = None
            units += 1
            if units >= MESSAGES_PER_YIELD or clock.monotonic() - turn_began > SECONDS_PER_YIELD:
                await asyncio.sleep(0)
                units, turn_began = 0, clock.monotonic()

    async def _sweep(self) -> None:
        clock = self._ports.clock
        every = min(1.0, self._settings.handler_timeout_seconds / SWEEPS_PER_DEADLINE)
        while True:
            before = clock.monotonic()
            await clock.sleep(every)
            now = clock.monotonic()
            if now - before > 2 * every:
                self._extend_deadlines(now - before - every, now=now)
            for unit, task in list(self._active.items()):
                is_late = unit.stage is Stage.HANDLE and now >= unit.deadline > 0.0
                if task is not None and is_late and unit.cancelled_for is None:
                    unit.cancelled_for = "deadline"
                    task.cancel()

    def _extend_deadlines(self, seconds: float, *, now: float) -> None:
        """Put deadlines off by a time in which nobody ran (SIGSTOP, a starved machine)."""
        for unit in self._active:
            if unit.deadline > 0.0:
                unit.deadline = min(unit.deadline + seconds, now + self._settings.handler_timeout_seconds)


def _is_of(unit: InFlightMessage, partitions: frozenset[int]) -> bool:
    return any(id(partition) in partitions for partition in unit.partitions())


def identities(partitions: list[AssignedPartition]) -> frozenset[int]:
    """Name partitions by identity: a new assignment of the same partition is another one."""
    return frozenset(id(partition) for partition in partitions)
