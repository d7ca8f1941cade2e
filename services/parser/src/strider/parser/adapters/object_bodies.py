"""Bodies and texts in the object store, or the lack of one.

Without a store only what fits into events is read; a body that is elsewhere then waits for the
person who sets the store, because it is a good message.
"""

from __future__ import annotations

from strider.messaging.errors import Unavailable
from strider.storage.objects import DEPENDENCY, DeadLetterObjectStore


class ObjectBodyStore:
    """Bodies by reference."""

    def __init__(self, objects: DeadLetterObjectStore) -> None:
        self._objects = objects

    async def get(self, reference: str) -> bytes:
        """Give a body; raises Unavailable where the store does not answer."""
        return await self._objects.get(reference)

    async def put(self, content: bytes) -> str:
        """Keep texts and give their reference."""
        return await self._objects.put(content)


class MissingBodyStore:
    """No store."""

    async def get(self, reference: str) -> bytes:
        """Wait for one."""
        raise Unavailable(DEPENDENCY, f"OBJECT_STORE_URL is not set, and the body is at {reference[:80]}")

    async def put(self, content: bytes) -> str:
        """Wait for one."""
        raise Unavailable(DEPENDENCY, f"OBJECT_STORE_URL is not set, and a text has {len(content)} bytes")
