"""Pauses between two requests for the cluster's metadata.

A producer that has records for a partition without a known leader, or no producer id yet, requests the
metadata again as soon as the last request has ended. While no broker can be reached, or while a partition has
no leader, that is a loop without any pause: it takes all of a processor, and a thousand requests a second of
the brokers that are left. Decides the pause alone; the first few requests in a row have none, so that a start
and a leader that moves are not delayed.

Like `internals`, this holds for AIOKAFKA_VERSION.
"""

# ruff: noqa: SLF001  # reaching inside is what the lower half of this file is for

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from aiokafka import client as library

BURST: Final = 5
"""Requests without a pause."""
BURST_SECONDS: Final = 0.5
"""In any such time there are at most so many requests."""

_PACE_ATTRIBUTE: Final = "_strider_metadata_pace"

_patched: Any = library.AIOKafkaClient
_update: Final = _patched._metadata_update


class MetadataPace:
    """Pauses of one client."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._requested_at: deque[float] = deque(maxlen=BURST)

    def next_pause_seconds(self) -> float:
        """Return the pause before the next request, and record that this one is made after it."""
        now = self._monotonic()
        is_full = len(self._requested_at) == BURST
        at = max(now, self._requested_at[0] + BURST_SECONDS) if is_full else now
        self._requested_at.append(at)
        return at - now


def install_metadata_pace() -> None:
    """Have every client of this process pause; a second call changes nothing."""
    _patched._metadata_update = _paced_update


async def _paced_update(client: Any, cluster_metadata: Any, topics: Any) -> Any:
    pace = client.__dict__.setdefault(_PACE_ATTRIBUTE, MetadataPace())
    if pause_seconds := pace.next_pause_seconds():
        await asyncio.sleep(pause_seconds)
    return await _update(client, cluster_metadata, topics)
