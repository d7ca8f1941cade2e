"""Find where a document exceeds the depth and attribute limits of the HTML parser.

Lexbor's cost grows with the square of the depth, and of the attributes of an element: a megabyte of either
takes minutes. Both are found here by counting, before anything is parsed. The count may be wrong for odd
documents, which then lose their end, and costs next to nothing for usual ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MAX_DEPTH: Final = 2_000
"""Open elements at a time. Browsers stop at 512; parsing 5,000 takes 30 ms, 200,000 minutes."""

MAX_ATTRIBUTES: Final = 1_000
"""Of one element: each one is compared with all before it, so that 200,000 take a minute."""

LONG_TAG_BYTES: Final = 4 * 1024
"""Shorter tags cannot have more attributes than MAX_ATTRIBUTES."""

UNCHECKED_BYTES: Final = 64 * 1024
"""Documents up to this size parse in half a second, whatever they contain."""

_TAG: Final = re.compile(rb"<(?:(/?)([a-zA-Z][a-zA-Z0-9]*)|!--)")
_RAW_TEXT_ENDS: Final = {b"script": b"</script", b"style": b"</style", b"": b"-->"}
"""Ends of elements whose content is not markup; the empty name stands for comments."""

_SVG_TAGS: Final = frozenset(
    b"svg g path rect circle ellipse line polygon polyline text tspan use defs symbol stop image marker mask "
    b"lineargradient radialgradient clippath pattern filter".split()
)
"""Elements of SVG drawings, the only ones that may be self-closing."""

_QUOTED_ATTRIBUTE: Final = re.compile(rb"""[\s"'/][^\s=>"'/]+\s*=\s*(?:"[^"]*(?:"|$)|'[^']*(?:'|$))""")
"""An attribute with a quoted value, whose words are not attributes."""

_WITHOUT_DEPTH: Final = frozenset(
    b"a area base br col embed hr img input link meta param source track wbr p li dt dd option optgroup "
    b"tr td th thead tbody tfoot colgroup rp rt html head body".split()
)
"""Elements without an end tag, or with an implied one: they add no depth."""


def find_cut_offset(content: bytes) -> int | None:
    """Return the offset at which a document exceeds the limits; None where it does not.

    Short documents cannot cost much, and counting brackets clears nearly all others.
    """
    if len(content) < UNCHECKED_BYTES:
        return None
    ends = (_find_depth_limit(content), _find_attribute_limit(content))
    return min((end for end in ends if end is not None), default=None)


def _find_depth_limit(content: bytes) -> int | None:
    if content.count(b"<") - 2 * content.count(b"</") <= MAX_DEPTH:
        return None
    depth, resume_at, is_drawing = 0, 0, False
    lower = content.lower()
    for tag in _TAG.finditer(lower):
        if tag.start() < resume_at:
            continue
        name = tag[2] or b""
        if name in _RAW_TEXT_ENDS and not tag[1]:
            end = lower.find(_RAW_TEXT_ENDS[name], tag.end())
            resume_at = len(lower) if end < 0 else end + 1
            continue
        is_drawing = name == b"svg" or (is_drawing and name in _SVG_TAGS)
        if name in _WITHOUT_DEPTH or (is_drawing and _is_self_closing(lower, tag.end())):
            continue
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > MAX_DEPTH:
            return tag.start()
    return None


def _is_self_closing(content: bytes, start: int) -> bool:
    end = content.find(b">", start, start + LONG_TAG_BYTES)
    return content[end - 1 : end] == b"/"


def _find_attribute_limit(content: bytes) -> int | None:
    for start, end in _long_tags(content):
        piece = content[start + 1 : end]
        if piece[:1].isalpha() and not _is_short_tag(piece):
            tag = _QUOTED_ATTRIBUTE.sub(b" =", piece).partition(b">")[0]
            if len(tag) > 2 * MAX_ATTRIBUTES and len(tag.split()) > MAX_ATTRIBUTES:
                return start
    return None


def _long_tags(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of places where a bracket is followed by LONG_TAG_BYTES or more without another.

    Each such place spans a multiple of that length, so searching around those is enough.
    """
    look_at = LONG_TAG_BYTES
    while look_at < len(content):
        start, end = content.rfind(b"<", 0, look_at + 1), content.find(b"<", look_at + 1)
        if end < 0:
            end = len(content)
        if start >= 0 and end - start > LONG_TAG_BYTES:
            yield start, end
        look_at += max(1, (end - look_at + LONG_TAG_BYTES - 1) // LONG_TAG_BYTES) * LONG_TAG_BYTES


def _is_short_tag(piece: bytes) -> bool:
    """Whether a tag certainly ends soon: at a bracket that is not inside of a quoted value."""
    tag, bracket, _ = piece[:LONG_TAG_BYTES].partition(b">")
    return bool(bracket) and tag.count(b'"') % 2 == 0 and tag.count(b"'") % 2 == 0
