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

from .errors import Unavailable
from .logs import logger
from .loop_ports import Meter
from .loop_settings import LoopPorts, LoopSettings
from .loop_units import Add, Unit
from .ports import Clock

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Starts a task whose failure is the loop's failure."""

_log = logger("loop")


class Pauses:
    """The reasons why a loop does not move, by one word each (and which one, where there are many)."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._reasons: dict[str, str] = {}
        self._no_excuse: set[str] = set()
        self._gates: set[str] = set()
        self._on_open: Callable[[], None] = lambda: None

    def when_open(self, callback: Callable[[], None]) -> None:
        """Name what is called when the last gate opens."""
        self._on_open = callback

    @property
    def reasons(self) -> Mapping[str, str]:
        """Word and sentence of each reason; empty while all goes well."""
        return dict(self._reasons)

    @property
    def excuses(self) -> Mapping[str, str]:
        """Those of the reasons for which messages may wait however long it takes."""
        return {word: why for word, why in self._reasons.items() if word not in self._no_excuse}

    @property
    def is_gated(self) -> bool:
        """Whether nothing new may be started or read."""
        return bool(self._gates)

    def state(
        self, word: str, why: str, *, gates: bool = False, excuses: bool = True, is_routine: bool = False
    ) -> None:
        """State a reason; with `gates` nothing new is started or read until it is cleared.

        Without `excuses` it keeps the process from being ready, and the watchdog still wants to see
        that something moves. What is routine is told, and warned of by nobody.
        """
        if word not in self._reasons:
            tell = _log.info if is_routine else _log.warning
            tell("Paused", reason=word, why=why)
            self._meter.paused(_kind(word), is_paused=True)
        self._reasons[word] = why
        (self._no_excuse.discard if excuses else self._no_excuse.add)(word)
        if gates:
            self._gates.add(word)

    def doubt(self, word: str) -> None:
        """Let a reason that is still in force excuse nothing: whoever would know of it hangs."""
        if word in self._reasons and word not in self._no_excuse:
            _log.warning("Pause Unexplained", reason=word)
            self._no_excuse.add(word)

    def trust(self, word: str) -> None:
        """Take a doubt back."""
        self._no_excuse.discard(word)

    def clear(self, word: str) -> None:
        """Take a reason back, and open its gate."""
        self._no_excuse.discard(word)
        if self._reasons.pop(word, None) is not None:
            _log.info("Resumed", reason=word)
            self._end(word)
        if word in self._gates:
            self._gates.discard(word)
            if not self._gates:
                self._on_open()

    def _end(self, word: str) -> None:
        if _kind(word) not in map(_kind, self._reasons):
            self._meter.paused(_kind(word), is_paused=False)


def _kind(word: str) -> str:
    """Leave out which one of its kind it is: metrics are counted by kind."""
    return word.partition(" ")[0]


class Outages:
    """Messages that wait for a part of the infrastructure, by part."""

    def __init__(self, *, ports: LoopPorts, settings: LoopSettings, pauses: Pauses) -> None:
        self._ports = ports
        self._settings = settings
        self._pauses = pauses
        self._parked: dict[str, deque[Unit]] = {}

    def park(self, unit: Unit, failure: Unavailable, *, add: Add, add_probe: Add, spawn: Spawn) -> None:
        """Let a unit wait until its part answers again; it goes on with the stage that failed."""
        self._ports.meter.retried(failure.part)
        waiting = self._parked.get(failure.part)
        if waiting is None:
            waiting = self._parked[failure.part] = deque()
            spawn(self._probe(failure.part, add=add, add_probe=add_probe))
        # Who was tried last is tried last again: one bad shard must not hide that others are back.
        waiting.append(unit)
        self._pauses.state(failure.part, failure.detail, gates=True)
        settle_probe(unit, is_back=False)

    async def _probe(self, part: str, *, add: Add, add_probe: Add) -> None:
        waiting = self._parked[part]
        attempt = 1
        while waiting:
            await pause_before(attempt, ports=self._ports, settings=self._settings)
            unit = _next_open(waiting)
            if unit is None:
                break
            unit.probe = asyncio.get_running_loop().create_future()
            add_probe(unit)
            if await self._is_back(part, unit.probe):
                break
            attempt += 1
        del self._parked[part]
        self._pauses.clear(part)
        for unit in waiting:
            add(unit)

    async def _is_back(self, part: str, probe: asyncio.Future[bool]) -> bool:
        """Wait for a probe's answer; for no longer than a handler may take does that excuse anything.

        A probe that hangs is no outage that anybody waits for. Its gate stays closed and readiness
        red, but whoever looks for stalls sees messages wait, nothing move and nobody vouch for it.
        """
        while not probe.done():
            await asyncio.wait((probe,), timeout=self._settings.deadline_seconds)
            if not probe.done():
                self._pauses.doubt(part)
        self._pauses.trust(part)
        return probe.result()


def settle_probe(unit: Unit, *, is_back: bool) -> None:
    """Tell who waits for this unit whether infrastructure is back."""
    if unit.probe is not None:
        if not unit.probe.done():
            unit.probe.set_result(is_back)
        unit.probe = None


async def pause_before(attempt: int, *, ports: LoopPorts, settings: LoopSettings) -> None:
    """Sleep before trying again for the nth time."""
    seconds = settings.ladder.wait_seconds(attempt, ports.chance)
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


def _next_open(waiting: deque[Unit]) -> Unit | None:
    while waiting:
        unit = waiting.popleft()
        if not unit.is_closed:
            return unit
    return None
