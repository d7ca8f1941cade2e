"""Stated pauses: why a loop does not move, and the waiting for infrastructure to come back.

While a part is unavailable, one message probes it at growing intervals; the others wait, so that
what is down is not hammered and nothing good is given up. Readiness reads all reasons. The watchdog
takes only those for an excuse that somebody vouches for: a stall without one is a fault.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger

from .messages import Enqueue, InFlightMessage
from .ports import ConsumerMeter
from .spec import ConsumerPorts, ConsumerSettings

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Starts a task whose failure is the loop's failure."""

_log = logger("loop")


class Pauses:
    """The reasons why a loop does not move, by one word each (and which one, where there are many)."""

    def __init__(self, meter: ConsumerMeter) -> None:
        self._meter = meter
        self._reasons: dict[str, str] = {}
        self._not_exempt: set[str] = set()
        self._blocking: set[str] = set()
        self._on_open: Callable[[], None] = lambda: None

    def set_resume_callback(self, callback: Callable[[], None]) -> None:
        """Name what is called when the last gate opens."""
        self._on_open = callback

    @property
    def reasons(self) -> Mapping[str, str]:
        """Word and sentence of each reason; empty while all goes well."""
        return dict(self._reasons)

    @property
    def exempt_reasons(self) -> Mapping[str, str]:
        """Those of the reasons for which messages may wait however long it takes."""
        return {word: why for word, why in self._reasons.items() if word not in self._not_exempt}

    @property
    def is_blocked(self) -> bool:
        """Whether nothing new may be started or read."""
        return bool(self._blocking)

    def begin(
        self,
        reason: str,
        detail: str,
        *,
        blocks: bool = False,
        is_exempt: bool = True,
        is_routine: bool = False,
    ) -> None:
        """State a reason; with `gates` nothing new is started or read until it is cleared.

        Without `excuses` it keeps the process from being ready, and the watchdog still wants to see
        that something moves. What is routine is told, and warned of by nobody.
        """
        if reason not in self._reasons:
            tell = _log.info if is_routine else _log.warning
            tell("Paused", reason=reason, why=detail)
            self._meter.paused(_kind(reason), is_paused=True)
        self._reasons[reason] = detail
        (self._not_exempt.discard if is_exempt else self._not_exempt.add)(reason)
        if blocks:
            self._blocking.add(reason)

    def revoke_exemption(self, reason: str) -> None:
        """Let a reason that is still in force excuse nothing: whoever would know of it hangs."""
        if reason in self._reasons and reason not in self._not_exempt:
            _log.warning("Pause exemption revoked", reason=reason)
            self._not_exempt.add(reason)

    def restore_exemption(self, reason: str) -> None:
        """Take a doubt back."""
        self._not_exempt.discard(reason)

    def clear(self, reason: str) -> None:
        """Take a reason back, and open its gate."""
        self._not_exempt.discard(reason)
        if self._reasons.pop(reason, None) is not None:
            _log.info("Resumed", reason=reason)
            self._end(reason)
        if reason in self._blocking:
            self._blocking.discard(reason)
            if not self._blocking:
                self._on_open()

    def _end(self, word: str) -> None:
        if _kind(word) not in map(_kind, self._reasons):
            self._meter.paused(_kind(word), is_paused=False)


def _kind(word: str) -> str:
    """Leave out which one of its kind it is: metrics are counted by kind."""
    return word.partition(" ")[0]


class DependencyOutages:
    """Messages that wait for a part of the infrastructure, by part."""

    def __init__(self, *, ports: ConsumerPorts, settings: ConsumerSettings, pauses: Pauses) -> None:
        self._ports = ports
        self._settings = settings
        self._pauses = pauses
        self._parked: dict[str, deque[InFlightMessage]] = {}

    def park(
        self,
        message: InFlightMessage,
        failure: Unavailable,
        *,
        add: Enqueue,
        add_probe: Enqueue,
        spawn: Spawn,
    ) -> None:
        """Let a unit wait until its part answers again; it goes on with the stage that failed."""
        self._ports.meter.retried(failure.dependency)
        waiting = self._parked.get(failure.dependency)
        if waiting is None:
            waiting = self._parked[failure.dependency] = deque()
            spawn(self._probe(failure.dependency, add=add, add_probe=add_probe))
        # Who was tried last is tried last again: one bad shard must not hide that others are back.
        waiting.append(message)
        self._pauses.begin(failure.dependency, failure.detail, blocks=True)
        resolve_probe(message, has_recovered=False)

    async def _probe(self, dependency: str, *, add: Enqueue, add_probe: Enqueue) -> None:
        waiting = self._parked[dependency]
        attempt = 1
        while waiting:
            await wait_before_attempt(attempt, ports=self._ports, settings=self._settings)
            unit = _next_assigned(waiting)
            if unit is None:
                break
            unit.probe = asyncio.get_running_loop().create_future()
            add_probe(unit)
            if await self._has_recovered(dependency, unit.probe):
                break
            attempt += 1
        del self._parked[dependency]
        self._pauses.clear(dependency)
        for unit in waiting:
            add(unit)

    async def _has_recovered(self, dependency: str, probe: asyncio.Future[bool]) -> bool:
        """Wait for a probe's answer; for no longer than a handler may take does that excuse anything.

        A probe that hangs is no outage that anybody waits for. Its gate stays closed and readiness
        red, but whoever looks for stalls sees messages wait, nothing move and nobody vouch for it.
        """
        while not probe.done():
            await asyncio.wait((probe,), timeout=self._settings.handler_timeout_seconds)
            if not probe.done():
                self._pauses.revoke_exemption(dependency)
        self._pauses.restore_exemption(dependency)
        return probe.result()


def resolve_probe(message: InFlightMessage, *, has_recovered: bool) -> None:
    """Tell who waits for this unit whether infrastructure is back."""
    if message.probe is not None:
        if not message.probe.done():
            message.probe.set_result(has_recovered)
        message.probe = None


async def wait_before_attempt(attempt: int, *, ports: ConsumerPorts, settings: ConsumerSettings) -> None:
    """Sleep before trying again for the nth time."""
    seconds = settings.retry_policy.wait_seconds(attempt, ports.chance)
    assert seconds is not None, "the ladder for infrastructure is endless"
    await ports.clock.sleep(seconds)


async def wait_at_most(event: asyncio.Event, seconds: float, *, clock: Clock) -> None:
    """Wait for an event, or until the time is up."""
    waiters = {asyncio.ensure_future(event.wait()), asyncio.ensure_future(clock.sleep(seconds))}
    try:
        await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()


def _next_assigned(waiting: deque[InFlightMessage]) -> InFlightMessage | None:
    while waiting:
        unit = waiting.popleft()
        if not unit.is_closed:
            return unit
    return None
