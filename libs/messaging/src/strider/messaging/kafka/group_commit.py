"""Records that are committed together, and the awaitable of their commit.

One awaitable for all appenders of a group: a future for each would cost more than the record. Cancelling one
appender leaves the others waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any


class CommitGroup:
    """One commit to come. Awaiting it waits for the commit, or raises why there was none."""

    __slots__ = ("batches", "done", "size_bytes")

    def __init__(self) -> None:
        self.batches: dict[tuple[str, int], list[Any]] = {}
        self.size_bytes = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __await__(self) -> Generator[Any, None, None]:
        return asyncio.shield(self.done).__await__()

    def succeed(self) -> None:
        """Resolve the commit for all appenders."""
        if not self.done.done():
            self.done.set_result(None)

    def fail(self, error: Exception) -> None:
        """Fail the commit for all appenders; it is no fault if none waits."""
        if not self.done.done():
            self.done.set_exception(error)
            self.done.exception()
