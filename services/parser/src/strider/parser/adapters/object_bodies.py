"""Store bodies and texts in the object store, or refuse where none is configured.

Without a store only bodies within events are parsed. A body that is elsewhere waits until OBJECT_STORE_URL is
set, because its message is valid.
"""

from __future__ import annotations

from strider.messaging.errors import Unavailable
from strider.storage.objects import DEPENDENCY, DeadLetterObjectStore


class ObjectBodyStore:
    """Bodies and texts by reference."""

    def __init__(self, objects: DeadLetterObjectStore) -> None:
        self._objects = objects

    async def get(self, reference: str) -> bytes:
        """Return a body; raises Unavailable where the store does not respond."""
        return await self._objects.get(reference)

    async def put(self, content: bytes) -> str:
        """Store texts and return their reference."""
        return await self._objects.put(content)


class MissingBodyStore:
    """Stands for a store that is not configured."""

    async def get(self, reference: str) -> bytes:
        """Raise Unavailable, so that the page waits."""
        raise Unavailable(
            DEPENDENCY,
            f"OBJECT_STORE_URL is not set, but the body is in the object store at {reference[:80]}",
        )

    async def put(self, content: bytes) -> str:
        """Raise Unavailable, so that the page waits."""
        raise Unavailable(
            DEPENDENCY, f"OBJECT_STORE_URL is not set, but a text of {len(content)} bytes has to be stored"
        )
