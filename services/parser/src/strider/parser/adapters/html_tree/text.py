"""The text of a tree that is left visible, and the white space of texts.

Decides what of a tree is text, and takes the tree apart for it: whoever wants more of it comes before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborNode

from .tag_ids import TEXT, tag_ids
from .traversal import ElementIndex, tag_mask

_INVISIBLE_TAGS: Final = frozenset(
    [
        *("script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio"),
        *("video", "select", "datalist", "textarea", "head", "title", "noframes", "noembed", "frameset"),
        "dialog",
    ]
)
_IN_WORD_TAGS: Final = frozenset({"img", "wbr", "picture", "map"})
"""Stand within a line and say nothing: without them its two halves become one text again."""

_REMOVED_TAGS: Final = _INVISIBLE_TAGS | _IN_WORD_TAGS
_INLINE: Final = frozenset(
    [
        *("abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font"),
        *("i", "ins", "kbd", "label", "mark", "nobr", "q", "ruby", "s", "samp", "small", "span", "strike"),
        *("strong", "sub", "sup", "time", "tt", "u", "var"),
    ]
)
_FRAGMENT_END: Final = "\0"
"""Stands in no text of a tree: the standard has it dropped or replaced."""


def read_text(
    body: LexborNode, index: ElementIndex, *, anchors: Iterable[LexborNode], hidden: Sequence[LexborNode]
) -> str:
    """Give the text, a line for each block."""
    for node in hidden:
        node.decompose(recursive=False)  # before anything is unwrapped: it may be a word within a line
    link = tag_ids()["a"]
    for node in anchors:
        follower = node.next
        if follower is None or follower.tag_id != link:
            node.unwrap()  # links in a row stay apart, though nothing stands between them
    for node in index.select(tag_mask(_INLINE)):
        node.unwrap()
    for node in index.select(tag_mask(_REMOVED_TAGS)):
        node.decompose(recursive=False)  # what is in it goes with it
    body.merge_text_nodes()
    return _lines(body.text(separator=_FRAGMENT_END, strip=True, skip_empty=True))


def _lines(text: str) -> str:
    """Make every fragment a line, and every run of white space within one space.

    Most fragments have none and a page has few, so that looking is what has to be cheap: once, from the
    back, which is a third faster than from the front.
    """
    for character in "\n\t\r\f\xa0":
        if character in text:
            text = text.replace(character, " ")
    first, *others = text.rsplit("  ")
    if others:
        last = others.pop()
        # Of a long run nothing is left between its pairs; of an odd one a space, before the first pair.
        text = " ".join([first.rstrip(" "), *[piece.rstrip(" ") for piece in others if piece], last])
    return text.replace(_FRAGMENT_END, "\n")


def collapse_spaces(text: str) -> str:
    """Make every run of white space one space, and take it off the ends."""
    if "  " not in text and text.isprintable():  # no white space but spaces
        return text.strip(" ")
    return " ".join(text.split())


MAX_INLINE_NODES: Final = 300
"""Elements and texts that are looked at for one line."""


def inline_text(node: LexborNode) -> str:
    """Give the text of an element in a line: blocks stand apart, and what styles and scripts say is none."""
    parting, silent, text = tag_mask(WORD_SEPARATING_TAGS), tag_mask(_SILENT), tag_ids()[TEXT]
    pieces: list[str] = []
    for element in islice(node.traverse(include_text=True), MAX_INLINE_NODES):
        if element.tag_id != text:
            pieces += [" "] * (element.tag_id < len(parting) and parting[element.tag_id])
            continue
        above, before = element.parent, element.prev
        if above is None or above.tag_id >= len(silent) or not silent[above.tag_id]:
            is_apart = before is not None and before.tag_id < len(parting) and parting[before.tag_id]
            pieces += [" "] * is_apart
            pieces.append(element.text_content or "")
    return collapse_spaces("".join(pieces))


WORD_SEPARATING_TAGS: Final = frozenset(
    [
        *("br", "div", "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd", "table"),
        *("tr", "td", "th", "section", "article", "header", "footer", "figure", "figcaption", "hgroup"),
    ]
)
"""Elements between whose sides nobody reads one word."""

_SILENT: Final = frozenset({"script", "style"})
