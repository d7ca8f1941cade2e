"""Load long texts from the object store."""

from __future__ import annotations

from strider.indexer.core import parse_text_object
from strider.storage.errors import ObjectCorrupt, ObjectMissing, ObjectTooLarge
from strider.storage.objects import DeadLetterObjectStore


class ObjectTextStore:
    """Long texts by their reference."""

    def __init__(self, objects: DeadLetterObjectStore) -> None:
        self._objects = objects

    async def load_text(self, reference: str) -> str | None:
        """Return the text of an object; None where it is missing or invalid."""
        try:
            return parse_text_object(await self._objects.get(reference))
        except (ObjectMissing, ObjectCorrupt, ObjectTooLarge, ValueError):
            return None
