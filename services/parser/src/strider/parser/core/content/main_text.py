"""Select the blocks of a page that are its main text.

Containers with marginal names are removed, unless they hold most of the page. Then the innermost container
with nearly all of the remaining text is chosen. Then link blocks outside of prose are removed, unless the
text is a list of links. A declared main part is preferred if it has text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from .text_blocks import ARTICLE, COMMENTS, HEADER, MAIN, MARGINAL, PageBlocks, TextBlock

ACCIDENTAL_NAME_SHARE: Final = 0.5
"""A marginal name is accidental on a container with this share of the page's text."""

CONTAINER_TEXT_SHARE: Final = 0.85
"""Share of the remaining text that the container of the main text needs."""

DECLARED_CONTAINER_SHARE: Final = 0.5
"""The share that suffices if the page declares the container as its main part or an article."""

DISCUSSED_ARTICLE_SHARE: Final = 0.2
"""Comments are about the article beside them if it has this share of the page."""

LINK_BLOCK_SHARE: Final = 0.6
"""Share of linked characters from which a block is a link block."""

CONTAINER_CHARS_SHARE: Final = 0.6
"""Share of all characters, linked ones included: in a list, texts of dialogs outweigh those of links."""

HEADLESS_CONTAINER_SHARE: Final = 0.75
"""Share of the surrounding characters that a container without the page's heading needs."""

LONG_LINK_CHARS: Final = 80
"""A link of this length is content, such as the title of a card; as much unlinked text is prose."""

LONG_CHARS: Final = 40
MIN_TEXT_CHARS: Final = 200
_TEXT_PART_TAGS: Final = frozenset({"p", "li", "ul", "ol", "dl", "table", "tbody", "figure", "address"})
"""Tags that are parts of a text whatever their share: their siblings belong to it."""


def select_main_blocks(page: PageBlocks) -> list[TextBlock]:
    """Return the blocks of the main text."""
    weights = _container_weights(page.blocks, page.parents)
    mains = [container for container in _outermost_with_flag(page, MAIN) if weights[container]]
    marginal = _marginal_containers(page, weights, _ancestors_of(page, mains))
    kept = [block for block in page.blocks if not marginal[block.container]]
    if sum(len(block.text) for block in kept) < MIN_TEXT_CHARS:
        kept = list(page.blocks)
    articles = (
        container
        for container in _outermost_with_flag(page, ARTICLE)
        if weights[container] > DECLARED_CONTAINER_SHARE * weights[0]
    )
    inside = _text_container(page, kept, {*mains, *articles})
    return _drop_repeated_blocks(
        _drop_link_blocks(page, [block for block in kept if inside[block.container]])
    )


def _container_weights(blocks: Sequence[TextBlock], parents: Sequence[int]) -> list[int]:
    """Return the text weight of each container with descendants: short texts count less, links nothing."""
    weights = [0] * len(parents)
    for text, _, link_chars, container, _, _, _ in blocks:  # cheaper than access by name
        chars = len(text) - link_chars
        weights[container] += chars if chars >= LONG_CHARS else chars // 4
    for container in range(len(weights) - 1, 0, -1):
        weights[parents[container]] += weights[container]
    return weights


def _ancestors_of(page: PageBlocks, containers: Iterable[int]) -> list[bool]:
    """Mark the containers that are one of these or contain one."""
    found = [False] * len(page.parents)
    for container in containers:
        ancestor = container
        while ancestor >= 0 and not found[ancestor]:
            found[ancestor] = True
            ancestor = page.parents[ancestor]
    return found


def _marginal_containers(page: PageBlocks, weights: Sequence[int], mains: Sequence[bool]) -> list[bool]:
    """Mark the containers around the main text, and all within them."""
    limit = ACCIDENTAL_NAME_SHARE * weights[0]
    around = MARGINAL if _is_discussion(page, weights) else MARGINAL | COMMENTS
    found = [False] * len(weights)
    texts = [False] * len(weights)
    for container in range(1, len(weights)):
        parent, own_flags = page.parents[container], page.flags[container]
        texts[container] = texts[parent] or bool(own_flags & (MAIN | ARTICLE))
        is_set_aside = own_flags & around or (own_flags & HEADER and not texts[parent])
        is_beside = mains[0] and not mains[container] and not texts[parent]
        is_meant = (
            is_beside or weights[container] <= limit
        )  # beside a declared main part no name is accidental
        found[container] = found[parent] or bool(is_set_aside and is_meant)
    return found


def _is_discussion(page: PageBlocks, weights: Sequence[int]) -> bool:
    """Whether comments are most of the page, and not about an article on it."""
    comments = _outermost_with_flag(page, COMMENTS)
    if sum(weights[container] for container in comments) <= ACCIDENTAL_NAME_SHARE * weights[0]:
        return False
    discussed = _ancestors_of(page, comments)
    articles = [
        container
        for container in _outermost_with_flag(page, ARTICLE, COMMENTS | MARGINAL)
        if not discussed[container]
    ]
    return sum(weights[container] for container in articles) < DISCUSSED_ARTICLE_SHARE * weights[0]


def _outermost_with_flag(page: PageBlocks, flag: int, closed: int = 0) -> list[int]:
    """Return the containers with a flag that are in no other such container, nor in one with `closed`."""
    found = []
    is_free = {0: True}
    for container, own in enumerate(page.flags):
        if own & flag and not own & closed:  # few do
            passed, ancestor = [], page.parents[container]
            while ancestor not in is_free and not page.flags[ancestor] & (flag | closed):
                passed.append(ancestor)
                ancestor = page.parents[ancestor]
            is_free.update(dict.fromkeys(passed, is_free.get(ancestor, False)))
            if is_free.get(ancestor, False):
                found.append(container)
    return found


def _text_container(page: PageBlocks, kept: Sequence[TextBlock], declared: AbstractSet[int]) -> list[bool]:
    """Descend from the body while one container holds nearly all text; mark the containers within it."""
    parents = page.parents
    weights, chars = _container_weights(kept, parents), [0] * len(parents)
    mains = _ancestors_of(page, declared)
    headed = _ancestors_of(page, [block.container for block in kept if block.kind == "h1"])
    for text, _, _, container, _, _, _ in kept:
        chars[container] += len(text)
    for container in range(len(weights) - 1, 0, -1):
        chars[parents[container]] += chars[container]
    own = whole = 0
    for container in range(1, len(weights)):
        if parents[container] != own or page.tags[container] in _TEXT_PART_TAGS:
            continue
        least, fewest = (
            (DECLARED_CONTAINER_SHARE,) * 2
            if mains[container]
            else (CONTAINER_TEXT_SHARE, CONTAINER_CHARS_SHARE)
        )
        if weights[container] > least * weights[whole] and chars[container] > fewest * chars[whole]:
            if (
                headed[own]
                and not headed[container]
                and chars[container] < HEADLESS_CONTAINER_SHARE * chars[own]
            ):
                break
            own = container
            whole = own if own in declared else whole
    inside = [False] * len(weights)
    inside[own] = True
    for container in range(own + 1, len(weights)):
        inside[container] = inside[parents[container]]
    return inside


def _drop_link_blocks(page: PageBlocks, blocks: Sequence[TextBlock]) -> list[TextBlock]:
    """Remove link blocks, except long ones and those within prose."""
    linked = [at for at, block in enumerate(blocks) if block.link_chars > LINK_BLOCK_SHARE * len(block.text)]
    total = sum(len(block.text) for block in blocks)
    if not linked or sum(len(blocks[at].text) for at in linked) > total // 2:
        return list(blocks)
    mute = {at for at in linked if len(blocks[at].text) < LONG_LINK_CHARS and blocks[at].kind[0] != "h"}
    parts = {at for at in mute if blocks[at].kind != "div"}
    if parts:
        holders = _structural_containers(page)
        last = {holders[block.container]: at for at, block in enumerate(blocks) if _is_prose(block)}
        mute -= {at for at in parts if at < last.get(holders[blocks[at].container], 0)}
    return [block for at, block in enumerate(blocks) if at not in mute]


def _structural_containers(page: PageBlocks) -> list[int]:
    """Return for each container the one around the paragraph, list or table that it is part of."""
    found = list(range(len(page.parents)))
    for container in range(1, len(found)):
        if page.tags[container] in _TEXT_PART_TAGS:
            found[container] = found[page.parents[container]]
    return found


def _is_prose(block: TextBlock) -> bool:
    return len(block.text) - block.link_chars >= LONG_LINK_CHARS


MIN_REPEATED_CHARS: Final = 12
"""Shorter texts may legitimately repeat: units, names, numbers."""


_REPEATABLE_KINDS: Final = frozenset({"td", "th", "pre"})


def _drop_repeated_blocks(blocks: Sequence[TextBlock]) -> list[TextBlock]:
    """Remove blocks that repeat one of the previous three: pages contain variants for wide and narrow
    screens.
    """
    kept = []
    before = further = furthest = ""
    for block in blocks:
        text = block.text
        if not text:  # an image
            kept.append(block)
            continue
        is_repeated = text in (before, further, furthest) and len(text) >= MIN_REPEATED_CHARS
        if is_repeated and block.kind not in _REPEATABLE_KINDS:
            continue
        before, further, furthest = text, before, further
        kept.append(block)
    return kept


_CELLS: Final = frozenset({"td", "th"})


def blocks_to_text(blocks: Sequence[TextBlock]) -> str:
    """Return blocks as lines of text; cells of a row share a line."""
    pieces: list[str] = []
    row = -1
    for block in blocks:
        is_cell = block.kind in _CELLS
        if pieces:
            pieces.append(" | " if is_cell and block.row == row else "\n")
        pieces.append(block.text)
        row = block.row if is_cell else -1
    return "".join(pieces)
