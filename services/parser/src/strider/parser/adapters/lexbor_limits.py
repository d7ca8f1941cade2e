"""From where on is a document beyond reason?

Lexbor's cost grows with the square of the depth, and of the attributes of an element: a megabyte of
either takes minutes. Both are found here by counting, before anything is parsed. It may be wrong about
odd documents, by which they lose their end, and costs the usual ones next to nothing.
"""

from __future__ import annotations

import re
from typing import Final

MAX_DEPTH: Final = 2_000
"""Open elements at a time. Browsers stop at 512; parsing 5,000 takes 30 ms, 200,000 minutes."""

MAX_ATTRIBUTES: Final = 1_000
"""Of one element: each one is compared with all before it, so that 200,000 take a minute."""

LONG_TAG_BYTES: Final = 4 * 1024
"""Shorter tags cannot have more attributes than that."""

HARMLESS_BYTES: Final = 64 * 1024
"""Documents up to this size parse in half a second, whatever is in them."""

_TAG: Final = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_NEVER_OPEN: Final = frozenset(
    b"a area base br col embed hr img input link meta param source track wbr p li dt dd option optgroup "
    b"tr td th thead tbody tfoot colgroup rp rt html head body".split()
)
"""Elements without an end, whose end may be left out, or that end each other: they make no depth."""


def find_limit(content: bytes) -> int | None:
    """Say from where on a document is beyond reason; None where it is not.

    Short documents cannot cost much, and counting clears nearly all others.
    """
    if len(content) < HARMLESS_BYTES:
        return None
    ends = (_find_depth_limit(content), _find_attributes_limit(content))
    return min((end for end in ends if end is not None), default=None)


def _find_depth_limit(content: bytes) -> int | None:
    if content.count(b"<") - 2 * content.count(b"</") <= MAX_DEPTH:
        return None
    depth = 0
    for tag in _TAG.finditer(content):
        if tag[2].lower() in _NEVER_OPEN:
            continue
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > MAX_DEPTH:
            return tag.start()
    return None


def _find_attributes_limit(content: bytes) -> int | None:
    pieces = content.split(b"<")
    if len(max(pieces, key=len)) < LONG_TAG_BYTES:
        return None
    start = 0
    for piece in pieces:
        if len(piece) >= LONG_TAG_BYTES and piece[:1].isalpha():
            tag = piece[: piece.find(b">")] if b">" in piece else piece
            if len(tag) >= LONG_TAG_BYTES and len(tag.split()) > MAX_ATTRIBUTES:
                return start - 1
        start += len(piece) + 1
    return None
