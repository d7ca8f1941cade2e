"""Hold back raw seeds while the scheduler has enough of them to read.

So an owner's seed is never behind many of them. The gate of the loop that reads raw seeds is closed from a
number of unread URLs on. What was published is in the log, and what was not is still on `seeds-submitted`:
nothing is dropped, and nothing changes its order.
"""

from __future__ import annotations

from itertools import count
from typing import Final, Protocol

from strider.link_ingestion import log_events
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.consumer.ports import ReadGate
from strider.runtime.observability.logging import logger

from .adapters import SetWaiting, discard_waiting
from .core import Offsets, RawSeedBacklog

CHECK_SECONDS: Final = 0.25
"""Interval at which offsets are read, while there are enough raw seeds that anything depends on them."""

CHECKS_OF_FEW: Final = 20
"""Of few waiting raw seeds offsets are read once in so many intervals, for the metric alone."""

_log = logger("link-ingestion")


class LinkOffsets(Protocol):
    """Commits of the scheduler for links, and the ends of their log."""

    async def read(self) -> tuple[Offsets, Offsets]:
        """Return commits, and ends that were read after them; raises Unavailable."""


class RawSeedBackpressure:
    """Closes the gate of raw seeds, and opens it again."""

    def __init__(
        self,
        offsets: LinkOffsets,
        *,
        max_waiting: int,
        clock: Clock,
        set_waiting: SetWaiting = discard_waiting,
    ) -> None:
        self.gate = ReadGate()
        self._backlog = RawSeedBacklog(max_waiting)
        self._max_waiting = max_waiting
        self._offsets = offsets
        self._clock = clock
        self._set_waiting = set_waiting
        self._is_unknown = False

    def add(self, urls: int) -> None:
        """Count URLs of raw seeds that were published and acknowledged."""
        self._backlog.add(urls)
        self._apply()

    async def run(self) -> None:
        """Read offsets at intervals, until cancelled."""
        for number in count():
            is_due = number % CHECKS_OF_FEW == 0 and self._backlog.waiting > 0
            if is_due or self._backlog.is_half_full:
                await self._settle()
            await self._clock.sleep(CHECK_SECONDS)

    async def _settle(self) -> None:
        unmarked = self._backlog.unmarked
        try:
            committed, ends = await self._offsets.read()
        except Unavailable as failure:
            if not self._is_unknown:
                _log.emit(log_events.RAW_SEEDS_NOT_COUNTED, why=str(failure))
            self._is_unknown = True
            return
        self._is_unknown = False
        self._backlog.settle(unmarked, committed, ends)
        self._apply()

    def _apply(self) -> None:
        waiting = self._backlog.waiting
        self._set_waiting(waiting)
        if self._backlog.is_full:
            self.gate.close(
                f"{waiting} URLs of raw seeds are published that the scheduler has not read; "
                f"LINK_INGESTION_RAW_SEEDS_WAITING is {self._max_waiting}"
            )
        else:
            self.gate.open()
