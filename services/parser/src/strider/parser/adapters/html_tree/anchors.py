"""The anchors of a page, read column by column: a call or a tuple for each would cost more than what is read.

Decides what an anchor is called and in which region it stands; knows nothing of URLs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import compress
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.html.models import ASIDE, ELSEWHERE, FOOTER, HEADER, MAIN, NAVIGATION, Anchors

from .tag_ids import TEXT, tag_ids
from .text import WORD_SEPARATING_TAGS, collapse_spaces, inline_text
from .traversal import ElementIndex, tag_mask

MAX_ANCHOR_CHARS: Final = 200
"""Of an anchor's text; the rest says nothing about where it leads."""

MAX_ANCHORS: Final = 20_000
"""Anchors that are looked at, in the order of the page; a fraction of them will travel."""

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


def read_anchors(index: ElementIndex, nodes: list[LexborNode], *, with_blocks: bool = False) -> Anchors:
    """Read these anchors, which are all that the walk has met.

    With blocks what they are made of parts their words, which is looked for where more than the basics is
    wanted: a look at each costs a fiftieth of these.
    """
    nodes = nodes[:MAX_ANCHORS]
    attributes = [node.attributes for node in nodes]
    hrefs = [said.get("href") or "" for said in attributes]
    regions = _regions(index, len(nodes))
    if not all(hrefs):
        leads = [bool(href) for href in hrefs]
        nodes, attributes = list(compress(nodes, leads)), list(compress(attributes, leads))
        hrefs, regions = list(compress(hrefs, leads)), list(compress(regions, leads))
    texts = _collapse_spaces_in_all([node.text_lexbor() for node in nodes])
    if with_blocks:
        _reread_texts_of_blocks(index, nodes, texts)
    if not all(texts):
        texts = [
            text or _label(node, said) for text, node, said in zip(texts, nodes, attributes, strict=True)
        ]
    if max(map(len, texts), default=0) > MAX_ANCHOR_CHARS:
        texts = [text[:MAX_ANCHOR_CHARS] for text in texts]
    rels = [said.get("rel") or "" for said in attributes]
    if any(rels):
        rels = [rel.lower() for rel in rels]
    if not all(texts):
        rels = [
            rel if text else _add_class_direction(rel, said)
            for rel, text, said in zip(rels, texts, attributes, strict=True)
        ]
    return Anchors(hrefs, texts, rels, regions)


def _regions(walk: ElementIndex, count: int) -> list[int]:
    """Say of each of the first anchors in which region it stands; the innermost one counts, and comes last.

    The anchors within an element follow each other in the order of the page, so counting them is enough.
    """
    found = [ELSEWHERE] * count
    anchors = walk.tag_bytes.translate(tag_mask(ANCHOR_TAGS))
    ends: dict[int, int] = {}
    last = anchors.rfind(1)
    places = [(at, region) for number, region in _regions_by_tag_id() for at in walk.positions(number, last)]
    start = counted = 0
    for at, region in sorted(places):
        start += anchors.count(1, counted, at)
        counted = at
        if start >= count:
            break  # of no anchor that is looked at
        inside = anchors.count(1, at, _end(walk, at, ends))
        found[start : start + inside] = [region] * inside
    return found[:count]


def _end(walk: ElementIndex, at: int, ends: dict[int, int]) -> int:
    """Find where in a walk the content of an element ends: at whatever follows it, or one that it ends with.

    `ends` has what was found of elements further out.
    """
    region = walk.nodes[at]
    node: LexborNode | None = region
    end, text = len(walk.nodes), tag_ids()[TEXT]
    while node is not None:
        follower = node.next
        while follower is not None and follower.tag_id == text:
            follower = follower.next
        if follower is not None:
            end = walk.position_of(follower, after=at)
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
    """Make every run of white space one space; one look at all of them tells whether any needs it."""
    if max(map(len, texts), default=0) > _READ_CHARS:
        texts = [text[:_READ_CHARS] for text in texts]
    row = "|".join(["", *texts, ""])
    # Printable: no white space but spaces.
    if "\n" in row or not row.isprintable() or "  " in row or "| " in row or " |" in row:
        return [" ".join(text.split()) for text in texts]
    return texts


def _reread_texts_of_blocks(walk: ElementIndex, nodes: list[LexborNode], texts: list[str]) -> None:
    """Read those texts again that run together what stands in blocks, or hold what a style says."""
    holding = {walk.nodes[at].mem_id for at in _positions_with_blocks(walk)}
    if not holding and "{" not in "".join(texts):
        return
    left = MAX_REREAD
    for at, (node, text) in enumerate(zip(nodes, texts, strict=True)):
        if left and text and ("{" in text or node.mem_id in holding):
            texts[at] = inline_text(node)
            left -= 1


def _positions_with_blocks(walk: ElementIndex) -> Iterator[int]:
    """Find anchors with a block in them, which is at their beginning or behind pictures and words."""
    nodes, signs = walk.nodes, walk.tag_bytes.translate(_signs())
    for between, pattern in enumerate(_BEGINNINGS):
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


_BEGINNINGS: Final = (b"ab", b"awb", b"awwb", b"awwwb")
MAX_REREAD: Final = 1_500
"""More than travel; they may stand within each other."""
MAX_ANCESTORS: Final = 2


@cache
def _signs() -> bytes:
    """Make a table that tells anchors, blocks, and what stands before these within a line."""
    table = bytearray(b".") * 256
    for sign, names in (
        (b"w", _INLINE_BEFORE_BLOCKS),
        (b"b", WORD_SEPARATING_TAGS - _LIST_TAGS),
        (b"a", {"a"}),
    ):
        for name in names:
            table[tag_ids()[name]] = sign[0]
    return bytes(table)


_INLINE_BEFORE_BLOCKS: Final = frozenset(
    {"img", "span", "picture", "source", "b", "strong", "i", "em", "small"}
)
_LIST_TAGS: Final = frozenset({"li", "dt", "dd", "td", "tr", "th"})
"""Stand behind an anchor on every page, and in one on none."""


def _add_class_direction(rel: str, attributes: dict[str, str | None]) -> str:
    """Say by its class where an anchor leads that has no name at all: arrows are often drawn by a style.

    In words of ours: what travels as the page's relations is what the page says.
    """
    found = {match[0][:4] for match in _DIRECTION.finditer((attributes.get("class") or "").lower())}
    return f"{rel} class:{found.pop()}" if len(found) == 1 else rel


_DIRECTION: Final = re.compile(r"(?<![a-z])(?:next|prev(?:ious)?)(?![a-z])")


def _label(node: LexborNode, attributes: dict[str, str | None]) -> str:
    """Say what an anchor without text is called."""
    for name in ("aria-label", "title", "alt"):
        if (said := attributes.get(name)) and (words := collapse_spaces(said[:_READ_CHARS])):
            return words
    picture = tag_ids()["img"]
    for within in node.traverse():
        if within.tag_id == picture and "alt" in (shown := within.attributes):
            return collapse_spaces((shown["alt"] or "")[:_READ_CHARS])
    return ""
