"""A document that travels in several events: which of them closes its entry?

A parsed page says itself which part it is, but whoever gives a message up may not be able to read it. So
every part but the last one bears a header, and is handed on with it: nobody settles a page for such a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .framing import Header

MORE_PARTS: Final = "more-parts"

MORE: Final[tuple[Header, ...]] = ((MORE_PARTS, b"1"),)
"""The header of a part that others follow."""


def has_more(headers: Sequence[tuple[str, bytes | None]]) -> bool:
    """Tell by a message's headers whether further parts of its document follow."""
    return any(name == MORE_PARTS for name, _ in headers)
