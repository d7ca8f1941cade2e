"""Which blocks of a page are its main text?

Takes the blocks of a page and what its places are called. What stands around the text is set aside by
name, unless most of the page is in it; then the innermost place that holds nearly all of what is left
is the text's own; then runs of links are taken out where the text is no list of links.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .blocks import ARTICLE, HEAD, MAIN, MARGINAL, REMARKS, Block, Blocks

SHARE_OF_PAGE: Final = 0.5
"""A marginal name on a place with so much of the page's text is an accident."""

SHARE_OF_TEXT: Final = 0.85
"""What the text's own place must hold of all that is left."""

LINKED: Final = 0.6
"""More of a block in links makes it a link."""

SHARE_OF_CHARS: Final = 0.6
"""And of all characters, those in links too: in a list the words of a dialog outweigh its links."""

LONG_LINK_CHARS: Final = 80
"""A link of such length says something: it is what a card is about."""

LONG_CHARS: Final = 40
ENOUGH_CHARS: Final = 200
_PARTS: Final = frozenset({"p", "li", "ul", "ol", "dl", "table", "tbody", "figure", "address"})
"""Parts of a text, however much of it they hold: what is beside them belongs to it."""


def main_blocks(page: Blocks) -> list[Block]:
    """Choose."""
    weights = _weights(page)
    marginal = _marginal(page, weights)
    kept = [block for block in page.blocks if not marginal[block.place]]
    if sum(len(block.text) for block in kept) < ENOUGH_CHARS:
        kept = list(page.blocks)
        marginal = [False] * len(page.parents)
    inside = _own_place(page, kept)
    return _without_echoes(_without_links([block for block in kept if inside[block.place]]))


def _weight(block: Block) -> int:
    chars = len(block.text) - block.link_chars
    return chars if chars >= LONG_CHARS else chars // 4


def _weights(page: Blocks) -> list[int]:
    """Weigh the text of each place, with all that is in it."""
    weights = [0] * len(page.parents)
    for block in page.blocks:
        weights[block.place] += _weight(block)
    for place in range(len(weights) - 1, 0, -1):
        weights[page.parents[place]] += weights[place]
    return weights


def _marginal(page: Blocks, weights: Sequence[int]) -> list[bool]:
    """Say of each place whether it stands around the text, or within what does."""
    limit = SHARE_OF_PAGE * weights[0]
    around = MARGINAL if _total(page, weights, REMARKS) > limit else MARGINAL | REMARKS
    found = [False] * len(weights)
    texts = [False] * len(weights)
    for place in range(1, len(weights)):
        parent, mark = page.parents[place], page.marks[place]
        texts[place] = texts[parent] or bool(mark & (MAIN | ARTICLE))
        is_set_aside = mark & around or (mark & HEAD and not texts[parent])
        found[place] = found[parent] or bool(is_set_aside and weights[place] <= limit)
    return found


def _total(page: Blocks, weights: Sequence[int], mark: int) -> int:
    """Weigh all places that are called so; those within others count once."""
    total = 0
    within = [False] * len(weights)
    for place in range(1, len(weights)):
        is_called = bool(page.marks[place] & mark)
        within[place] = within[page.parents[place]] or is_called
        if is_called and not within[page.parents[place]]:
            total += weights[place]
    return total


def _own_place(page: Blocks, kept: Sequence[Block]) -> list[bool]:
    """Go down from the body as long as one place holds nearly all; say of each place if it is within."""
    parents = page.parents
    weights, chars = [0] * len(parents), [0] * len(parents)
    for block in kept:
        weights[block.place] += _weight(block)
        chars[block.place] += len(block.text)
    for place in range(len(weights) - 1, 0, -1):
        weights[parents[place]] += weights[place]
        chars[parents[place]] += chars[place]
    least, fewest = SHARE_OF_TEXT * weights[0], SHARE_OF_CHARS * chars[0]
    own = 0
    for place in range(1, len(weights)):
        is_most = weights[place] > least and chars[place] > fewest
        if is_most and parents[place] == own and page.tags[place] not in _PARTS:
            own = place
    inside = [False] * len(weights)
    inside[own] = True
    for place in range(own + 1, len(weights)):
        inside[place] = inside[parents[place]]
    return inside


def _without_links(blocks: Sequence[Block]) -> list[Block]:
    linked = [block for block in blocks if block.link_chars > LINKED * len(block.text)]
    total = sum(len(block.text) for block in blocks)
    if sum(len(block.text) for block in linked) > total // 2:
        return list(blocks)
    return [block for block in blocks if _says_something(block)]


def _says_something(block: Block) -> bool:
    chars = len(block.text)
    return block.link_chars <= LINKED * chars or chars >= LONG_LINK_CHARS or block.kind[0] == "h"


def _without_echoes(blocks: Sequence[Block]) -> list[Block]:
    """Leave out what was said just before: pages hold the same for wide and for narrow screens."""
    said = []
    before = further = furthest = ""
    for block in blocks:
        text = block.text
        if not text:  # a picture
            said.append(block)
            continue
        is_echo = text in (before, further, furthest) and len(text) >= ECHO_CHARS
        if is_echo and block.kind not in _EACH_ITS_OWN:
            continue
        before, further, furthest = text, before, further
        said.append(block)
    return said


ECHO_CHARS: Final = 12
"""Shorter ones are said again for their own sake: units, names, numbers."""

_EACH_ITS_OWN: Final = frozenset({"td", "th", "pre"})


def as_text(blocks: Sequence[Block]) -> str:
    """Write blocks as lines; the cells of a row share one."""
    lines: list[str] = []
    row = -1
    for block in blocks:
        if block.kind in {"td", "th"} and block.row == row and lines:
            lines[-1] += f" | {block.text}"
        else:
            lines.append(block.text)
        row = block.row if block.kind in {"td", "th"} else -1
    return "\n".join(lines)
