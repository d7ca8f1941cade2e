"""Worker pool: a fixed number of workers for ready messages, and a deadline sweeper.

A handler that does not wait costs no task: one worker goes through all that is ready. When it waits, the next
worker is woken and continues. Waiting for acknowledgements occupies no worker. `start_order` decides which
message runs next; `pipeline` does the work.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import inf

from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger

from .messages import AssignedPartition, InFlightMessage, MessageStage
from .pauses import Pauses, Spawn, resolve_probe
from .ports import ConsumerMeter
from .spec import ConsumerPorts, ConsumerSettings
from .start_order import FirstComeOrder, SharedOrder, StartOrder, WaitForPlace

MESSAGES_PER_YIELD = 128
"""Messages without a wait after which a worker yields to other tasks (heartbeats, health)."""

SECONDS_PER_YIELD = 0.02

SWEEPS_PER_DEADLINE = 20

PLACES_FULL_SECONDS = 10.0
"""A message that waits for so long for a place of its senders is worth a warning."""

_log = logger("loop")


class PlaceWaits:
    """Reports messages that wait because the places of their senders are taken."""

    def __init__(self, order: SharedOrder, *, places: int, meter: ConsumerMeter) -> None:
        self._order = order
        self._places = places
        self._meter = meter
        self._reported: set[str] = set()
        self._is_full = False
        self._blocked_until = -inf

    def report(self, now: float, *, is_blocked: bool) -> None:
        """Set the metrics; log when messages begin to wait for long, and when none does any more.

        A pause is reported as such: the time that messages wait in it is none that they wait for a place.
        """
        if is_blocked:
            self._blocked_until = now
        waits = {} if is_blocked else self._order.waits()
        seconds = {senders: now - max(wait.oldest_at, self._blocked_until) for senders, wait in waits.items()}
        for senders in self._reported | set(waits):
            messages = waits[senders].messages if senders in waits else 0
            self._meter.waiting(senders, messages, seconds.get(senders, 0.0))
        self._reported |= set(waits)
        self._log_change(waits, max(seconds.values(), default=0.0))

    def _log_change(self, waits: Mapping[str, WaitForPlace], longest_seconds: float) -> None:
        if not self._is_full and longest_seconds >= PLACES_FULL_SECONDS:
            self._is_full = True
            _log.emit(
                log_events.PLACES_FULL,
                places=self._places,
                waiting={senders: wait.messages for senders, wait in waits.items()},
                seconds=round(longest_seconds),
            )
        elif self._is_full and longest_seconds < PLACES_FULL_SECONDS / 2:
            self._is_full = False
            _log.emit(log_events.PLACES_FREE, places=self._places)


class WorkerPool:
    """Messages that are ready, and the workers that run them."""

    def __init__(self, *, ports: ConsumerPorts, settings: ConsumerSettings, pauses: Pauses) -> None:
        self._ports = ports
        self._settings = settings
        self._pauses = pauses
        self._ready: StartOrder = FirstComeOrder()
        self._waits: PlaceWaits | None = None
        if ports.claim_of is not None:
            order = SharedOrder(settings.concurrency, ports.claim_of, clock=ports.clock)
            self._ready = order
            self._waits = PlaceWaits(order, places=settings.concurrency, meter=ports.meter)
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
            if self._waits is not None:
                self._waits.report(now, is_blocked=self._pauses.is_blocked)
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
