"""Records that are committed together, and everyone who waits for that commit.

One awaitable for all appenders of a group: a future for each would cost more than the record. Being
cancelled while waiting leaves the others waiting.
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
        """Tell everyone that it is committed."""
        if not self.done.done():
            self.done.set_result(None)

    def fail(self, error: Exception) -> None:
        """Tell everyone why it is not; it is no fault if nobody asks."""
        if not self.done.done():
            self.done.set_exception(error)
            self.done.exception()
