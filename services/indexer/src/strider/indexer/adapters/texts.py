"""Long texts in the object store."""

from __future__ import annotations

from strider.indexer.core import text_of_object
from strider.storage.errors import ObjectCorrupt, ObjectMissing, ObjectTooLarge
from strider.storage.objects import DeadLetterObjectStore


class ObjectTexts:
    """Long texts by their reference."""

    def __init__(self, objects: DeadLetterObjectStore) -> None:
        self._objects = objects

    async def text(self, reference: str) -> str | None:
        """Give the text of an object; None where it is gone or cannot be what it should be."""
        try:
            return text_of_object(await self._objects.get(reference))
        except (ObjectMissing, ObjectCorrupt, ObjectTooLarge, ValueError):
            return None
