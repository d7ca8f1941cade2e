"""Worker pool: a fixed number of workers for ready messages, and a deadline sweeper.

A handler that does not wait costs no task: one worker goes through all that is ready. When it waits, the next
worker is woken and continues. Waiting for acknowledgements occupies no worker. `start_order` decides which
message runs next; `pipeline` does the work.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from .messages import AssignedPartition, InFlightMessage, MessageStage
from .pauses import Pauses, Spawn, resolve_probe
from .spec import ConsumerPorts, ConsumerSettings
from .start_order import FirstComeOrder, SharedOrder, StartOrder

MESSAGES_PER_YIELD = 128
"""Messages without a wait after which a worker yields to other tasks (heartbeats, health)."""

SECONDS_PER_YIELD = 0.02

SWEEPS_PER_DEADLINE = 20


class WorkerPool:
    """Messages that are ready, and the workers that run them."""

    def __init__(self, *, ports: ConsumerPorts, settings: ConsumerSettings, pauses: Pauses) -> None:
        self._ports = ports
        self._settings = settings
        self._pauses = pauses
        self._ready: StartOrder = FirstComeOrder()
        if ports.claim_of is not None:
            self._ready = SharedOrder(settings.concurrency, ports.claim_of, clock=ports.clock)
        self._priority: deque[InFlightMessage] = deque()
        """Probes, and messages whose acknowledgements have come: they run even while blocked."""
        self._idle: deque[asyncio.Future[None]] = deque()
        self._active: dict[InFlightMessage, asyncio.Task[None] | None] = {}
        """Started and neither done nor waiting for a dependency; with its worker while it has one."""
        self._changed: asyncio.Future[None] | None = None
        self._is_waking = False
        """One worker was woken and has not run yet: it wakes the next one where there is more."""

    def start(self, spawn: Spawn, advance: Callable[[InFlightMessage], Awaitable[None]]) -> None:
        """Start the workers and the sweeper."""
        for _ in range(self._settings.concurrency):
            spawn(self._work(advance))
        spawn(self._sweep())

    def add(self, message: InFlightMessage) -> None:
        """Add a message that may start, or start again."""
        self._ready.add(message)
        self._wake()

    def add_all(self, messages: Sequence[InFlightMessage]) -> None:
        """Add many that may start."""
        if messages:
            for message in messages:
                self._ready.add(message)
            self._wake()

    def add_priority(self, message: InFlightMessage) -> None:
        """Add a message that has to continue whatever is paused."""
        self._priority.append(message)
        self._wake()

    def remove(self, message: InFlightMessage) -> None:
        """Remove a message that nothing happens to now: it is done, parked or dropped."""
        self._active.pop(message, None)
        if self._settings.max_started:
            self.resume()
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    @property
    def running(self) -> int:
        """Number of messages that have a worker now."""
        return sum(task is not None for task in self._active.values())

    def resume(self) -> None:
        """Wake the workers: what waited may start."""
        if self._ready:
            self._wake()

    async def wait_until_idle(self, partitions: frozenset[int], *, seconds: float) -> bool:
        """Wait until nothing of these partitions (by identity) is in flight; False at the timeout.

        In hand includes messages that are next and may be started: while partitions are released, they would
        be a gap before messages that are done. What a pause keeps from starting is not in flight.
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
        """Cancel what is still in flight of these partitions; return the number of messages."""
        messages = self._active_of(partitions)
        for message in messages:
            task = self._active[message]
            if message.after_ack_task is not None:
                message.after_ack_task.cancel()
            elif task is None:
                self.remove(message)
                resolve_probe(message, has_recovered=False)
            elif message.cancelled_for is None:
                message.cancelled_for = "revoked"
                task.cancel()
        return len(messages)

    def _has_work_of(self, partitions: frozenset[int]) -> bool:
        if self._active_of(partitions):
            return True
        if self._pauses.is_blocked:
            return False
        return any(message.can_start and _belongs_to(message, partitions) for message in self._ready)

    def _active_of(self, partitions: frozenset[int]) -> list[InFlightMessage]:
        return [message for message in self._active if _belongs_to(message, partitions)]

    def _wake(self) -> None:
        while self._idle and not self._is_waking:
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._is_waking = True
                return

    def _next(self) -> InFlightMessage | None:
        if self._priority:
            return self._priority.popleft()
        if self._pauses.is_blocked or 0 < self._settings.max_started <= len(self._active):
            return None
        while (first := self._ready.pop()) is not None:
            message = first.startable()
            if message is not None:
                if self._ready.finishes_gaps:
                    message.mark_started()
                return message
            self._ready.on_worker_free(first)
        return None

    async def _work(self, advance: Callable[[InFlightMessage], Awaitable[None]]) -> None:
        task = asyncio.current_task()
        clock = self._ports.clock
        messages, turn_began = 0, clock.monotonic()
        while True:
            message = self._next()
            if message is None:
                waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._idle.append(waiter)
                await waiter
                self._is_waking = False
                messages, turn_began = 0, clock.monotonic()
                continue
            if self._ready or self._priority:
                self._wake()  # in case the handler waits: another worker has to continue with the rest
            self._active[message] = task
            await advance(message)
            self._ready.on_worker_free(message)
            if message in self._active:
                self._active[message] = None
            messages += 1
            if messages >= MESSAGES_PER_YIELD or clock.monotonic() - turn_began > SECONDS_PER_YIELD:
                await asyncio.sleep(0)
                messages, turn_began = 0, clock.monotonic()

    async def _sweep(self) -> None:
        clock = self._ports.clock
        every = min(1.0, self._settings.handler_timeout_seconds / SWEEPS_PER_DEADLINE)
        while True:
            before = clock.monotonic()
            await clock.sleep(every)
            now = clock.monotonic()
            self.resume()  # messages may have waited for as long as they may
            if now - before > 2 * every:
                self._extend_deadlines(now - before - every, now=now)
            for message, task in list(self._active.items()):
                is_late = message.stage is MessageStage.HANDLE and now >= message.deadline > 0.0
                if task is not None and is_late and message.cancelled_for is None:
                    message.cancelled_for = "deadline"
                    task.cancel()

    def _extend_deadlines(self, seconds: float, *, now: float) -> None:
        """Extend deadlines by a time in which no task ran (SIGSTOP, a starved machine)."""
        for message in self._active:
            if message.deadline > 0.0:
                message.deadline = min(
                    message.deadline + seconds, now + self._settings.handler_timeout_seconds
                )


def _belongs_to(message: InFlightMessage, partitions: frozenset[int]) -> bool:
    return any(id(partition) in partitions for partition in message.partitions())


def partition_identities(partitions: list[AssignedPartition]) -> frozenset[int]:
    """Return partitions by identity: a new assignment of the same partition is another one."""
    return frozenset(id(partition) for partition in partitions)
