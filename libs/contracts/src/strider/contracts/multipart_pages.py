"""Headers of documents that are split over several events, so that each closes once.

A parsed page contains its part number, but a service that gives a message up may be unable to read it. So
every part but the last carries a header, which is passed on, and no page is settled for such a part. The last
of several parts carries another one: if it is given up, the closing event must not overtake the parts before
it, so it is published on the same topic, as an event that only closes the entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .avro.framing import Header

MORE_PARTS_NAME: Final = "more-parts"
LAST_PART_NAME: Final = "last-part"
CLOSES_NAME: Final = "closes"

MORE_PARTS_HEADERS: Final[tuple[Header, ...]] = ((MORE_PARTS_NAME, b"1"),)
"""Header of a part that others follow, or of a rejection whose entry is closed by another event."""

LAST_PART_HEADERS: Final[tuple[Header, ...]] = ((LAST_PART_NAME, b"1"),)
"""Header of the last of several parts."""


def closing_headers(reason: str) -> tuple[Header, ...]:
    """Return the header of an event that only closes its entry, with a value of rejection-reason."""
    return ((CLOSES_NAME, reason.encode()),)


def has_more_parts(headers: Sequence[tuple[str, bytes | None]]) -> bool:
    """Whether further parts of the message's document follow."""
    return any(name == MORE_PARTS_NAME for name, _ in headers)


def follows_other_parts(headers: Sequence[tuple[str, bytes | None]]) -> bool:
    """Whether parts of the message's document came before it on its topic."""
    return any(name in {LAST_PART_NAME, CLOSES_NAME} for name, _ in headers)


def closing_reason(headers: Sequence[tuple[str, bytes | None]]) -> str:
    """Return the reason of an event that only closes its entry; empty for all other events."""
    return next(
        (value.decode("utf-8", "replace") for name, value in headers if name == CLOSES_NAME and value), ""
    )
