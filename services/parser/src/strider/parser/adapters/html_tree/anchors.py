"""Read the anchors of a page, column by column.

A call or a tuple for each anchor would cost more than reading it. Decides the text of an anchor and its
region of the page; knows nothing of URLs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import compress
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.html.models import ASIDE, ELSEWHERE, FOOTER, HEADER, MAIN, NAVIGATION, Anchors

from .text import WORD_SEPARATING_TAGS, collapse_spaces, inline_text
from .traversal import TEXT, Attributes, ElementIndex, tag_ids, tag_mask

MAX_ANCHOR_CHARS: Final = 200
"""Of an anchor's text; the rest says nothing about its target."""

MAX_ANCHORS: Final = 20_000
"""Anchors that are read, in document order; a fraction of them is published."""

_READ_CHARS: Final = 4 * MAX_ANCHOR_CHARS

_REGION_BY_TAG: Final = {
    "main": MAIN,
    "article": MAIN,
    "nav": NAVIGATION,
    "header": HEADER,
    "footer": FOOTER,
    "aside": ASIDE,
}
ANCHOR_TAGS: Final = frozenset({"a", "area"})


_BLOCK_PATTERNS: Final = (b"ab", b"awb", b"awwb", b"awwwb")

MAX_REREAD: Final = 1_500
"""More than are published; anchors may be nested."""

MAX_ANCESTORS: Final = 2

_INLINE_BEFORE_BLOCKS: Final = frozenset(
    {"img", "span", "picture", "source", "b", "strong", "i", "em", "small"}
)

_LIST_TAGS: Final = frozenset({"li", "dt", "dd", "td", "tr", "th"})
"""Follow an anchor on every page, and are inside one on none."""

_DIRECTION: Final = re.compile(r"(?<![a-z])(?:next|prev(?:ious)?)(?![a-z])")


def read_anchors(index: ElementIndex, nodes: list[LexborNode], *, with_blocks: bool = False) -> Anchors:
    """Read these anchors, which must be all anchors of the index.

    With blocks, block elements inside an anchor separate its words. They are searched only above the basic
    level, because checking every anchor costs 2 % of the time.
    """
    nodes = nodes[:MAX_ANCHORS]
    attrs = [node.attributes for node in nodes]
    hrefs = [own.get("href") or "" for own in attrs]
    regions = _regions(index, len(nodes))
    if not all(hrefs):
        leads = [bool(href) for href in hrefs]
        nodes, attrs = list(compress(nodes, leads)), list(compress(attrs, leads))
        hrefs, regions = list(compress(hrefs, leads)), list(compress(regions, leads))
    texts = _collapse_spaces_in_all([node.text_lexbor() for node in nodes])
    if with_blocks:
        _reread_texts_of_blocks(index, nodes, texts)
    if not all(texts):
        texts = [
            text or _fallback_label(node, own) for text, node, own in zip(texts, nodes, attrs, strict=True)
        ]
    if max(map(len, texts), default=0) > MAX_ANCHOR_CHARS:
        texts = [text[:MAX_ANCHOR_CHARS] for text in texts]
    rels = [own.get("rel") or "" for own in attrs]
    if any(rels):
        rels = [rel.lower() for rel in rels]
    if not all(texts):
        rels = [
            rel if text else _add_class_direction(rel, own)
            for rel, text, own in zip(rels, texts, attrs, strict=True)
        ]
    return Anchors(hrefs, texts, rels, regions)


def _regions(index: ElementIndex, count: int) -> list[int]:
    """Return the region of each of the first anchors; the innermost region wins because it comes last.

    The anchors within an element are consecutive in document order, so counting them is enough.
    """
    found = [ELSEWHERE] * count
    anchors = index.tag_bytes.translate(tag_mask(ANCHOR_TAGS))
    ends: dict[int, int] = {}
    last = anchors.rfind(1)
    places = [(at, region) for number, region in _regions_by_tag_id() for at in index.positions(number, last)]
    start = counted = 0
    for at, region in sorted(places):
        start += anchors.count(1, counted, at)
        counted = at
        if start >= count:
            break  # contains no anchor that is read
        inside = anchors.count(1, at, _end_position(index, at, ends))
        found[start : start + inside] = [region] * inside
    return found[:count]


def _end_position(index: ElementIndex, position: int, ends: dict[int, int]) -> int:
    """Return the position behind an element's content: of the next node, or of its parent's end.

    `ends` caches the result for elements further out.
    """
    region = index.nodes[position]
    node: LexborNode | None = region
    end, text = len(index.nodes), tag_ids()[TEXT]
    while node is not None:
        follower = node.next
        while follower is not None and follower.tag_id == text:
            follower = follower.next
        if follower is not None:
            end = index.position_of(follower, after=position)
            break
        node = node.parent
        if node is not None and (known := ends.get(node.mem_id)) is not None:
            end = known
            break
    ends[region.mem_id] = end
    return end


@cache
def _regions_by_tag_id() -> tuple[tuple[int, int], ...]:
    return tuple((tag_ids()[name], region) for name, region in _REGION_BY_TAG.items())


def _collapse_spaces_in_all(texts: list[str]) -> list[str]:
    """Collapse runs of white space in all texts; one check of their concatenation clears most pages."""
    if max(map(len, texts), default=0) > _READ_CHARS:
        texts = [text[:_READ_CHARS] for text in texts]
    row = "|".join(["", *texts, ""])
    # Printable: the only white space is the space.
    if "\n" in row or not row.isprintable() or "  " in row or "| " in row or " |" in row:
        return [" ".join(text.split()) for text in texts]
    return texts


def _reread_texts_of_blocks(index: ElementIndex, nodes: list[LexborNode], texts: list[str]) -> None:
    """Read again the texts in which blocks run together or which contain the text of a style element."""
    holding = {index.nodes[at].mem_id for at in _positions_with_blocks(index)}
    if not holding and "{" not in "".join(texts):
        return
    left = MAX_REREAD
    for at, (node, text) in enumerate(zip(nodes, texts, strict=True)):
        if left and text and ("{" in text or node.mem_id in holding):
            texts[at] = inline_text(node)
            left -= 1


def _positions_with_blocks(index: ElementIndex) -> Iterator[int]:
    """Yield positions of anchors with a block in them, at their start or after images and inline elements."""
    nodes, signs = index.nodes, index.tag_bytes.translate(_tag_classes())
    for between, pattern in enumerate(_BLOCK_PATTERNS):
        at = signs.find(pattern)
        while at >= 0:
            above = nodes[at + between + 1].parent
            anchor = nodes[at].mem_id
            for _ in range(min(between, MAX_ANCESTORS)):
                if above is None or above.mem_id == anchor:
                    break
                above = above.parent
            if above is not None and above.mem_id == anchor:
                yield at
            at = signs.find(pattern, at + 1)


@cache
def _tag_classes() -> bytes:
    """Return a table that maps tag ids to classes: anchor, block, or inline element before a block."""
    table = bytearray(b".") * 256
    for sign, names in (
        (b"w", _INLINE_BEFORE_BLOCKS),
        (b"b", WORD_SEPARATING_TAGS - _LIST_TAGS),
        (b"a", {"a"}),
    ):
        for name in names:
            table[tag_ids()[name]] = sign[0]
    return bytes(table)


def _add_class_direction(rel: str, attrs: Attributes) -> str:
    """Add the direction in the class of an anchor without text: arrows are often drawn by CSS.

    The added value is not a standard relation: relations of the page are published as the page has them.
    """
    found = {match[0][:4] for match in _DIRECTION.finditer((attrs.get("class") or "").lower())}
    return f"{rel} class:{found.pop()}" if len(found) == 1 else rel


def _fallback_label(node: LexborNode, attrs: Attributes) -> str:
    """Return the label of an anchor without text: from its attributes, else from an image in it."""
    for name in ("aria-label", "title", "alt"):
        if (value := attrs.get(name)) and (label := collapse_spaces(value[:_READ_CHARS])):
            return label
    picture = tag_ids()["img"]
    for within in node.traverse():
        if within.tag_id == picture and "alt" in (shown := within.attributes):
            return collapse_spaces((shown["alt"] or "")[:_READ_CHARS])
    return ""
