"""One walk over a tree: every element in the order of the page, and what each is called, as a row of bytes.

Where an element of some name stands is then a search in that row, and choosing some of all elements a
mask over it, both in C; a decision for each node as it comes by would cost twice what the walk does.
Decides nothing about what is found.
"""

from __future__ import annotations

from functools import cache
from itertools import compress
from typing import Final

from selectolax.lexbor import LexborNode

from .tag_ids import tag_ids

_FOREIGN_TAG: Final = 0
"""Stands for names that are no element's of HTML; their numbers are beyond a byte, and differ by tree."""

_TAG_ID_LIMIT: Final = 256


class ElementIndex:
    """The elements of a tree (and its comments), and the row of their numbers."""

    __slots__ = ("nodes", "tag_bytes")

    def __init__(self, root: LexborNode) -> None:
        """Walk."""
        self.nodes = [*root.traverse()]
        numbers = [node.tag_id for node in self.nodes]
        try:
            self.tag_bytes = bytes(numbers)
        except ValueError:
            self.tag_bytes = bytes([number if number < _TAG_ID_LIMIT else _FOREIGN_TAG for number in numbers])

    def position_of(self, node: LexborNode, *, after: int) -> int:
        """Find where a node comes behind some place; at the end where it does not."""
        number, own = node.tag_id, node.mem_id
        number = number if number < _TAG_ID_LIMIT else _FOREIGN_TAG
        at = self.tag_bytes.find(number, after + 1)
        while at >= 0 and self.nodes[at].mem_id != own:  # few are called as it is
            at = self.tag_bytes.find(number, at + 1)
        return at if at >= 0 else len(self.nodes)

    def elements(self, name: str) -> list[LexborNode]:
        """Give the elements of this name."""
        nodes = self.nodes
        return [nodes[at] for at in self.positions(tag_ids()[name], len(nodes))]

    def positions(self, tag_id: int, end: int) -> list[int]:
        """Say where elements of this number stand, up to some place."""
        row, found = self.tag_bytes, []
        at = row.find(tag_id, 0, max(0, end))
        while at >= 0:
            found.append(at)
            at = row.find(tag_id, at + 1, end)
        return found

    def count(self, name: str) -> int:
        """Count the elements of this name."""
        return self.tag_bytes.count(tag_ids()[name])

    def select(self, mask: bytes) -> list[LexborNode]:
        """Give the elements that a mask leaves."""
        return list(compress(self.nodes, self.tag_bytes.translate(mask)))


@cache
def tag_mask(names: frozenset[str]) -> bytes:
    """Make a table that leaves the elements of these names."""
    numbers = {tag_ids()[name] for name in names}
    return bytes(number in numbers for number in range(_TAG_ID_LIMIT))
