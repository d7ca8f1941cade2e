"""Public figures of the crawl, read once every few seconds for all who ask."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from strider.api import log_events
from strider.api.core import public_figures
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.storage.errors import StoreRejected

FRESH_SECONDS: Final = 5.0
PART_SECONDS: Final = 2.0
"""Longest wait for one part; without it the others are shown."""

ReadPart = Callable[[], Awaitable[Mapping[str, Any]]]

_log = logger("api")


class CachedFigures:
    """Figures of several parts, of which each may be away."""

    def __init__(self, parts: Mapping[str, ReadPart], *, clock: Clock) -> None:
        self._parts = parts
        self._clock = clock
        self._reading = asyncio.Lock()
        self._latest: tuple[float, Mapping[str, Any]] | None = None

    async def read(self) -> Mapping[str, Any]:
        """Return the figures; however many ask, they are read once in five seconds."""
        async with self._reading:
            now = self._clock.monotonic()
            if self._latest is None or now - self._latest[0] >= FRESH_SECONDS:
                found = await asyncio.gather(*(self._read_part(name) for name in self._parts))
                self._latest = now, {**public_figures(*found), "at": self._clock.now()}
            return self._latest[1]

    async def _read_part(self, name: str) -> Mapping[str, Any] | None:
        try:
            async with asyncio.timeout(PART_SECONDS):
                return await self._parts[name]()
        except (Unavailable, StoreRejected, TimeoutError) as failure:
            _log.emit(log_events.FIGURES_INCOMPLETE, part=name, why=str(failure)[:300])
            return None
