"""Pauses with stated reasons, and the wait for dependencies to recover.

While a dependency is unavailable, one message probes it at growing intervals and the others wait, so that it
is not overloaded and no good message is dead-lettered. Readiness shows every reason. The watchdog exempts
only pauses that are still verified: a stall without one is a fault.

Messages of unknown schemas wait, too: one search at a time answers for every message that waited when it
began, and for every schema that these name, so that invented schemas cost no more than one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from strider.contracts import UnknownSchema
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.retry import Backoff

from .messages import Enqueue, InFlightMessage
from .ports import ConsumerMeter
from .spec import ConsumerPorts, ConsumerSettings

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Starts a task whose failure is the loop's failure."""

_log = logger("loop")


class Pauses:
    """Reasons why a loop does not move: a word each, followed by which one where there are several."""

    def __init__(self, meter: ConsumerMeter) -> None:
        self._meter = meter
        self._reasons: dict[str, str] = {}
        self._not_exempt: set[str] = set()
        self._blocking: set[str] = set()
        self._on_resume: Callable[[], None] = lambda: None

    def set_resume_callback(self, callback: Callable[[], None]) -> None:
        """Set what is called when the last blocking reason is cleared."""
        self._on_resume = callback

    @property
    def reasons(self) -> Mapping[str, str]:
        """Sentence of each reason; empty while all goes well."""
        return dict(self._reasons)

    @property
    def exempt_reasons(self) -> Mapping[str, str]:
        """Those reasons for which messages may wait without a limit."""
        return {reason: detail for reason, detail in self._reasons.items() if reason not in self._not_exempt}

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
        """Begin a pause; one that `blocks` lets nothing new be started or read until it is cleared.

        One that is not exempt keeps the process from being ready, and the watchdog still expects movement. A
        routine pause is logged as information, not as a warning.
        """
        if reason not in self._reasons:
            event = log_events.CONSUMPTION_PAUSED_ROUTINELY if is_routine else log_events.CONSUMPTION_PAUSED
            _log.emit(event, reason=reason, why=detail)
            self._meter.paused(_reason_kind(reason), is_paused=True)
        self._reasons[reason] = detail
        (self._not_exempt.discard if is_exempt else self._not_exempt.add)(reason)
        if blocks:
            self._blocking.add(reason)

    def revoke_exemption(self, reason: str) -> None:
        """End the watchdog exemption of a pause that is still in force: its probe hangs."""
        if reason in self._reasons and reason not in self._not_exempt:
            _log.emit(log_events.PAUSE_EXEMPTION_REVOKED, reason=reason)
            self._not_exempt.add(reason)

    def restore_exemption(self, reason: str) -> None:
        """Restore an exemption that was revoked."""
        self._not_exempt.discard(reason)

    def clear(self, reason: str) -> None:
        """End a pause, and unblock."""
        self._not_exempt.discard(reason)
        if self._reasons.pop(reason, None) is not None:
            _log.emit(log_events.CONSUMPTION_RESUMED, reason=reason)
            self._end(reason)
        if reason in self._blocking:
            self._blocking.discard(reason)
            if not self._blocking:
                self._on_resume()

    def _end(self, reason: str) -> None:
        if _reason_kind(reason) not in map(_reason_kind, self._reasons):
            self._meter.paused(_reason_kind(reason), is_paused=False)


def _reason_kind(reason: str) -> str:
    """Return the word of a reason without which one it is: metrics are counted by word."""
    return reason.partition(" ")[0]


class DependencyOutages:
    """Messages that wait for an unavailable dependency."""

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
        """Hold a message until its dependency is back; it then repeats the stage that failed."""
        self._ports.meter.retried(failure.dependency)
        waiting = self._parked.get(failure.dependency)
        if waiting is None:
            waiting = self._parked[failure.dependency] = deque()
            spawn(self._probe(failure.dependency, add=add, add_probe=add_probe))
        # The latest failure is tried last: one bad shard must not hide that others are back.
        waiting.append(message)
        self._pauses.begin(failure.dependency, failure.detail, blocks=True)
        resolve_probe(message, has_recovered=False)

    async def _probe(self, dependency: str, *, add: Enqueue, add_probe: Enqueue) -> None:
        waiting = self._parked[dependency]
        backoff = Backoff(clock=self._ports.clock, chance=self._ports.chance)
        while waiting:
            await backoff.wait()
            message = _next_assigned(waiting)
            if message is None:
                break
            message.probe = asyncio.get_running_loop().create_future()
            add_probe(message)
            if await self._has_recovered(dependency, message.probe):
                break
        del self._parked[dependency]
        self._pauses.clear(dependency)
        for message in waiting:
            add(message)

    async def _has_recovered(self, dependency: str, probe: asyncio.Future[bool]) -> bool:
        """Wait for the result of a probe; exempt from the watchdog no longer than a handler may take.

        A probe that hangs is no outage to wait for. Its pause stays and the process is not ready, but the
        watchdog then sees waiting messages, no movement and no exemption.
        """
        while not probe.done():
            await asyncio.wait((probe,), timeout=self._settings.handler_timeout_seconds)
            if not probe.done():
                self._pauses.revoke_exemption(dependency)
        self._pauses.restore_exemption(dependency)
        return probe.result()


def resolve_probe(message: InFlightMessage, *, has_recovered: bool) -> None:
    """Set the result of a message that probes whether a dependency is back."""
    if message.probe is not None:
        if not message.probe.done():
            message.probe.set_result(has_recovered)
        message.probe = None


async def wait_at_most(event: asyncio.Event, seconds: float, *, clock: Clock) -> None:
    """Wait for an event, but no longer than this."""
    waiters = {asyncio.ensure_future(event.wait()), asyncio.ensure_future(clock.sleep(seconds))}
    try:
        await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()


def _next_assigned(waiting: deque[InFlightMessage]) -> InFlightMessage | None:
    while waiting:
        message = waiting.popleft()
        if not message.is_closed:
            return message
    return None


SCHEMA: Final = "schema"
"""Reason of partitions that are not read, and of the pause, while a search lasts."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    message: InFlightMessage
    unknown: Sequence[UnknownSchema]


class SchemaWaitList:
    """Messages that wait for a search of schemas; each of them for one that began after its arrival."""

    def __init__(self, *, ports: ConsumerPorts, pauses: Pauses) -> None:
        self._ports = ports
        self._pauses = pauses
        self._waiting: list[_Waiting] = []

    def wait(
        self, message: InFlightMessage, unknown: Sequence[UnknownSchema], *, add: Enqueue, spawn: Spawn
    ) -> bool:
        """Hold a message for a search that begins after its arrival; False where that was done already."""
        if message.was_searched_for:
            return False
        for partition in message.partitions():
            partition.hold_reasons.add(SCHEMA)
        self._waiting.append(_Waiting(message, unknown))
        if len(self._waiting) == 1:
            spawn(self._search_all(add))
        return True

    async def _search_all(self, add: Enqueue) -> None:
        backoff = Backoff(clock=self._ports.clock, chance=self._ports.chance)
        while self._waiting:
            early = await backoff.until_available(self._search, on_failure=self._report)
            late = self._waiting[len(early) :]
            if not late:
                self._pauses.clear(SCHEMA)
            held = {id(partition) for each in late for partition in each.message.partitions()}
            self._resume(early, held=held, add=add)
            # Last: a message that begins to wait on an empty list begins a search.
            del self._waiting[: len(early)]

    async def _search(self) -> list[_Waiting]:
        # A search proves nothing for messages that arrive during it.
        early = list(self._waiting)
        distinct = {(each.fingerprint, each.registry_id): each for one in early for each in one.unknown}
        await self._ports.schemas.find(*distinct.values())
        return early

    def _report(self, failure: Unavailable) -> None:
        unknown = self._waiting[0].unknown[0]
        self._pauses.begin(SCHEMA, f"{unknown.detail} here, and {failure}")

    def _resume(self, searched: Sequence[_Waiting], *, held: set[int], add: Enqueue) -> None:
        for message in (each.message for each in searched):
            for partition in message.partitions():
                if id(partition) not in held:
                    partition.hold_reasons.discard(SCHEMA)
            if not message.is_closed:
                message.was_searched_for = True
                add(message)
