"""Order for each key: a lane is held by one message until it is remembered; the others queue.

Pure. A message without a key has no lane and waits for nobody. One instance per partition, so that
giving a partition back forgets its queues and no others.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class KeyOrdering(Generic[T]):
    """Who holds the lane of each key, and who queues for it."""

    __slots__ = ("_queues",)

    def __init__(self) -> None:
        # None is a held lane without a queue: the usual case, which then costs no deque.
        self._queues: dict[bytes, deque[T] | None] = {}

    def acquire(self, key: bytes | None, item: T) -> bool:
        """Take the lane of a key; False where the item has to queue behind its holder."""
        if key is None:
            return True
        if key not in self._queues:
            self._queues[key] = None
            return True
        queue = self._queues[key]
        if queue is None:
            queue = self._queues[key] = deque()
        queue.append(item)
        return False

    def release(self, key: bytes | None) -> T | None:
        """Give the lane of a key up; returns who holds it now."""
        if key is None:
            return None
        queue = self._queues[key]
        if queue:
            return queue.popleft()
        del self._queues[key]
        return None

    def __len__(self) -> int:
        return len(self._queues)
