"""Where the next page of a list begins: after the last item of this one, whatever came in between.

A cursor names the place in the order of the list (moment and keys), so that it stays true while
rows are added. Opaque to callers; one that was tampered with names another place or none, never a
row that its filters would not show.
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
    """No cursor of ours."""


@dataclass(frozen=True, slots=True)
class ListCursor:
    """The last item that was shown."""

    at: datetime
    key: str
    more: str = ""
    """What tells items of the same moment and key apart."""


def write_cursor(cursor: ListCursor) -> str:
    """Make a text of a cursor that needs no escaping in a URL."""
    text = json.dumps([cursor.at.isoformat(), cursor.key, cursor.more], separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str) -> ListCursor:
    """Read a cursor that was given out before."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidCursorError("it is too long")
    try:
        parts = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError) as failure:
        raise InvalidCursorError("it is none that was given out here") from failure
    if not (isinstance(parts, list) and len(parts) == _PARTS and all(isinstance(p, str) for p in parts)):
        raise InvalidCursorError("it is none that was given out here")
    try:
        at = datetime.fromisoformat(parts[0])
    except ValueError as failure:
        raise InvalidCursorError("it names no moment") from failure
    if at.tzinfo is None or "\0" in parts[1] + parts[2]:
        raise InvalidCursorError("it names no place")
    return ListCursor(at, parts[1], parts[2])
