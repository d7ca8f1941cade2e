"""Looks after Faust from outside: says how far behind it is, and ends the process where it is stuck.

The runtime's watchdog knows the runtime's own loops only. The rule is the same: work waits, nothing
has moved for the threshold, and nobody outside is the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from strider.messaging.errors import InfrastructureError
from strider.messaging.ports import Clock, TopicPartition
from strider.runtime.observability.logging import logger
from strider.runtime.observability.metrics import LAG
from strider.runtime.process.main import ServiceContext

from .application import APPLICATION_NAME

CHECK_INTERVAL_SECONDS: Final = 5.0
RESPONSE_TIMEOUT_SECONDS: Final = 5.0

_log = logger("insights")


class FaustStalled(InfrastructureError):
    """Messages wait, and Faust does not get on."""


class Watched(Protocol):
    """What is looked after."""

    def waiting_for(self) -> Iterable[str]:
        """Say what it waits for before it can count."""

    def remaining(self) -> int:
        """Say how much there is to be read before it can count."""

    async def reread_skipped(self) -> None:
        """Read again what was passed over."""

    async def lag(self, topics: Iterable[str]) -> Mapping[TopicPartition, int]:
        """Say how much of topics waits in each partition."""


class Watch:
    """Looks again and again."""

    def __init__(self, watched: Watched, process: ServiceContext[Any], *, topics: Iterable[str]) -> None:
        self._watched = watched
        self._topics = tuple(topics)
        self._metrics = process.metrics
        self._clock = process.clock
        self._heartbeat = process.heartbeat
        self._excuses = process.readiness.exempt_reasons
        self._threshold_seconds = process.settings.run.stall_threshold_seconds
        self._told: set[TopicPartition] = set()

    async def run(self) -> None:
        """Look until cancelled; raises TablesStuck."""
        quiet_since, remaining = self._clock.monotonic(), 0
        while True:
            await self._clock.sleep(CHECK_INTERVAL_SECONDS)
            lag = await self._lag()
            await self._reread_skipped(lag)
            now, remained, remaining = self._clock.monotonic(), remaining, self._watched.remaining()
            has_work = lag is None or any(lag.values()) or any(self._watched.waiting_for())
            if not has_work or remaining != remained or self._excuses():
                quiet_since = now
            quiet_seconds = now - max(quiet_since, self._heartbeat.last_activity)
            if quiet_seconds >= self._threshold_seconds:
                waiting = "unknown" if lag is None else sum(lag.values())
                raise FaustStalled(f"nothing was counted for {quiet_seconds:.0f} s; waiting: {waiting}")

    async def _reread_skipped(self, lag: Mapping[TopicPartition, int] | None) -> None:
        """Have what was passed over read again, where something waits; a new start is the last resort."""
        if not lag or not any(lag.values()):
            return
        try:
            async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS):
                await self._watched.reread_skipped()
        except Exception as failure:  # noqa: BLE001  # its client's errors are many; it is tried again
            _log.debug("Not Read Again", why=repr(failure))

    async def _lag(self) -> Mapping[TopicPartition, int] | None:
        """Learn what waits; None where Faust cannot say, whatever its reason is."""
        try:
            async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS):
                lag = await self._watched.lag(self._topics)
        except Exception as failure:  # noqa: BLE001  # its client's errors are many; each means that nobody knows
            _log.debug("Lag Unknown", why=repr(failure))
            return None
        for place in self._told - lag.keys():
            self._metrics.remove(LAG, APPLICATION_NAME, place.topic, str(place.partition))
        for place, waiting in lag.items():
            self._metrics.set(LAG, APPLICATION_NAME, place.topic, str(place.partition), value=waiting)
        self._told = set(lag)
        return lag


async def run_periodically(work: Callable[[], Awaitable[None]], *, clock: Clock, seconds: float) -> None:
    """Do something every so often, until cancelled."""
    while True:
        await clock.sleep(seconds)
        await work()
