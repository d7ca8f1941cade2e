"""Waiting for what must come true: again and again until a deadline, never for a length of time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

PATIENCE_SECONDS = 60.0
"""Far more than anything here takes, because test machines are busy ones."""
LOOK_SECONDS = 0.05


async def until(
    condition: Callable[[], bool | Awaitable[bool]],
    *,
    what: str,
    tell: Callable[[], str] = str,
    seconds: float = PATIENCE_SECONDS,
) -> float:
    """Look until the condition holds, or fail naming it; returns the seconds that it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        found = condition()
        if await found if inspect.isawaitable(found) else found:
            return loop.time() - began
        if loop.time() - began > seconds:
            raise AssertionError(f"not within {seconds:g} s: {what}\n{tell()}")
        await asyncio.sleep(LOOK_SECONDS)
