"""Cursors: where the next page of a list begins.

A cursor names the position in the order of the list (time and keys), so that it stays valid while rows are
added. Opaque to clients; a forged one names another position or none, never a row that its filters would not
show.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime
from typing import Final

MAX_CHARACTERS: Final = 2_048
_PARTS: Final = 3


class InvalidCursorError(ValueError):
    """A text that is not a cursor of this API."""


@dataclass(frozen=True, slots=True)
class ListCursor:
    """The last item of a page."""

    at: datetime
    key: str
    more: str = ""
    """Tells items of the same time and key apart."""


def write_cursor(cursor: ListCursor) -> str:
    """Return a cursor as a text that needs no escaping in a URL."""
    text = json.dumps([cursor.at.isoformat(), cursor.key, cursor.more], separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str) -> ListCursor:
    """Parse a cursor of an earlier response."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidCursorError("it is too long")
    try:
        parts = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError) as failure:
        raise InvalidCursorError("it was not issued by this API") from failure
    if not (isinstance(parts, list) and len(parts) == _PARTS and all(isinstance(p, str) for p in parts)):
        raise InvalidCursorError("it was not issued by this API")
    try:
        at = datetime.fromisoformat(parts[0])
    except ValueError as failure:
        raise InvalidCursorError("it contains no time") from failure
    if at.tzinfo is None or "\0" in parts[1] + parts[2]:
        raise InvalidCursorError("it contains no position")
    return ListCursor(at, parts[1], parts[2])
