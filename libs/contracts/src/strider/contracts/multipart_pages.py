"""A document that travels in several events: which of them closes its entry?

A parsed page says itself which part it is, but whoever gives a message up may not be able to read it. So
every part but the last one bears a header, and is handed on with it: nobody settles a page for such a part.
The last one of several bears another. If it is given up, what closes the entry must not overtake the parts
before it, and so goes the way that they went, as an event of the same topic that says nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .avro.framing import Header

MORE_PARTS_NAME: Final = "more-parts"
LAST_PART_NAME: Final = "last-part"
CLOSES_NAME: Final = "closes"

MORE_PARTS_HEADERS: Final[tuple[Header, ...]] = ((MORE_PARTS_NAME, b"1"),)
"""The header of what others follow: a part, or a rejection whose entry is closed by an event elsewhere."""

LAST_PART_HEADERS: Final[tuple[Header, ...]] = ((LAST_PART_NAME, b"1"),)
"""The header of a part that others came before."""


def closing_headers(reason: str) -> tuple[Header, ...]:
    """Give the header of an event that only closes its entry, with a word of rejection-reason."""
    return ((CLOSES_NAME, reason.encode()),)


def has_more_parts(headers: Sequence[tuple[str, bytes | None]]) -> bool:
    """Tell by a message's headers whether further parts of its document follow."""
    return any(name == MORE_PARTS_NAME for name, _ in headers)


def follows_other_parts(headers: Sequence[tuple[str, bytes | None]]) -> bool:
    """Tell whether parts of its document came before it on its topic."""
    return any(name in {LAST_PART_NAME, CLOSES_NAME} for name, _ in headers)


def closing_reason(headers: Sequence[tuple[str, bytes | None]]) -> str:
    """Give the reason for which an event only closes its entry; empty for all others."""
    return next(
        (value.decode("utf-8", "replace") for name, value in headers if name == CLOSES_NAME and value), ""
    )
