"""Which blocks of a page are its main text?

Takes the blocks of a page and what its places are called. What stands around the text is set aside by
name, unless most of the page is in it; then the innermost place that holds nearly all of what is left
is the text's own; then links are taken out that do not stand among its prose, where the text is no list of
links. What a page says is its main part is believed, where there is something in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from .text_blocks import ARTICLE, COMMENTS, HEADER, MAIN, MARGINAL, PageBlocks, TextBlock

ACCIDENTAL_NAME_SHARE: Final = 0.5
"""A marginal name on a place with so much of the page's text is an accident."""

CONTAINER_TEXT_SHARE: Final = 0.85
"""What the text's own place must hold of all that is left."""

DECLARED_CONTAINER_SHARE: Final = 0.5
"""And what is enough where the page says that it is the main part, or an article."""

DISCUSSED_ARTICLE_SHARE: Final = 0.2
"""An article of such a part of the page is what the remarks beside it are about."""

LINK_BLOCK_SHARE: Final = 0.6
"""More of a block in links makes it a link."""

CONTAINER_CHARS_SHARE: Final = 0.6
"""And of all characters, those in links too: in a list the words of a dialog outweigh its links."""

HEADLESS_CONTAINER_SHARE: Final = 0.75
"""What a place must hold of the characters around it, to be the text's own without the page's heading."""

LONG_LINK_CHARS: Final = 80
"""A link of such length says something: it is what a card is about. So much that is no link is prose."""

LONG_CHARS: Final = 40
ENOUGH_CHARS: Final = 200
_PARTS: Final = frozenset({"p", "li", "ul", "ol", "dl", "table", "tbody", "figure", "address"})
"""Parts of a text, however much of it they hold: what is beside them belongs to it."""


def select_main_blocks(page: PageBlocks) -> list[TextBlock]:
    """Choose."""
    weights = _container_weights(page.blocks, page.parents)
    mains = [place for place in _outermost(page, MAIN) if weights[place]]
    marginal = _marginal_containers(page, weights, _holding(page, mains))
    kept = [block for block in page.blocks if not marginal[block.container]]
    if sum(len(block.text) for block in kept) < ENOUGH_CHARS:
        kept = list(page.blocks)
    articles = (
        place for place in _outermost(page, ARTICLE) if weights[place] > DECLARED_CONTAINER_SHARE * weights[0]
    )
    inside = _text_container(page, kept, {*mains, *articles})
    return _drop_repeated_blocks(
        _drop_link_blocks(page, [block for block in kept if inside[block.container]])
    )


def _container_weights(blocks: Sequence[TextBlock], parents: Sequence[int]) -> list[int]:
    """Weigh the text of each place, with all that is in it: short texts little, links not at all."""
    weights = [0] * len(parents)
    for text, _, link_chars, place, _, _, _ in blocks:  # cheaper than by name
        chars = len(text) - link_chars
        weights[place] += chars if chars >= LONG_CHARS else chars // 4
    for place in range(len(weights) - 1, 0, -1):
        weights[parents[place]] += weights[place]
    return weights


def _holding(page: PageBlocks, places: Iterable[int]) -> list[bool]:
    """Say of each place whether it is one of these, or holds one."""
    found = [False] * len(page.parents)
    for place in places:
        holder = place
        while holder >= 0 and not found[holder]:
            found[holder] = True
            holder = page.parents[holder]
    return found


def _marginal_containers(page: PageBlocks, weights: Sequence[int], mains: Sequence[bool]) -> list[bool]:
    """Say of each place whether it stands around the text, or within what does."""
    limit = ACCIDENTAL_NAME_SHARE * weights[0]
    around = MARGINAL if _is_discussion(page, weights) else MARGINAL | COMMENTS
    found = [False] * len(weights)
    texts = [False] * len(weights)
    for place in range(1, len(weights)):
        parent, mark = page.parents[place], page.flags[place]
        texts[place] = texts[parent] or bool(mark & (MAIN | ARTICLE))
        is_set_aside = mark & around or (mark & HEADER and not texts[parent])
        is_beside = mains[0] and not mains[place] and not texts[parent]
        is_meant = is_beside or weights[place] <= limit  # beside a main part no name is an accident
        found[place] = found[parent] or bool(is_set_aside and is_meant)
    return found


def _is_discussion(page: PageBlocks, weights: Sequence[int]) -> bool:
    """Say whether remarks are most of the page, and on no article of its own."""
    remarks = _outermost(page, COMMENTS)
    if sum(weights[place] for place in remarks) <= ACCIDENTAL_NAME_SHARE * weights[0]:
        return False
    discussed = _holding(page, remarks)
    articles = [place for place in _outermost(page, ARTICLE, COMMENTS | MARGINAL) if not discussed[place]]
    return sum(weights[place] for place in articles) < DISCUSSED_ARTICLE_SHARE * weights[0]


def _outermost(page: PageBlocks, mark: int, closed: int = 0) -> list[int]:
    """Find the places that are called so and stand in no other such place, nor in one that is closed."""
    found = []
    is_free = {0: True}
    for place, own in enumerate(page.flags):
        if own & mark and not own & closed:  # few are
            passed, holder = [], page.parents[place]
            while holder not in is_free and not page.flags[holder] & (mark | closed):
                passed.append(holder)
                holder = page.parents[holder]
            is_free.update(dict.fromkeys(passed, is_free.get(holder, False)))
            if is_free.get(holder, False):
                found.append(place)
    return found


def _text_container(page: PageBlocks, kept: Sequence[TextBlock], said: AbstractSet[int]) -> list[bool]:
    """Go down from the body as long as one place holds nearly all; say of each place if it is within."""
    parents = page.parents
    weights, chars = _container_weights(kept, parents), [0] * len(parents)
    mains = _holding(page, said)
    headed = _holding(page, [block.container for block in kept if block.kind == "h1"])
    for text, _, _, place, _, _, _ in kept:
        chars[place] += len(text)
    for place in range(len(weights) - 1, 0, -1):
        chars[parents[place]] += chars[place]
    own = whole = 0
    for place in range(1, len(weights)):
        if parents[place] != own or page.tags[place] in _PARTS:
            continue
        least, fewest = (
            (DECLARED_CONTAINER_SHARE,) * 2 if mains[place] else (CONTAINER_TEXT_SHARE, CONTAINER_CHARS_SHARE)
        )
        if weights[place] > least * weights[whole] and chars[place] > fewest * chars[whole]:
            if headed[own] and not headed[place] and chars[place] < HEADLESS_CONTAINER_SHARE * chars[own]:
                break
            own = place
            whole = own if own in said else whole
    inside = [False] * len(weights)
    inside[own] = True
    for place in range(own + 1, len(weights)):
        inside[place] = inside[parents[place]]
    return inside


def _drop_link_blocks(page: PageBlocks, blocks: Sequence[TextBlock]) -> list[TextBlock]:
    """Leave out links, but those that say something or have prose beside and behind them: a text's own."""
    linked = [at for at, block in enumerate(blocks) if block.link_chars > LINK_BLOCK_SHARE * len(block.text)]
    total = sum(len(block.text) for block in blocks)
    if not linked or sum(len(blocks[at].text) for at in linked) > total // 2:
        return list(blocks)
    mute = {at for at in linked if len(blocks[at].text) < LONG_LINK_CHARS and blocks[at].kind[0] != "h"}
    parts = {at for at in mute if blocks[at].kind != "div"}
    if parts:
        holders = _holders(page)
        last = {holders[block.container]: at for at, block in enumerate(blocks) if _is_prose(block)}
        mute -= {at for at in parts if at < last.get(holders[blocks[at].container], 0)}
    return [block for at, block in enumerate(blocks) if at not in mute]


def _holders(page: PageBlocks) -> list[int]:
    """Find what holds each place, beyond the paragraph, list or table that it is a part of."""
    found = list(range(len(page.parents)))
    for place in range(1, len(found)):
        if page.tags[place] in _PARTS:
            found[place] = found[page.parents[place]]
    return found


def _is_prose(block: TextBlock) -> bool:
    return len(block.text) - block.link_chars >= LONG_LINK_CHARS


def _drop_repeated_blocks(blocks: Sequence[TextBlock]) -> list[TextBlock]:
    """Leave out what was said just before: pages hold the same for wide and for narrow screens."""
    said = []
    before = further = furthest = ""
    for block in blocks:
        text = block.text
        if not text:  # a picture
            said.append(block)
            continue
        is_echo = text in (before, further, furthest) and len(text) >= MIN_REPEATED_CHARS
        if is_echo and block.kind not in _REPEATABLE_KINDS:
            continue
        before, further, furthest = text, before, further
        said.append(block)
    return said


MIN_REPEATED_CHARS: Final = 12
"""Shorter ones are said again for their own sake: units, names, numbers."""

_REPEATABLE_KINDS: Final = frozenset({"td", "th", "pre"})


def as_text(blocks: Sequence[TextBlock]) -> str:
    """Write blocks as lines; the cells of a row share one."""
    pieces: list[str] = []
    row = -1
    for block in blocks:
        is_cell = block.kind in _CELLS
        if pieces:
            pieces.append(" | " if is_cell and block.row == row else "\n")
        pieces.append(block.text)
        row = block.row if is_cell else -1
    return "".join(pieces)


_CELLS: Final = frozenset({"td", "th"})
