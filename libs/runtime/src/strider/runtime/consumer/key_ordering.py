"""Order for each key: one message holds the key until it is done, the others queue.

Pure. A message without a key waits for no other. One instance for each partition, so that revoking a
partition drops its queues and no others.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class KeyOrdering(Generic[T]):
    """The holder of each key and the queue behind it."""

    __slots__ = ("_queues",)

    def __init__(self) -> None:
        # None is a held key without a queue: the usual case, which then costs no deque.
        self._queues: dict[bytes, deque[T] | None] = {}

    def acquire(self, key: bytes | None, item: T) -> bool:
        """Take a key for an item; False where the item has to queue behind the holder."""
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
        """Release a key; return its next holder."""
        if key is None:
            return None
        queue = self._queues[key]
        if queue:
            return queue.popleft()
        del self._queues[key]
        return None

    def __len__(self) -> int:
        return len(self._queues)
