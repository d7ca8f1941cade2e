"""Waiting for a condition: a future that a change or a timeout ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from strider.messaging.ports import Clock

Waiters = set[asyncio.Future[None]]


def wake(waiters: Iterable[asyncio.Future[None]]) -> None:
    """End every wait of a set; each waiter removes itself from it."""
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)


async def wait_on(sets: Sequence[Waiters], *, clock: Clock, seconds: float | None = None) -> None:
    """Wait until one of the sets is woken, or for so long."""
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    for waiters in sets:
        waiters.add(waiter)
    timer = None if seconds is None else asyncio.create_task(_end_after(waiter, clock, seconds))
    try:
        await waiter
    finally:
        if timer is not None:
            timer.cancel()
        for waiters in sets:
            waiters.discard(waiter)


async def _end_after(waiter: asyncio.Future[None], clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)
    if not waiter.done():
        waiter.set_result(None)
