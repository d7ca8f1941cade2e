"""Index the elements of a tree: nodes in document order, and their tag ids as bytes.

Finding elements of one tag is a search in that row, and selecting elements of several tags a mask over it,
both in C; a Python decision for each node would cost twice as much as the traversal. Tag ids are cheaper than
tag names, which are built again for each node; only HTML elements have fixed ones.
"""

from __future__ import annotations

from functools import cache
from itertools import compress
from typing import Final, TypeAlias

from selectolax.lexbor import LexborHTMLParser, LexborNode

Attributes: TypeAlias = dict[str, str | None]
"""The attributes of an element; None for one without a value."""

TEXT: Final = "-text"
COMMENT: Final = "-comment"

_TAG_NAMES: Final = (
    "a abbr acronym address area article aside audio b base bdi bdo big blockquote body br button "
    "canvas center cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed "
    "fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup i "
    "iframe img input ins kbd label li link main map mark math menu meta meter nav nobr noembed noframes "
    "noscript object ol optgroup p param picture pre progress q rb rp rt ruby s samp script section "
    "select small source span strike strong style sub summary sup svg table tbody td template textarea "
    "th time title tr track tt u ul var video wbr "
)

_FOREIGN_TAG: Final = 0
"""Stands for elements that are not HTML's; their ids do not fit into a byte and differ by tree."""

_TAG_ID_LIMIT: Final = 256


@cache
def tag_ids() -> dict[str, int]:
    """Return the tag id of each name in use, and of text and comment nodes."""
    tree = LexborHTMLParser("<p>x<!---->")
    numbers = {name: tree.create_node(name).tag_id for name in _TAG_NAMES.split()}
    for node in tree.css("p")[0].iter(include_text=True):
        numbers[node.tag or ""] = node.tag_id
    return numbers


class ElementIndex:
    """The elements of a tree (and its comments), with the row of their tag ids."""

    __slots__ = ("nodes", "tag_bytes")

    def __init__(self, root: LexborNode) -> None:
        """Traverse the tree."""
        self.nodes = [*root.traverse()]
        numbers = [node.tag_id for node in self.nodes]
        try:
            self.tag_bytes = bytes(numbers)
        except ValueError:
            self.tag_bytes = bytes([number if number < _TAG_ID_LIMIT else _FOREIGN_TAG for number in numbers])

    def position_of(self, node: LexborNode, *, after: int) -> int:
        """Return the position of a node behind `after`; the end where it is not found."""
        number, own = node.tag_id, node.mem_id
        number = number if number < _TAG_ID_LIMIT else _FOREIGN_TAG
        at = self.tag_bytes.find(number, after + 1)
        while at >= 0 and self.nodes[at].mem_id != own:  # few elements share its tag
            at = self.tag_bytes.find(number, at + 1)
        return at if at >= 0 else len(self.nodes)

    def elements(self, name: str) -> list[LexborNode]:
        """Return the elements with this tag name."""
        nodes = self.nodes
        return [nodes[at] for at in self.positions(tag_ids()[name], len(nodes))]

    def positions(self, tag_id: int, end: int) -> list[int]:
        """Return the positions of elements with this tag id, before `end`."""
        row, found = self.tag_bytes, []
        at = row.find(tag_id, 0, max(0, end))
        while at >= 0:
            found.append(at)
            at = row.find(tag_id, at + 1, end)
        return found

    def count(self, name: str) -> int:
        """Count the elements with this tag name."""
        return self.tag_bytes.count(tag_ids()[name])

    def select(self, mask: bytes) -> list[LexborNode]:
        """Return the elements that a mask selects."""
        return list(compress(self.nodes, self.tag_bytes.translate(mask)))


@cache
def tag_mask(names: frozenset[str]) -> bytes:
    """Return a mask that selects the elements with these tag names."""
    numbers = {tag_ids()[name] for name in names}
    return bytes(number in numbers for number in range(_TAG_ID_LIMIT))
